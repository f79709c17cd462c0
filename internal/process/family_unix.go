//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// family is a command and what it starts: its session, and what descends from it.
type family struct{ leader int }

// Keep does nothing: this system lets no process adopt what another one leaves behind.
func Keep() {}

// start starts a command in a session of its own, without a terminal that it could ask a
// person on, or answer for one.
func (*Launcher) start(cmd *exec.Cmd) (*family, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &family{leader: cmd.Process.Pid}, nil
}

// world is one alone: this system does not tell them apart.
func world() string { return "" }

func (f *family) identity() Identity { return Identity{Pid: f.leader, Start: began(f.leader)} }

// members lists the command and what members finds of it, while it runs itself.
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

// kill ends the family.
func (f *family) kill() {
	for range 100 { // each round ends what the former saw being started
		found := members(f.leader)
		_ = syscall.Kill(-f.leader, syscall.SIGKILL) // fails when none is left
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(found) == 0 {
			return
		}
	}
}

// end ends what is left when the command has ended.
func (f *family) end() { f.kill() }
