//go:build linux && amd64

package shell_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/sandbox"
	"github.com/planloop/planloop/internal/shell"
)

// A sandbox is three processes in their own namespaces, which can change nothing on the machine:
//
//	the test ── keeper ── runner ── bash ── …
//
// The keeper sets up a scratch world, watches the system calls of every process below the runner, and inspects the
// world after each command. The runner runs a command as bash_execute does, but without Landlock, so that this tests
// the classifier alone.
const (
	keeperName = "planloop-sandbox-keeper"
	filterName = "planloop-sandbox-filter" // the runner before its system calls are watched
	runnerName = "planloop-sandbox-runner"
)

// Folders of a sandbox, on its own memory file systems; everything else belongs to the machine and is read-only.
const (
	worldDir = "/tmp/world"
	tempDir  = "/tmp/temp"           // the only place where programs may keep temporary files
	goDir    = worldDir + "/home/go" // where go caches modules
	launcher = "/tmp/launcher"
)

type job struct {
	Command string
	Dir     string // below the world
	Host    bool   // in a usual environment, like a host's shell, instead of bash_execute's
	Zsh     bool   // by zsh instead of bash
	Wall    string // the wall that confines it: then it may try anything, and is not watched
}

// outcome lists a command's forbidden acts; it is empty if there were none.
type outcome struct {
	Found []string
	Took  time.Duration
	Fault string // the sandbox does not work
}

// enclosure is the test's handle of a sandbox.
type enclosure struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
	end io.Closer
}

// errNoSandbox is returned if the system does not let the caller make namespaces.
var errNoSandbox = errors.New("no sandbox can be made here")

// programsVariable passes the allowed programs to the keeper.
const programsVariable = "PLANLOOP_TEST_PROGRAMS"

func newSandbox(programs []string) (*enclosure, error) {
	uid := os.Getuid()
	if uid == 0 {
		uid = 65534 // an escaped process has no rights on the machine
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{keeperName}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), programsVariable + "=" + strings.Join(programs, ",")}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		Credential:  &syscall.Credential{NoSetGroups: true}, // its root
		Pdeathsig:   syscall.SIGKILL,
		Setsid:      true,
	}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.GidMappings[0].HostID = os.Getgid()
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSandbox, err)
	}
	s := &enclosure{cmd: cmd, in: json.NewEncoder(in), out: json.NewDecoder(out), end: in}
	var ready outcome
	if err := s.out.Decode(&ready); err != nil || ready.Fault != "" {
		return nil, fmt.Errorf("%w: %s %w", errNoSandbox, ready.Fault, errors.Join(err, s.close()))
	}
	return s, nil
}

func (s *enclosure) run(j job) (outcome, error) {
	var o outcome
	if err := s.in.Encode(j); err != nil {
		return o, err
	}
	err := s.out.Decode(&o)
	if err == nil && o.Fault != "" {
		err = errors.New(o.Fault)
	}
	return o, err
}

func (s *enclosure) close() error {
	_ = s.end.Close()
	return s.cmd.Wait()
}

// sandboxed runs this process as a part of a sandbox if it was started as one.
func sandboxed() {
	var err error
	switch os.Args[0] {
	case keeperName:
		err = keep()
	case filterName:
		err = filtered()
	case runnerName:
		err = runner()
	default:
		return
	}
	if err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(outcome{Fault: os.Args[0] + ": " + err.Error()})
		os.Exit(1)
	}
	os.Exit(0)
}

type keeper struct {
	reached atomic.Int32 // connections to this process

	watch  *watch
	runner int // its process
	before map[string]state
	in     io.Writer
	out    *bufio.Scanner
}

func keep() error {
	if err := seal(); err != nil {
		return err
	}
	if err := layOut(worldDir); err != nil {
		return err
	}
	k := &keeper{}
	if err := errors.Join(k.listen(), k.start()); err != nil {
		return err
	}
	k.before = snapshot()
	answers := json.NewEncoder(os.Stdout)
	if err := answers.Encode(outcome{}); err != nil {
		return err
	}
	for jobs := json.NewDecoder(os.Stdin); ; {
		var j job
		if err := jobs.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		o, err := k.run(j)
		if err != nil {
			return err
		}
		if err := answers.Encode(o); err != nil {
			return err
		}
	}
}

