package toolbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
)

// lingering are the ways in which a command leaves a process running. In each, $D is a program that writes its process
// number to the file pid and then lives for long.
func lingering() map[string]string {
	return map[string]string{
		"a child":                      `$D &`,
		"nohup":                        `nohup $D >/dev/null 2>&1 &`,
		"disown":                       `$D & disown -a`,
		"a double fork":                `( ($D &) & )`,
		"a session of its own":         `setsid $D &`,
		"a session and a double fork":  `(setsid sh -c "($D &) &" &)`,
		"no environment":               `env -i /bin/sh -c "$D" &`,
		"a session, no environment":    `env -i setsid -f /bin/sh -c "($D &)"`,
		"deaf to signals":              `sh -c 'trap "" TERM HUP INT QUIT; exec setsid '"$D" &`,
		"no open files":                `setsid -f $D <&- >&- 2>&-`,
		"holds the output":             `setsid -f $D 2>&1`,
		"another folder":               `cd / && setsid -f $D`,
		"many":                         `for i in 1 2 3 4 5 6 7 8 9; do setsid -f sleep 1000; (setsid sleep 1000 &); done; setsid -f $D`,
		"the keeper killed":            `setsid -f $D; until [ -s $P ]; do sleep 0.01; done; kill -KILL $PPID`,
		"the keeper asked to end":      `setsid -f $D; until [ -s $P ]; do sleep 0.01; done; kill -TERM $PPID; kill -QUIT $PPID`,
		"the keeper killed, and waits": `setsid -f $D; until [ -s $P ]; do sleep 0.01; done; kill -KILL $PPID; sleep 1000`,
	}
}

// TestNothingIsLeftBehind: any process that a command tries to leave running is gone when the command has been
// answered.
func TestNothingIsLeftBehind(t *testing.T) {
	ends := map[string]func(*testing.T, *toolbox.Box, string){
		"ends": func(t *testing.T, box *toolbox.Box, command string) {
			command += "\nuntil [ -s $P ]; do sleep 0.01; done"
			reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: command, Timeout: 30})
			if err != nil || reply.TimedOut {
				t.Errorf("%+v, %v", reply, err)
			}
		},
		"times out": func(t *testing.T, box *toolbox.Box, command string) {
			reply, err := timedOut(t, box, command+"\nsleep 1000")
			isEnded := strings.Contains(command, "-TERM") && reply.ExitCode == 128+int(syscall.SIGTERM) // a keeper passes it on
			if err != nil || !reply.TimedOut && !isEnded && !strings.Contains(command, "KILL") {
				t.Errorf("%+v, %v", reply, err)
			}
		},
		"is cancelled": func(t *testing.T, box *toolbox.Box, command string) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			up := filepath.Join(box.Path(), "pid")
			go func() {
				for ctx.Err() == nil {
					if info, err := os.Stat(up); err == nil && info.Size() > 0 {
						cancel()
					}
				}
			}()
			_, err := box.BashExecute(ctx, toolbox.BashExecute{Command: command + "\nsleep 1000", Timeout: 30})
			if err == nil && !strings.Contains(command, "KILL") {
				t.Error("it was not cancelled")
			}
		},
	}
	for way, command := range lingering() {
		for how, run := range ends {
			if how == "times out" && testing.Short() && way != "a session of its own" { // a second each
				continue
			}
			t.Run(way+", "+how, func(t *testing.T) {
				t.Parallel()
				box := kept(t, toolbox.Options{})
				file := filepath.Join(box.Path(), "pid")
				daemon := filepath.Join(box.Path(), "daemon")
				text := fmt.Sprintf("#!/bin/sh\necho $$ >%[1]s.new; mv %[1]s.new %[1]s; exec sleep 1000\n", file)
				testenv.Check(t, os.WriteFile(daemon, []byte(text), 0o700))
				run(t, box, "D="+daemon+" P="+file+"\n"+command)
				gone(t, file)
			})
		}
	}
}

// timedOut runs a command that writes the file pid, with increasing time-outs until it has time for that.
func timedOut(t *testing.T, box *toolbox.Box, command string) (reply toolbox.BashExecuteReply, err error) {
	t.Helper()
	for timeout := 1; timeout < 100; timeout *= 3 {
		reply, err = box.BashExecute(t.Context(), toolbox.BashExecute{Command: command, Timeout: timeout})
		if info, missing := os.Stat(filepath.Join(box.Path(), "pid")); missing == nil && info.Size() > 0 {
			break
		}
	}
	return reply, err
}

