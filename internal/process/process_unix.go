//go:build unix

package process

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
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

// Alive reports whether any process of the family runs.
func (id Identity) Alive() bool { return len(id.members()) > 0 }

// Kill kills every process of the family and returns when they are gone. It returns an error if some could not be
// killed.
func (id Identity) Kill() error {
	held := map[int]*os.Process{}
	defer func() {
		for _, process := range held {
			_ = process.Release()
		}
	}()
	hold := func(signal syscall.Signal) (fresh bool) {
		for pid, start := range id.members() {
			if held[pid] != nil {
				continue
			}
			process, err := os.FindProcess(pid) // which pins it, if the system can
			if err != nil || began(pid) != start {
				continue
			}
			held[pid], fresh = process, true
			_ = process.Signal(signal)
		}
		return fresh
	}
	for hold(syscall.SIGSTOP) { // a stopped process starts no more processes
	}
	for _, process := range held {
		_ = process.Kill()
	}
	for tries := 0; tries < 200; tries++ {
		if !id.Alive() {
			return nil
		}
		hold(syscall.SIGKILL) // processes that were starting, and had neither parent nor mark when listed
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the processes %v could not be ended", slices.Sorted(maps.Keys(id.members())))
}
