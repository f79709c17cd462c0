package lineagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket names the variable with the socket of the terminal program.
const socket = "LINEAGETEST_SOCKET"

// Apart makes a command, before it starts, run below a terminal program that is no descendant of the tests: the tests start
// servers, and what descends from them counts as an agent's. The command leads a session at a terminal: its standard input, if that is one.
func Apart(cmd *exec.Cmd) {
	cmd.Args = append([]string{os.Args[0], "--", cmd.Path}, cmd.Args...)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(slices.Clip(cmd.Env), stage+"=apart", socket+"="+os.Getenv(socket))
	cmd.Path, cmd.SysProcAttr = "/proc/self/exe", nil
}

// request is a command for the terminal program.
type request struct {
	Path      string
	Args, Env []string
	Dir       string
}

// Relay serves as terminal program, or asks it to run a command, if the process was started for that; it does not return then.
func Relay() {
	var err error
	code := 1
	switch os.Getenv(stage) {
	case "terminal":
		err = serveTerminals()
	case "apart":
		code, err = askTerminal()
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run a command apart:", err)
	}
	os.Exit(code)
}

func askTerminal() (code int, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: os.Getenv(socket)})
	if err != nil {
		return 1, err
	}
	r := request{Path: os.Args[2], Args: os.Args[3:], Env: slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, stage+"=") || strings.HasPrefix(entry, socket+"=")
	})}
	r.Dir, err = os.Getwd()
	_, _, sent := conn.WriteMsgUnix([]byte{'\n'}, syscall.UnixRights(0, 1, 2), nil)
	if err := errors.Join(err, sent, json.NewEncoder(conn).Encode(r)); err != nil {
		return 1, err
	}
	_, err = fmt.Fscan(conn, &code)
	return code, err
}

// serveTerminals runs the commands that it is asked for until the tests have ended.
func serveTerminals() error {
	path := os.Getenv(socket)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + ".new"})
	if err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	go func() { // as long as this process
		_, _ = io.Copy(io.Discard, os.NewFile(3, "life"))
		os.Exit(0)
	}()
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return err
		}
		go runFor(conn) // ends with its command
	}
}

// runFor runs a command and answers with its exit code. The command is killed when its asker has ended.
func runFor(conn *net.UnixConn) {
	defer conn.Close()
	first, rights := make([]byte, 1), make([]byte, 256)
	_, n, _, _, err := conn.ReadMsgUnix(first, rights)
	messages, parsed := syscall.ParseSocketControlMessage(rights[:n])
	var r request
	if err := errors.Join(err, parsed, json.NewDecoder(conn).Decode(&r)); err != nil || len(messages) != 1 {
		return
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 3 {
		return
	}
	cmd := exec.Command(r.Path)
	cmd.Args, cmd.Env, cmd.Dir = r.Args, r.Env, r.Dir
	files := []*os.File{os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(fds[1]), "out"), os.NewFile(uintptr(fds[2]), "err")}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if _, err := unix.IoctlGetTermios(fds[0], unix.TCGETS); err != nil { // as hosts have one beside their pipes
		control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return
		}
		defer control.Close()
		_ = unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0)
		number, _ := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
		side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return
		}
		files, cmd.ExtraFiles, cmd.SysProcAttr.Ctty = append(files, side), []*os.File{side}, 3
	}
	err = cmd.Start()
	for _, file := range files {
		_ = file.Close()
	}
	if err != nil {
		return
	}
	go func() { // ends with the connection
		_, _ = io.Copy(io.Discard, conn)
		_ = cmd.Process.Kill()
	}()
	_ = cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		code = 128 + int(status.Signal())
	}
	fmt.Fprintln(conn, code)
}

// startTerminal starts the terminal program, which has lost its parent and ends with this process.
func (a Detached) startTerminal() (end func(), err error) {
	dir, err := os.MkdirTemp("", "lineage")
	if err != nil {
		return nil, err
	}
	end = func() { _ = os.RemoveAll(dir) }
	reads, life, err := os.Pipe()
	if err := errors.Join(err, os.Setenv(socket, filepath.Join(dir, "socket"))); err != nil {
		return end, err
	}
	// The shell ends at once.
	cmd := exec.Command("sh", "-c", `cp "/proc/$PPID/exe" "$0"; "$0" & exec true`, filepath.Join(dir, "xterm"))
	cmd.Env, cmd.ExtraFiles = a.environment("terminal"), []*os.File{reads}
	cmd.Stderr = os.Stderr
	if err := errors.Join(cmd.Run(), reads.Close()); err != nil {
		return end, err
	}
	for range 10_000 { // until it listens
		if _, err := os.Stat(os.Getenv(socket)); err == nil {
			return func() { _ = life.Close(); _ = os.RemoveAll(dir) }, nil
		}
		syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 1_000})
	}
	return end, errors.New("the terminal program did not start")
}
