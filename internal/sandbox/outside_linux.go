//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/planloop/planloop/internal/process"
)

// Has reports whether this system can probably build a wall. It starts nothing: Command finds out.
func Has(wall Wall) bool {
	if wall == Landlock {
		return landlockVersion() > 0
	}
	_, err := os.Stat("/proc/self/ns/user")
	return err == nil
}

// outside tries the walls in order until one is built, runs the command within it, and returns its exit code.
func outside(j job, command []string) (int, error) {
	runtime.LockOSThread() // the wall's first process ends with this thread
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil { // otherwise there is no loopback here, and nothing to reach by it
		defer func() { _ = listener.Close() }()
		j.Port = listener.Addr().(*net.TCPAddr).Port
	}
	var failures error
	for _, wall := range j.Walls {
		code, err := j.within(wall, command)
		if err == nil {
			return code, nil
		}
		failures = errors.Join(failures, fmt.Errorf("%s: %w", wall, err))
	}
	return Failed, fmt.Errorf("%w:\n%w", ErrNoWall, failures)
}

// within runs the command within a wall. The error reports why the wall cannot be built; then the command was not started.
func (j job) within(wall Wall, command []string) (int, error) {
	j.Walls = []Wall{wall}
	text, err := json.Marshal(j)
	if err != nil {
		return 0, err
	}
	report, reporter, err := os.Pipe() // from the inside: a line, "ready" once the command may start, or the fault
	if err != nil {
		return 0, err
	}
	defer func() { _ = report.Close() }()
	goAhead, ahead, err := os.Pipe() // to the inside: one byte lets it start the command
	if err != nil {
		return 0, errors.Join(err, reporter.Close())
	}
	defer func() { _ = ahead.Close() }()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{insideName, string(text)}, command...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{reporter, goAhead}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if wall == Namespaces {
		newNamespaces(cmd.SysProcAttr)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	err = cmd.Start()
	_, _ = reporter.Close(), goAhead.Close()
	if err != nil {
		return 0, err
	}
	go func() {
		for sent := range signals { // ends with the process
			_ = cmd.Process.Signal(sent)
		}
	}()
	err = j.awaitReady(bufio.NewReader(report), cmd.Process.Pid)
	if err == nil {
		_, err = ahead.Write([]byte{1})
	}
	if err != nil {
		_ = cmd.Process.Kill()
	}
	if waited := cmd.Wait(); err == nil && !errors.As(waited, new(*exec.ExitError)) {
		err = waited
	}
	return process.ExitCode(cmd.ProcessState), err
}

// awaitReady waits until the wall around a process is complete. With "listener N" the process asks to have its calls on files served.
func (j job) awaitReady(report *bufio.Reader, pid int) error {
	for {
		line, err := report.ReadString('\n')
		line = strings.TrimSpace(line)
		number, serves := strings.CutPrefix(line, "listener ")
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case line == "ready":
			return nil
		case serves:
			if err := j.serveCalls(pid, number); err != nil {
				return fmt.Errorf("serve system calls: %w", err)
			}
		case err != nil && line == "":
			return errors.New("it ended early")
		default:
			return errors.New(line)
		}
	}
}

// newNamespaces has a process start in namespaces of its own, with the rights in them to build the wall.
func newNamespaces(attr *syscall.SysProcAttr) {
	uid, gid := os.Getuid(), os.Getgid()
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE} // the last for overlays
}

// The inside's ends of the pipes to the outside.
const (
	reporterFile = 3
	goAheadFile  = 4
)

// inside builds the wall around this process, tries it, starts the command and returns its exit code.
func inside(j job, command []string) (int, error) {
	runtime.LockOSThread() // restrictions apply to a thread
	reporter, goAhead := os.NewFile(reporterFile, "reporter"), os.NewFile(goAheadFile, "go ahead")
	namespaces := slices.Contains(j.Walls, Namespaces)
	build := j.buildLandlock
	if namespaces {
		build = j.buildNamespaces
	}
	listener, err := 0, closeInherited()
	if err == nil {
		listener, err = build()
	}
	if err == nil && listener > 0 {
		_, err = fmt.Fprintln(reporter, "listener "+strconv.Itoa(listener))
	}
	if err == nil {
		err = j.tryWall()
	}
	if err != nil {
		_, _ = fmt.Fprintln(reporter, strings.ReplaceAll(err.Error(), "\n", "; "))
		return Failed, nil
	}
	if _, err := fmt.Fprintln(reporter, "ready"); err != nil {
		return Failed, err
	}
	if n, _ := goAhead.Read(make([]byte, 1)); n != 1 {
		return Failed, nil // the outside has given up
	}
	if listener > 0 {
		_ = unix.Close(listener)
	}
	if namespaces {
		return runFirst(command)
	}
	for name, folder := range caches() {
		if err := os.Setenv(name, filepath.Join(j.Private, folder)); err != nil {
			return Failed, err
		}
	}
	program, err := exec.LookPath(command[0])
	if err != nil {
		return 127, err
	}
	return Failed, fmt.Errorf("start %s: %w", program, unix.Exec(program, command, os.Environ()))
}

// closeInherited keeps the command from files that the caller left open, of which a folder leads to the mounts outside, and from leaving a
// core: a limit of 1 also keeps a crash from the machine's handler.
func closeInherited() error {
	if err := unix.CloseRange(reporterFile, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited files: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		return fmt.Errorf("limit the size of cores: %w", err)
	}
	return nil
}

// caches are the variables for folders that programs write to, with their places below the private folder under Landlock. Namespaces drop
// the changes of such folders instead, so programs find their earlier results there.
func caches() map[string]string {
	return map[string]string{"XDG_CACHE_HOME": "cache", "GOCACHE": "cache/go-build", "CARGO_TARGET_DIR": "cache/cargo",
		"npm_config_cache": "cache/npm", "PYTHONPYCACHEPREFIX": "cache/python"}
}

// tryWall tries to create a file outside and to connect, and fails if either succeeds.
func (j job) tryWall() error {
	if j.Probe != "" {
		file, err := os.CreateTemp(j.Probe, "planloop-confine-")
		if err == nil {
			return errors.Join(fmt.Errorf("a file could be created in %s", j.Probe), file.Close(), os.Remove(file.Name()))
		}
	}
	if j.Port > 0 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(j.Port)); err == nil {
			return errors.Join(errors.New("a connection to this machine could be made"), conn.Close())
		}
	}
	return nil
}

// runFirst runs the command as a child, since this is the first process of its namespace: it reaps orphans, and its own
// end ends all others.
func runFirst(command []string) (int, error) {
	program, err := exec.LookPath(command[0])
	if err != nil {
		return 127, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	pid, err := syscall.ForkExec(program, command, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return 127, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		for sent := range signals { // ends with the process
			_ = syscall.Kill(-pid, sent.(syscall.Signal))
		}
	}()
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return Failed, fmt.Errorf("wait for %s: %w", program, err)
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case ended == pid:
			return status.ExitStatus(), nil
		}
	}
}
