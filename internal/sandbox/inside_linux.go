//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The inside's ends of the connections to the outside.
const (
	reporterFile = 3
	goAheadFile  = 4
)

// ready is the inside's message once its wall holds. Every other one says why there is none.
const ready = "ready"

// inside builds the wall around this process, tries it, starts the command and returns its exit code.
func inside(j job, command []string) (int, error) {
	runtime.LockOSThread() // restrictions apply to a thread
	goAhead := os.NewFile(goAheadFile, "go ahead")
	namespaces := slices.Contains(j.Walls, Namespaces)
	build := j.buildLandlock
	if namespaces {
		build = j.buildNamespaces
	}
	listener, err := 0, closeInherited()
	if err == nil {
		preferForKill()
		listener, err = build()
	}
	if err == nil {
		err = j.tryWall()
	}
	if err != nil {
		text := err.Error()
		return Failed, unix.Sendmsg(reporterFile, []byte(text[:min(len(text), maxReport)]), nil, nil, 0)
	}
	var rights []byte
	if listener > 0 {
		rights = unix.UnixRights(listener)
	}
	if err := unix.Sendmsg(reporterFile, []byte(ready), rights, nil, 0); err != nil {
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

// preferForKill has the kernel kill this process and its children first when memory is short, rather than the user's own programs.
func preferForKill() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // some containers have a read-only /proc
}

// limitProcesses keeps a command from starting processes without end. The kernel counts those of the namespace alone since Linux 5.14; it
// never limits root's. Builds start some hundred threads for each processor.
func limitProcesses() error {
	most := uint64(4096 + 256*runtime.NumCPU())
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		return fmt.Errorf("read the limit of processes: %w", err)
	}
	limit.Max = min(limit.Max, most)
	limit.Cur = min(limit.Cur, limit.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		return fmt.Errorf("limit the number of processes: %w", err)
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
	home, _ := os.UserHomeDir()
	for _, folder := range []string{"/var/tmp", home} {
		if j.mayWrite(folder) {
			continue
		}
		if file, err := os.CreateTemp(folder, "planloop-confine-"); err == nil {
			return errors.Join(fmt.Errorf("a file could be created in %s", folder), file.Close(), os.Remove(file.Name()))
		}
	}
	if j.Port > 0 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(j.Port)); err == nil {
			return errors.Join(errors.New("a connection to this machine could be made"), conn.Close())
		}
	}
	return nil
}

// mayWrite reports whether the wall drops the changes to a folder.
func (j job) mayWrite(folder string) bool {
	return folder == "" || slices.ContainsFunc(append([]string{j.Private, "/tmp"}, j.Dropped...), func(dropped string) bool {
		inside, err := filepath.Rel(dropped, folder)
		return err == nil && filepath.IsLocal(inside)
	})
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
