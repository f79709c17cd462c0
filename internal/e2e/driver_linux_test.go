package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// driverVariable makes the tests' program an agent's script, which opens a terminal, runs a command there and answers for its user:
// it types shown codes and agrees to all questions. The value names the file for the screen, which is there once the command has ended.
const driverVariable = "PLANLOOP_TEST_DRIVE"

// driveIfAsked runs the script if the process was started as one; it does not return then.
func driveIfAsked() {
	file := os.Getenv(driverVariable)
	if file == "" {
		return
	}
	screen, err := drive(os.Args[2:])
	text := fmt.Sprintf("%s\n[error %v]\n", screen, err)
	if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(0)
}

func drive(command []string) (screen string, err error) {
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	defer control.Close()
	number := 0
	conn, err := control.SyscallConn()
	if err != nil {
		return "", err
	}
	failed := conn.Control(func(fd uintptr) {
		err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		if err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err := errors.Join(failed, err); err != nil {
		return "", err
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(command[0], command[1:]...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, driverVariable+"=") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	side.Close()
	if err != nil {
		return "", err
	}
	end := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer end.Stop()
	var shown bytes.Buffer
	part, answered := make([]byte, 4096), 0
	for {
		n, err := control.Read(part)
		shown.Write(part[:n])
		if err != nil {
			break
		}
		text := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(shown.String(), "")
		for _, ask := range []struct{ pattern, keys string }{{`(?s).*` + codePattern, "$1\n"}, {`(?s).*Type purge to confirm`, "purge\n"},
			{`(?s).*\[y/N\] $`, "y\n"}, {`(?s).*Type the number of one\.\s*> $`, "1\n"}} {
			asked := regexp.MustCompile(ask.pattern)
			if found := asked.FindStringSubmatchIndex(text); found != nil && found[1] > answered {
				answered = len(text)
				_, _ = control.WriteString(string(asked.ExpandString(nil, ask.keys, text, found)))
			}
		}
	}
	err = cmd.Wait()
	return shown.String(), err
}
