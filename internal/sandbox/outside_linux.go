//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
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
	report, reporter, err := socketPair() // from the inside: "ready" once the command may start, or the fault
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
	err = j.awaitReady(int(report.Fd()), cmd.Process.Pid)
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

// socketPair returns connected sockets, of which each message arrives whole.
func socketPair() (*os.File, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "report"), os.NewFile(uintptr(pair[1]), "reporter"), nil
}

// maxReport bounds a message of the inside, in bytes.
const maxReport = 4 << 10

// awaitReady waits until the wall around a process is complete. If the process sends the listener of its system calls, they are served.
// Containers let nobody take a file from another process, but each process may send its own.
func (j job) awaitReady(report, pid int) error {
	text, rights := make([]byte, maxReport), make([]byte, unix.CmsgSpace(4))
	n, sent, _, _, err := unix.Recvmsg(report, text, rights, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, sent, _, _, err = unix.Recvmsg(report, text, rights, unix.MSG_CMSG_CLOEXEC)
	}
	switch message := string(text[:n]); {
	case err != nil:
		return fmt.Errorf("wait for the wall: %w", err)
	case n == 0:
		return errors.New("it ended early")
	case message != ready:
		return errors.New(message)
	case sent == 0:
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(rights[:sent])
	if err != nil || len(messages) != 1 {
		return errors.Join(errors.New("the listener did not arrive"), err)
	}
	listeners, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(listeners) != 1 {
		return errors.Join(errors.New("the listener did not arrive"), err)
	}
	return j.serveCalls(pid, listeners[0])
}

// newNamespaces has a process start in namespaces of its own, with the rights in them to build the wall.
func newNamespaces(attr *syscall.SysProcAttr) {
	uid, gid := os.Getuid(), os.Getgid()
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE} // the last for overlays
}
