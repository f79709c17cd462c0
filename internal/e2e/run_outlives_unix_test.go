//go:build unix

package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// soon limits the wait for a run that has nothing to wait for.
const soon = 30 * time.Second

// ends runs `planloop run` to its end, which must come soon.
func (p runPlace) ends(args ...string) runResult {
	p.t.Helper()
	cmd := p.engine(args...)
	late := time.AfterFunc(soon, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !late.Stop() {
		p.t.Fatal("planloop run does not end")
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.result(args...)
}

// TestEngineDeadForAMonth: an engine without a living record is dead, whether its signs of life are old or were removed.
func TestEngineDeadForAMonth(t *testing.T) {
	for name, forget := range map[string]func(path string) error{
		"old":     func(path string) error { past := time.Now().AddDate(0, 0, -31); return os.Chtimes(path, past, past) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			p := newRunPlace(t)
			started := p.pipe("started")
			const again = `echo %s >> effects; [ $(grep -c %s effects) = 2 ] && exit 0; echo $$ > started; exec sleep 1000`
			step := func(word, more string) string { return command(strings.ReplaceAll(again, "%s", word), more) }
			p.setUp(step("safe", `,"idempotent":true`), step("once", `,"depends_on":["S001"]`))
			first := p.engine()
			pids := []string{p.heard(started)}
			kill(t, first)
			second := p.engine()
			pids = append(pids, p.heard(started))
			kill(t, second)
			err := filepath.WalkDir(filepath.Join(p.stateDir(), "seen"), func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				return forget(path)
			})
			testenv.Check(t, err)
			if got := p.ends(); got.Reason != "waiting_for_person" || got.Counts["done"] != 1 || got.Counts["unknown"] != 1 {
				t.Errorf("the run has ended with %+v", got)
			}
			if lines := strings.Join(p.lines("effects"), " "); lines != "safe safe once" {
				t.Errorf("effects: %s", lines)
			}
			for _, pid := range pids {
				if runs(pid) {
					t.Errorf("process %s is left", pid)
				}
			}
			if left := files(t, filepath.Join(p.stateDir(), "running")); left != "" {
				t.Error("left behind: " + left)
			}
			p.sound()
		})
	}
}

// TestClosedPipe: when the reader of its output ends, a run loses the output and nothing else. Running steps finish, and the next run does
// the rest.
func TestClosedPipe(t *testing.T) {
	for name, line := range map[string]string{
		"head":         `"$PROGRAM" run | head -1; echo x > closed`,
		"after a line": `"$PROGRAM" run | { read line; exec <&-; echo x > closed; }`,
		"Ctrl-C":       `"$PROGRAM" run | tee log`, // which ends tee
	} {
		t.Run(name, func(t *testing.T) {
			p := newRunPlace(t)
			started, release, closed := p.pipe("started"), p.pipe("go"), p.pipe("closed")
			p.setUp(command("echo 1 >> effects; echo $$ > started; read x < go", ""),
				command("echo 2 >> effects", `,"depends_on":["S001"]`), command("echo 3 >> effects", `,"depends_on":["S002"]`))
			cmd := exec.Command("bash", "-c", line)
			cmd.Dir, cmd.Env = p.workspace, append(p.env, "PROGRAM="+os.Getenv(binaryVariable))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as the terminal's
			testenv.Check(t, cmd.Start())
			t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
			p.heard(started)
			switch name {
			case "after a line":
				p.heard(closed)
			case "Ctrl-C":
				testenv.Check(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
			case "head":
				go p.lineOf(closed)
			}
			p.release(release)
			late := time.AfterFunc(soon, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
			_ = cmd.Wait()
			if !late.Stop() {
				t.Fatal("it does not end")
			}
			p.untilEnded(plan.StepID(1))
			if got := p.ends(); got.Reason != "completed" || strings.Join(p.lines("effects"), " ") != "1 2 3" {
				t.Errorf("%+v, effects %q", got, p.lines("effects"))
			}
			p.sound()
		})
	}
}

// release writes into a pipe for a step, even if none reads it.
func (p runPlace) release(pipe string) {
	p.t.Helper()
	file, err := os.OpenFile(pipe, os.O_RDWR, 0)
	testenv.Check(p.t, err)
	p.t.Cleanup(func() { file.Close() })
	_, err = file.WriteString("go\n")
	testenv.Check(p.t, err)
}

// lineOf reads a pipe that may get no text.
func (p runPlace) lineOf(pipe string) { _, _ = os.ReadFile(pipe) }

// untilEnded waits until the result of a step is recorded, which must be a success.
func (p runPlace) untilEnded(id plan.StepID) {
	p.t.Helper()
	watcher, err := fsnotify.NewWatcher()
	testenv.Check(p.t, err)
	defer watcher.Close()
	testenv.Check(p.t, watcher.Add(p.stateDir()))
	for late := time.After(soon); ; {
		for _, record := range p.records(0) {
			for _, event := range record.Events {
				switch e := event.(type) {
				case plan.StepFinished:
					if e.Step == id && e.Result.OK {
						return
					}
				case plan.StepLost:
					p.t.Fatalf("%s was lost: %+v", e.Step, e)
				}
			}
		}
		select {
		case <-watcher.Events:
		case <-late:
			p.t.Fatalf("the result of %s was not recorded", id)
		}
	}
}

// TestRunOutlivesItsHost: a run begun over MCP continues to its end when its host exits, or kills its server.
func TestRunOutlivesItsHost(t *testing.T) {
	for name, leave := range map[string]func(*host){"leaves": func(h *host) { h.leave() }, "kills its server": func(h *host) { h.kill() }} {
		t.Run(name, func(t *testing.T) {
			p := newRunPlace(t)
			started, release := p.pipe("started"), p.pipe("go")
			p.setUp(command("echo 1 >> effects; echo $$ > started; read x < go", ""),
				command("echo 2 >> effects", `,"depends_on":["S001"]`))
			h := p.open("--toolsets", "planning,loop,execution")
			h.do("planning_execute_plan", arguments{"wait": 0})
			p.heard(started)
			leave(h)
			p.release(release)
			p.untilEnded(plan.StepID(2))
			if got := p.ends(); got.Reason != "completed" || strings.Join(p.lines("effects"), " ") != "1 2" {
				t.Errorf("%+v, effects %q", got, p.lines("effects"))
			}
			p.untilFiles(filepath.Join(p.stateDir(), "running"), func(names string) bool { return names == "" })
			p.sound()
		})
	}
}
