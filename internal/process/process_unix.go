//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// ShellCommand returns a command in bash or else sh, without the user's startup files.
func ShellCommand(command string) *exec.Cmd {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return exec.Command("/bin/sh", "-c", command)
	}
	return exec.Command(bash, "--noprofile", "--norc", "-c", command)
}

// Detach makes cmd, before it starts, survive this process and ignore its terminal's signals.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
