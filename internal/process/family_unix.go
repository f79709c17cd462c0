//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// family is a command and its processes: its session, and its descendants.
type family struct{ leader int }

// Keep does nothing: on this system no process can adopt the orphans of another.
func Keep() {}

// start starts a command in its own session, without a terminal where it could ask a person or answer for one.
func (*Launcher) start(cmd *exec.Cmd) (*family, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &family{leader: cmd.Process.Pid}, nil
}

// Space is always the same: this system does not distinguish any.
func Space() string { return "" }

func (f *family) identity() Identity { return Identity{Pid: f.leader, Start: began(f.leader)} }

// members lists the command and its family while the command runs.
func (id Identity) members() map[int]string {
	if id.Start == "" || began(id.Pid) != id.Start {
		return nil
	}
	found := map[int]string{id.Pid: id.Start}
	for _, pid := range members(id.Pid) {
		found[pid] = began(pid)
	}
	return found
}

func (f *family) kill() {
	for range 100 { // each round kills processes that started during the round before
		found := members(f.leader)
		_ = syscall.Kill(-f.leader, syscall.SIGKILL) // fails if it is empty
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(found) == 0 {
			return
		}
	}
}

// terminate asks the command's group to end.
func (f *family) terminate() bool { return syscall.Kill(-f.leader, syscall.SIGTERM) == nil }

// end kills the remaining processes after the command has ended.
func (f *family) end() { f.kill() }
