// Package process starts commands together with what they start, so that all of it
// can be ended. It judges no command, and knows nothing of why one is run.
//
// What holds where: on Linux a keeper adopts what a command leaves behind, whatever
// session, parent or environment that gave itself; on Windows all of it is in a job; on
// macOS the session of the command is ended, and what descends from it while it runs.
// Elsewhere it is the group of processes. Nothing holds a process of another user, or one
// that somebody else was asked to start: cron, a service manager, a container engine.
package process

import (
	"os"
	"syscall"
)

// ExitCode is how a process ended, by the conventions of shells: 128 and the
// number of the signal for one that was ended by one; -1 for one that never ran.
func ExitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