// seal makes the machine read-only, and mounts memory over its private folders.
func seal() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	readOnly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, readOnly); err != nil {
		return fmt.Errorf("make the mounts read-only: %w", err)
	}
	for _, dir := range []string{"/root", "/home", "/work", "/var/tmp", "/var/cache", "/run", "/mnt", "/tmp"} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		if err := unix.Mount("memory", dir, "tmpfs", unix.MS_NOATIME|unix.MS_NOSUID|unix.MS_NODEV, "size=64m,mode=777"); err != nil {
			return fmt.Errorf("lay memory over %s: %w", dir, err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := fewDevices(); err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := os.WriteFile(launcher, self, 0o755); err != nil {
		return fmt.Errorf("put the launcher in place: %w", err)
	}
	unix.Umask(0o022)
	return errors.Join(os.MkdirAll(tempDir, 0o777), os.MkdirAll(worldDir, 0o755))
}

// fewDevices mounts a folder with the harmless devices over /dev.
func fewDevices() error {
	const dev = "/tmp/dev"
	if err := os.Mkdir(dev, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("memory", dev, "tmpfs", unix.MS_NOATIME|unix.MS_NOSUID, "size=8m,mode=755"); err != nil {
		return fmt.Errorf("lay memory over /dev: %w", err)
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		at := filepath.Join(dev, name)
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			return err
		}
		if err := unix.Mount("/dev/"+name, at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind /dev/%s: %w", name, err)
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(dev, "shm"), 0o777); err != nil {
		return err
	}
	if err := unix.Mount(dev, "/dev", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("put the devices in place: %w", err)
	}
	return os.Remove(dev)
}

// start starts the runner and its watch. The watch's goroutine lasts as long as the process.
func (k *keeper) start() error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{filterName}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + worldDir + "/home", "TMPDIR=" + tempDir, "LANG=C.UTF-8", "USER=tester"}
	cmd.Dir = worldDir
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	k.runner, k.in, k.out = cmd.Process.Pid, in, bufio.NewScanner(out)
	listener, err := k.listener()
	if err != nil {
		return err
	}
	k.watch = newWatch(listener)
	go k.watch.serve()
	if !k.out.Scan() || k.out.Text() != "ready" {
		return fmt.Errorf("the runner says %q", k.out.Text())
	}
	return nil
}

// listener takes the system call listener from the process that set it up.
func (k *keeper) listener() (int, error) {
	if !k.out.Scan() {
		return 0, fmt.Errorf("set up the filter of system calls: %w", k.out.Err())
	}
	number, err := strconv.Atoi(k.out.Text())
	if err != nil {
		return 0, fmt.Errorf("set up the filter of system calls: %s", k.out.Text())
	}
	process, err := unix.PidfdOpen(k.runner, 0)
	if err != nil {
		return 0, err
	}
	return unix.PidfdGetfd(process, number, 0)
}

// run has the runner run one command, and returns its forbidden acts.
func (k *keeper) run(j job) (outcome, error) {
	began := time.Now()
	k.watch.begin()
	if j.Wall != "" {
		if err := confine(j); err != nil {
			return outcome{}, err
		}
	} else if err := json.NewEncoder(k.in).Encode(j); err != nil {
		return outcome{}, err
	} else if !k.out.Scan() {
		return outcome{}, fmt.Errorf("the runner ended at %q: %w", j.Command, k.out.Err())
	}
	found := k.leftOver(j.Wall == "" && time.Since(began) > commandTime)
	found = append(found, k.watch.end()...)
	if n := k.reached.Swap(0); n > 0 {
		found = append(found, fmt.Sprintf("connected %d times", n))
	}
	if changed(k.before) {
		found = append(found, differences(k.before, snapshot())...)
		if err := errors.Join(os.RemoveAll(worldDir), os.Mkdir(worldDir, 0o755), layOut(worldDir)); err != nil {
			return outcome{}, err
		}
		k.before = snapshot()
	}
	if entries, err := os.ReadDir(tempDir); err != nil || len(entries) > 0 {
		_ = os.RemoveAll(tempDir)
		if err := os.Mkdir(tempDir, 0o777); err != nil {
			return outcome{}, err
		}
	}
	return outcome{Found: found, Took: time.Since(began)}, nil
}

// leftOver kills processes that outlive their command, and lists them unless the command itself was killed. Processes
// in a process substitution may end a little later.
func (k *keeper) leftOver(ended bool) []string {
	var left []string
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		for { // the keeper inherits orphans; the runner waits for its own
			if pid, _ := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || pid == k.runner {
				break
			}
		}
		if left = k.others(); len(left) == 0 {
			return nil
		}
		if ended || time.Since(began) > commandTime {
			break
		}
	}
	for _, process := range left {
		pid, _ := strconv.Atoi(strings.Fields(process)[0])
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	if ended {
		return nil
	}
	return []string{"left running: " + strings.Join(left, ", ")}
}

