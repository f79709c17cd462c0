//go:build !linux

package shell

import (
	"context"
	"os/exec"
)

// confinedCommand is the command itself: this system has nothing to confine it with.
func confinedCommand(ctx context.Context, _, _, program string, args ...string) (*exec.Cmd, bool) {
	return plainCommand(ctx, program, args...), false
}

// Confine does nothing on this system.
func Confine() {}
