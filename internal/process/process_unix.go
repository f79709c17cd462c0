//go:build unix

package process

import "os/exec"

// ShellCommand is a command in the shell there is, which reads none of the
// user's files.
func ShellCommand(command string) *exec.Cmd {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return exec.Command("/bin/sh", "-c", command)
	}
	return exec.Command(bash, "--noprofile", "--norc", "-c", command)
}