// others lists the processes other than keeper and runner.
func (k *keeper) others() []string {
	var list []string
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == 1 || pid == k.runner {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if fields := strings.Fields(string(stat)); len(fields) > 2 {
			list = append(list, fields[0]+" "+fields[1])
		}
	}
	return list
}

// state is a file's metadata. The time of its last status change, which no program can set, represents its contents and
// its extended attributes, and in a folder its names.
type state struct {
	mode, uid, gid    uint32
	links, inode      uint64
	size              int64
	modified, changed unix.Timespec
}

func stateOf(path string) (state, error) {
	var s unix.Stat_t
	err := unix.Lstat(path, &s)
	return state{s.Mode, s.Uid, s.Gid, s.Nlink, s.Ino, s.Size, s.Mtim, s.Ctim}, err
}

// snapshot is every file that a command could change: all on memory, except temporary files and the machine's devices.
func snapshot() map[string]state {
	files := map[string]state{}
	for _, root := range []string{"/tmp/world", "/root", "/home", "/work", "/var/tmp", "/var/cache", "/run", "/mnt", "/dev"} {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&fs.ModeCharDevice != 0 {
				return nil
			}
			if path == goDir {
				return fs.SkipDir
			}
			if s, err := stateOf(path); err == nil {
				files[path] = s
			}
			return nil
		})
	}
	return files
}

// changed reports whether a file of a snapshot has changed.
func changed(before map[string]state) bool {
	for path, was := range before {
		if now, err := stateOf(path); err != nil || now != was {
			return true
		}
	}
	return false
}

func differences(before, after map[string]state) []string {
	var list []string
	for path, now := range after {
		if was, ok := before[path]; !ok {
			list = append(list, "made "+path)
		} else if was != now {
			list = append(list, fmt.Sprintf("changed %s: %+v; now %+v", path, was, now))
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			list = append(list, "removed "+path)
		}
	}
	slices.Sort(list)
	return list
}

// listen waits for connections on the sockets that a command could reach, with the loopback up.
func (k *keeper) listen() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	if err := errors.Join(unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request), unix.Close(fd)); err != nil {
		return fmt.Errorf("start the loopback: %w", err)
	}
	for _, at := range [][2]string{{"tcp", "127.0.0.1:80"}, {"unix", "/var/tmp/listening"}, {"unix", "@listening"}} {
		listener, err := net.Listen(at[0], at[1])
		if err != nil {
			return err
		}
		go func() {
			for c, err := listener.Accept(); err == nil; c, err = listener.Accept() { // ends with the process
				k.reached.Add(1)
				_ = c.Close()
			}
		}()
	}
	return nil
}

// confine runs a command as planloop confine does. Its Dropped folder is the workspace.
func confine(j job) error {
	dir := filepath.Join(worldDir, j.Dir)
	top, _, _ := strings.Cut(j.Dir, "/")
	cmd := exec.Command("/bin/bash", "--noprofile", "--norc", "-c", j.Command)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + worldDir + "/home", "LANG=C.UTF-8", "PWD=" + dir}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &out
	o := sandbox.Options{Dir: dir, Dropped: []string{filepath.Join(worldDir, top)}, Walls: []sandbox.Wall{sandbox.Wall(j.Wall)}}
	result, err := sandbox.Run(context.Background(), &process.Launcher{Program: launcher}, o, cmd, process.Options{Timeout: commandTime})
	if err == nil && result.ExitCode == sandbox.Failed && strings.Contains(out.String(), sandbox.ErrNoWall.Error()) {
		err = errors.New(out.String())
	}
	return err
}

// runner runs the commands it receives, one after another.
func runner() error {
	fmt.Println("ready")
	for jobs := json.NewDecoder(os.Stdin); ; {
		var j job
		if err := jobs.Decode(&j); err != nil {
			return err
		}
		if err := execute(j); err != nil {
			return err
		}
		fmt.Println("done")
	}
}

const commandTime = 2 * time.Second

func execute(j job) error {
	dir := filepath.Join(worldDir, j.Dir)
	ctx, cancel := context.WithTimeout(context.Background(), commandTime+time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "--noprofile", "--norc", "-c", j.Command)
	if j.Zsh {
		cmd = exec.CommandContext(ctx, "/bin/zsh", "-fc", j.Command)
		cmd.Env = append(os.Environ(), "TMPPREFIX="+tempDir+"/zsh")
	}
	cmd.Dir, cmd.WaitDelay = dir, 100*time.Millisecond
	if !j.Host { // without the other barriers, so that acts they would refuse show up
		own, err := os.MkdirTemp(tempDir, "own-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(own) }()
		if cmd.Env, err = shell.Surroundings(dir, own, launcher); err != nil {
			return err
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // its exit code does not matter
	return nil
}
