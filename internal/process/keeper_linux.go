package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	keeperName = "planloop-keep" // what the launcher is called as: argv[0] of the child
	lifeline   = 3               // the keeper's end of a pipe: when the other is closed, the command is to end
	grace      = 2 * time.Second // for a keeper to end its command; one that was stopped does not
)

// family is a command and all that it starts. Its keeper is a process that adopts
// whatever in it loses its parent. Should the command kill its keeper, this process
// adopts what is left.
type family struct {
	launcher *Launcher
	cmd      *exec.Cmd
	mark     string
	lifeline *os.File // nil: without a keeper
	late     *time.Timer
}

// start starts a command in a session of its own, without a terminal that it could ask a
// person on, or answer for one.
func (l *Launcher) start(cmd *exec.Cmd) (*family, error) {
	f := &family{launcher: l, cmd: cmd, mark: rand.Text()}
	cmd.Env = append(cmd.Environ(), markName+"="+f.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if l.Program == "" {
		return f, cmd.Start()
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGCONT // so that a keeper which its command has stopped ends it
	if err := adopt(); err != nil {
		return nil, err
	}
	far, near, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = far.Close() }()
	f.lifeline = near
	cmd.Args = append([]string{keeperName, cmd.Path}, cmd.Args...)
	cmd.Path, cmd.ExtraFiles = l.Program, []*os.File{far}
	l.mu.Lock() // a keeper that is not written down yet would be taken for an orphan
	defer l.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, near.Close())
	}
	if l.keepers == nil {
		l.keepers = map[int]bool{}
	}
	l.keepers[cmd.Process.Pid] = true
	return f, nil
}

// kill ends the family; the keeper waits until none of it is left.
func (f *family) kill() {
	if f.lifeline == nil {
		_ = syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL) // fails when none is left
		return
	}
	_ = f.lifeline.Close()
	f.late = time.AfterFunc(grace, func() { _ = f.cmd.Process.Kill() })
}

// end ends what is left when the command, or its keeper, has ended.
func (f *family) end() {
	if f.lifeline == nil {
		f.kill()
		return
	}
	if f.late != nil {
		f.late.Stop()
	}
	_ = f.lifeline.Close()
	f.launcher.mu.Lock()
	defer f.launcher.mu.Unlock()
	delete(f.launcher.keepers, f.cmd.Process.Pid)
	if state := f.cmd.ProcessState; state == nil || !state.Exited() { // it was killed
		endChildren(f.launcher.keepers)
	}
}

// adopt makes what descends from this process and loses its parent a child of it.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt what the command leaves behind: %w", err)
	}
	return nil
}

// Keep turns the process into the keeper of a command if it was started as one, and
// does not return then. A program that is a launcher calls it first in main.
func Keep() {
	if len(os.Args) < 3 || os.Args[0] != keeperName {
		return
	}
	code, err := keep(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "planloop: start %s: %v\n", os.Args[1], err)
		code = 126
	}
	os.Exit(code)
}

// keep runs a command, ends what it leaves behind, and returns its exit code.
func keep(program string, args []string) (code int, err error) {
	signal.Notify(make(chan os.Signal, 1)) // the command is not to end its keeper by a signal that can be caught
	syscall.CloseOnExec(lifeline)
	if err := adopt(); err != nil {
		return 0, err
	}
	pid, err := syscall.ForkExec(program, args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return 0, err
	}
	go func() {
		_, _ = os.NewFile(lifeline, "lifeline").Read(make([]byte, 1)) // the launcher ends the command, or has itself ended
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}()
	var status syscall.WaitStatus
	for ended := 0; ended != pid; {
		if ended, err = syscall.Wait4(-1, &status, 0, nil); err != nil && err != syscall.EINTR {
			return 0, err
		}
	}
	endChildren(nil)
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// endChildren kills the children of this process, but those that are spared, and so
// theirs, which it adopts, until there are none. What shares the session of this process
// is no command's: each has a session of its own, and none leads back. A child that has
// ended is there until it is waited for, so that one which goes on as another child while
// they are listed is seen in the next round.
func endChildren(spared map[int]bool) {
	session, err := unix.Getsid(0)
	for own := syscall.Getpgrp(); ; {
		ended := 0
		for _, pid := range children() {
			if theirs, unknown := unix.Getsid(pid); spared[pid] || errors.Join(err, unknown) == nil && theirs == session {
				continue
			}
			if group, err := syscall.Getpgid(pid); err == nil && group != own {
				_ = syscall.Kill(-group, syscall.SIGKILL) // at once, however fast it forks
			}
			if syscall.Kill(pid, syscall.SIGKILL) != nil {
				continue // another user's: there is no way to end it
			}
			_, _ = syscall.Wait4(pid, nil, 0, nil)
			ended++
		}
		if ended == 0 {
			return
		}
	}
}

// children lists the children of this process, with those that have ended.
func children() []int {
	var found []int
	for pid, s := range processes() {
		if s.parent == os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}