// gone fails if the process named in a file is alive.
func gone(t *testing.T, file string) {
	t.Helper()
	text := testenv.Must(os.ReadFile(file))(t)
	pid := testenv.Must(strconv.Atoi(strings.TrimSpace(string(text))))(t)
	if err := syscall.Kill(pid, 0); err == nil {
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		t.Errorf("it lives on: %s", state)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestKeeperThatIsStopped: a command that stops its keeper does not delay its own end.
func TestKeeperThatIsStopped(t *testing.T) {
	t.Parallel()
	box := kept(t, toolbox.Options{})
	command := `setsid -f sh -c 'echo $$ >pid; exec sleep 1000'; until [ -s pid ]; do sleep 0.01; done; kill -STOP $PPID; sleep 1000`
	begun := time.Now()
	reply, err := timedOut(t, box, command)
	if err != nil || !reply.TimedOut || time.Since(begun) > 5*time.Minute {
		t.Errorf("%+v, %v", reply, err)
	}
	gone(t, filepath.Join(box.Path(), "pid"))
}

// TestOneCommandSparesAnother: a command's leftover processes are killed, but not those of another running command.
func TestOneCommandSparesAnother(t *testing.T) {
	t.Parallel()
	box := kept(t, toolbox.Options{})
	long := make(chan toolbox.BashExecuteReply, 1)
	go func() {
		const command = `(setsid sh -c 'echo up >up; until [ -e go ]; do sleep 0.01; done; echo lived >lived' &); ` +
			`until [ -e lived ]; do sleep 0.01; done; echo done`
		reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: command, Timeout: 30})
		if err != nil {
			t.Error(err)
		}
		long <- reply
	}()
	for _, command := range []string{`until [ -s up ]; do sleep 0.01; done`, `setsid -f sleep 1000`,
		`setsid -f sleep 1000; kill -KILL $PPID`, `touch go`} {
		if _, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: command, Timeout: 30}); err != nil {
			t.Error(err)
		}
	}
	if reply := <-long; reply.Stdout != "done\n" || reply.ExitCode != 0 {
		t.Errorf("%+v", reply)
	}
}

// TestCommandEndsWhenOnlyReadingIsAllowed: a running command is ended with everything it has started, and the reply
// gives the reason and its output.
func TestCommandEndsWhenOnlyReadingIsAllowed(t *testing.T) {
	t.Parallel()
	changes := make(chan struct{}, 1)
	holds := make(chan toolbox.Hold, 2)
	holds <- toolbox.Hold{}
	box := kept(t, toolbox.Options{
		Guard:   func(context.Context, string) (toolbox.Hold, error) { return <-holds, nil },
		Changed: func(context.Context) (<-chan struct{}, error) { return changes, nil },
	})
	w := newWitness(t, box.Path())
	ended := make(chan toolbox.BashExecuteReply, 1)
	go func() {
		reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "echo first; " + family(), Timeout: 100})
		if err != nil {
			t.Error(err)
		}
		ended <- reply
	}()
	w.up(t, 4)
	holds <- toolbox.Hold{By: "planning mode"}
	changes <- struct{}{}
	reply := <-ended
	if reply.Stdout != "first\n" || reply.TimedOut || !strings.Contains(reply.Stopped, "planning mode was entered") ||
		!strings.Contains(reply.Text(), "with everything it had started: planning mode was entered") {
		t.Errorf("%+v\n%s", reply, reply.Text())
	}
	close(changes)
	w.gone(t)
}

// TestOtherChildrenAreLeftAlone: after a command that killed its keeper, its leftover processes are killed, but not
// this process's other children.
func TestOtherChildrenAreLeftAlone(t *testing.T) {
	other := exec.Command("sleep", "1000")
	testenv.Check(t, other.Start())
	reply, err := kept(t, toolbox.Options{}).BashExecute(t.Context(), toolbox.BashExecute{Command: "kill -KILL $PPID; sleep 1000"})
	if err != nil || reply.ExitCode != 128+9 {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Errorf("the other child is gone: %v", err)
	}
	if err := other.Wait(); other.ProcessState == nil {
		t.Errorf("the other child was waited for by somebody else: %v", err)
	}
}

// TestLeftoversEndWithTheKeeper: what a command leaves after it killed its keeper ends at once, although it holds the output open; until
// it ends it would be a child of this process, and pass for one of planloop's own.
func TestLeftoversEndWithTheKeeper(t *testing.T) {
	box := kept(t, toolbox.Options{})
	reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{
		Command: "setsid -f sh -c 'echo up >up; sleep 0.4; echo late >late'; until [ -s up ]; do :; done; kill -KILL $PPID; sleep 1000"})
	if err != nil || reply.ExitCode != 128+9 {
		t.Errorf("%+v, %v", reply, err)
	}
	if _, err := os.Stat(filepath.Join(box.Path(), "late")); err == nil {
		t.Error("a process lived on after its keeper")
	}
}
