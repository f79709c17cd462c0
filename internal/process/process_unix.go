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

// Apart has a command that is to be started outlive this process, and hear nothing of what is typed at its terminal.
func Apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
