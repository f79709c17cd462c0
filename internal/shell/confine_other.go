//go:build !linux

package shell

import "os/exec"

// confinedCommand is the command itself: this system has nothing to confine it with.
func confinedCommand(_, _, program string, args ...string) (*exec.Cmd, bool) {
	return exec.Command(program, args...), false
}

// Confine does nothing on this system.
func Confine() {}
