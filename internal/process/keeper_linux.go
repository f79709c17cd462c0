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
	keeperName = "planloop-keep" // the launcher's name as keeper: argv[0] of the child
	lifeline   = 3               // the keeper's end of a pipe: when the other end is closed, it ends the command
	grace      = 2 * time.Second // for a keeper to end its command; a stopped keeper does not
)

// family is a command and all its processes. Its keeper is a process that adopts their orphans. If the command kills
// its keeper, this process adopts the rest.
type family struct {
	launcher *Launcher
	cmd      *exec.Cmd
	mark     string
	lifeline *os.File // nil: no keeper
	late     *time.Timer
	watched  chan struct{} // closed once the keeper has ended, and with it all that it left
}

// start starts a command in its own session, without a terminal where it could ask a person or answer for one.
func (l *Launcher) start(cmd *exec.Cmd) (*family, error) {
	f := &family{launcher: l, cmd: cmd, mark: rand.Text()}
	cmd.Env = append(cmd.Environ(), EnvFamily+"="+f.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if l.Program == "" {
		return f, cmd.Start()
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGCONT // wakes a keeper stopped by its command, so that it ends it
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
	l.mu.Lock() // until it is recorded, a keeper would be taken for an orphan
	defer l.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, near.Close())
	}
	if l.keepers == nil {
		l.keepers = map[int]bool{}
	}
	l.keepers[cmd.Process.Pid] = true
	f.watched = make(chan struct{})
	go f.watch()
	return f, nil
}

// watch kills what a killed keeper leaves, which is this process's children then, as soon as the keeper has ended: the command's open
// output could delay the end of cmd.Wait, and until then the rest would look like planloop's own.
func (f *family) watch() {
	defer close(f.watched)
	var info unix.Siginfo
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Waitid(unix.P_PID, f.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
	}
	const exited = 1 // CLD_EXITED: a keeper that exits has killed the rest itself
	if err == nil && info.Code == exited {
		return
	}
	f.launcher.mu.Lock()
	defer f.launcher.mu.Unlock()
	endChildren(f.launcher.keepers)
}

// kill ends the family; the keeper waits until every process is gone.
func (f *family) kill() {
	if f.lifeline == nil {
		_ = syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL) // fails if it is empty
		return
	}
	_ = f.lifeline.Close()
	f.late = time.AfterFunc(grace, func() { _ = f.cmd.Process.Kill() })
}

// terminate asks the command's group to end; the keeper passes it on.
func (f *family) terminate() bool { return syscall.Kill(-f.cmd.Process.Pid, syscall.SIGTERM) == nil }

// end kills the remaining processes after the command, or its keeper, has ended.
func (f *family) end() {
	if f.lifeline == nil {
		f.kill()
		return
	}
	if f.late != nil {
		f.late.Stop()
	}
	_ = f.lifeline.Close()
	<-f.watched
	f.launcher.mu.Lock()
	defer f.launcher.mu.Unlock()
	delete(f.launcher.keepers, f.cmd.Process.Pid)
}

// adopt makes orphaned descendants children of this process.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt processes of the command: %w", err)
	}
	return nil
}

// Keep runs the process as the keeper of a command if it was started as one, and does not return then. A program that
// serves as launcher calls it first in main.
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

// keep runs a command, kills its leftover processes, and returns its exit code.
func keep(program string, args []string) (code int, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals) // all that can be caught: the command must not end its keeper by one
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
		for sent := range signals {
			if sent == syscall.SIGTERM {
				_ = syscall.Kill(-pid, syscall.SIGTERM)
			}
		}
	}()
	go func() {
		_, _ = os.NewFile(lifeline, "lifeline").Read(make([]byte, 1)) // the launcher ends the command, or has ended itself
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

// endChildren kills the children of this process, except the spared ones, until none is left; their orphaned
// children, which it adopts, are killed too. Children in this process's own session are not a command's: each command
// has its own session and cannot return. A child that has ended is listed until it is waited for, so a process that
// replaces itself with another child during the listing is seen in the next round.
func endChildren(spared map[int]bool) {
	session, err := unix.Getsid(0)
	for own := syscall.Getpgrp(); ; {
		ended := 0
		for pid, s := range processes() { // ended ones too
			theirs, unknown := unix.Getsid(pid)
			if s.parent != os.Getpid() || spared[pid] || errors.Join(err, unknown) == nil && theirs == session {
				continue
			}
			if group, err := syscall.Getpgid(pid); err == nil && group != own {
				_ = syscall.Kill(-group, syscall.SIGKILL) // at once, however fast it forks
			}
			if syscall.Kill(pid, syscall.SIGKILL) != nil {
				continue // another user's: it cannot be killed
			}
			_, _ = syscall.Wait4(pid, nil, 0, nil)
			ended++
		}
		if ended == 0 {
			return
		}
	}
}

// Hide keeps this process's memory, environment and open files from other processes of the same user, and prevents core
// dumps. Root still sees them.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
