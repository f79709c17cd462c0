//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// ShellCommand is a command in the shell there is, which reads none of the
// user's files.
func ShellCommand(command string) *exec.Cmd {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return exec.Command("/bin/sh", "-c", command)
	}
	return exec.Command(bash, "--noprofile", "--norc", "-c", command)
}

// Group is the processes of a command.
type Group struct{ leader int }

// Start starts a command in a session of its own: a group that can be killed
// whole, and without a terminal that it could ask a person on, or answer for one.
func Start(cmd *exec.Cmd) (Group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Group{}, err
	}
	return Group{leader: cmd.Process.Pid}, nil
}

// Kill kills those that are left of the group.
func (g Group) Kill() { _ = syscall.Kill(-g.leader, syscall.SIGKILL) } // fails when none is left

// Close ends the use of the group.
func (Group) Close() {}
