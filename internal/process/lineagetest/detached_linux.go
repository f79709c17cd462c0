package lineagetest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// stage is the progress of tests out of the processes above: "" below them, then between, then out.
const stage = "PLANLOOP_TEST_STAGE"

// Run runs the tests in a process without a parent, beside the terminal program of Apart.
func (a Detached) Run() int {
	code, err := 0, error(nil)
	switch result, life := os.NewFile(3, "result"), os.NewFile(4, "life"); os.Getenv(stage) {
	case "between":
		err = a.command("out", result, life).Start()
	case "out":
		code, err = a.runAndReport(result, life)
	default:
		var end func()
		if end, err = a.startTerminal(); err == nil {
			code, err = a.runDetached()
		}
		if end != nil {
			end()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run the tests detached from the processes above:", err)
		return 1
	}
	return code
}

// runDetached runs the tests in another process and returns their exit code. They end with this process.
func (a Detached) runDetached() (code int, err error) {
	result, writes, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	reads, life, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer life.Close() // not before: its end ends the tests, and the garbage collector closes what is not used any more
	if err := a.command("between", writes, reads).Run(); err != nil {
		return 0, err
	}
	writes.Close()
	if _, err := life.WriteString("."); err != nil { // the one between has ended
		return 0, err
	}
	if _, err := fmt.Fscan(result, &code); err != nil {
		return 0, fmt.Errorf("they ended without a result: %w", err)
	}
	return code, nil
}

// runAndReport runs the tests once the process between has ended.
func (a Detached) runAndReport(result, life *os.File) (code int, err error) {
	syscall.CloseOnExec(int(result.Fd()))
	syscall.CloseOnExec(int(life.Fd()))
	if err := os.Unsetenv(stage); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(life, make([]byte, 1)); err != nil {
		return 0, err
	}
	go func() { // as long as this process
		_, _ = life.Read(make([]byte, 1))
		os.Exit(1) // the process that waits for the result has ended
	}()
	code = a.Tests.Run()
	_, err = fmt.Fprintln(result, code)
	return code, err
}

// command returns this program's command again, without the variables.
func (a Detached) command(at string, files ...*os.File) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = a.environment(at)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdout, os.Stderr, files
	return cmd
}

// environment returns this process's environment for a stage, without the variables.
func (a Detached) environment(at string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == stage || slices.Contains(a.Without, name)
	}), stage+"="+at)
}
