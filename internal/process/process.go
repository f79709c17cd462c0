// Package process starts commands so that they can be ended together with all processes they start. It does not judge
// commands, nor know why they run.
//
// The reach depends on the system. On Linux a keeper adopts a command's orphans, whatever session, parent or
// environment they chose; on Windows all its processes are in a job; on macOS the command's session is ended, and its
// descendants while it runs. On other systems only the process group is ended. Processes of other users, and those
// started on request by cron, a service manager or a container engine, always escape.
package process

import (
	"os"
	"syscall"
)

// ExitCode returns a process's exit code as shells do: 128 plus the signal if a signal ended it, and -1 if it never
// ran.
func ExitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
