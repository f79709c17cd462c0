//go:build unix

package toolbox

import (
	"os"
	"os/exec"
	"syscall"
)

// shellCommand is a command in the shell there is, which reads none of the
// user's files.
func shellCommand(command string) *exec.Cmd {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return exec.Command("/bin/sh", "-c", command)
	}
	return exec.Command(bash, "--noprofile", "--norc", "-c", command)
}

// group is the processes of a command.
type group struct{ leader int }

// startGroup starts a command in a session of its own: a group that can be killed
// whole, and without a terminal that it could ask a person on, or answer for one.
func startGroup(cmd *exec.Cmd) (group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return group{}, err
	}
	return group{leader: cmd.Process.Pid}, nil
}

// kill kills those that are left of the group.
func (g group) kill() { _ = syscall.Kill(-g.leader, syscall.SIGKILL) } // fails when none is left

func (group) close() {}

func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
