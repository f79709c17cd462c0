//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// runPlace is a place with plans that run without approval of steps.
type runPlace struct{ *place }

func newRunPlace(t *testing.T) runPlace {
	p := runPlace{newPlace(t)}
	p.configure("step_approval: never\n")
	return p
}

func (p runPlace) path(name string) string { return filepath.Join(p.workspace, name) }

// pipe makes a named pipe, through which a step reports to the test or waits for it.
func (p runPlace) pipe(name string) string {
	p.t.Helper()
	if err := syscall.Mkfifo(p.path(name), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return p.path(name)
}

// heard returns the text that a step writes into a pipe.
func (p runPlace) heard(pipe string) string {
	p.t.Helper()
	got := make(chan string, 1)
	go func() {
		data, _ := os.ReadFile(pipe)
		got <- strings.TrimSpace(string(data))
	}()
	select {
	case text := <-got:
		return text
	case <-time.After(patience):
		p.t.Fatalf("no step has written into %s", pipe)
	}
	return ""
}

// command returns a step that runs a command.
func command(text string, more string) string {
	args, _ := json.Marshal(map[string]string{"command": text})
	return fmt.Sprintf(`{"title":"Run it","tool":"bash_execute","args":%s%s}`, args, more)
}

func (p runPlace) setUp(steps ...string) {
	p.t.Helper()
	got := p.feed(`{"objective":"Run it","initial_steps":[`+strings.Join(steps, ",")+`]}`, "start", "--file", "-")
	if got.code != 0 {
		p.t.Fatal(got)
	}
}

// engine starts `planloop run` in the background.
func (p runPlace) engine(args ...string) *exec.Cmd {
	p.t.Helper()
	cmd := p.command(append([]string{"run"}, args...)...)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func kill(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// untilFiles waits until the names in a folder of the state folder meet a condition.
func (p runPlace) untilFiles(folder string, are func(names string) bool) {
	p.t.Helper()
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		p.t.Fatal(err)
	}
	defer watcher.Close()
	if err := watcher.Add(filepath.Dir(folder)); err != nil {
		p.t.Fatal(err)
	}
	late := time.After(patience)
	for {
		_ = watcher.Add(folder) // succeeds once the folder exists
		if are(files(p.t, folder)) {
			return
		}
		select {
		case <-watcher.Events:
		case <-late:
			p.t.Fatalf("%s holds %q", folder, files(p.t, folder))
		}
	}
}

// runResult is the last object in the output of `run --json`.
type runResult struct {
	Status, Reason string
	Counts         map[string]int
}

func (p runPlace) result(args ...string) (result runResult) {
	p.t.Helper()
	got := p.run(append([]string{"run", "--json"}, args...)...)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		p.t.Fatalf("%v: exit code %d\n%s%s", err, got.code, got.out, got.err)
	}
	return result
}

func (p runPlace) lines(name string) []string {
	data, _ := os.ReadFile(p.path(name))
	return strings.Fields(string(data))
}

// runs reports whether a process runs. A zombie does not.
func runs(pid string) bool {
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
		return false
	}
	number, err := strconv.Atoi(pid)
	return err == nil && syscall.Kill(number, 0) == nil
}

// TestEngineKilled: the processes of a killed engine end before the step changes in any way. The step runs again if that is safe; otherwise
// its outcome is unknown, and it does not. Its output is kept.
func TestEngineKilled(t *testing.T) {
	for name, c := range map[string]struct {
		more string
		want runResult
		runs int
	}{
		"safe to repeat": {`,"idempotent":true`, runResult{Status: "completed", Reason: "completed", Counts: map[string]int{"done": 1}}, 2},
		"not safe": {"", runResult{Status: "active", Reason: "waiting_for_person",
			Counts: map[string]int{"unknown": 1}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRunPlace(t)
			pipe := p.pipe("started")
			const text = `echo x >> effects; [ $(wc -l < effects) = 2 ] && exit 0; echo half way; echo $$ > started; exec sleep 1000`
			p.setUp(command(text, c.more))
			cmd := p.engine()
			pid := p.heard(pipe)
			p.untilFiles(filepath.Join(p.stateDir(), "running"), func(names string) bool {
				return slices.ContainsFunc(strings.Split(names, "\n"), func(name string) bool {
					printed, _ := os.ReadFile(name)
					return strings.Contains(string(printed), "half way")
				})
			})
			kill(t, cmd)
			got := p.result()
			if got.Status != c.want.Status || got.Reason != c.want.Reason {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			for status, n := range c.want.Counts {
				if got.Counts[status] != n {
					t.Errorf("%s: %d, want %d", status, got.Counts[status], n)
				}
			}
			if runs(pid) || len(p.lines("effects")) != c.runs {
				t.Errorf("its command runs: %v; it was run %d times", runs(pid), len(p.lines("effects")))
			}
			if left := files(t, filepath.Join(p.stateDir(), "running")); left != "" {
				t.Error("left behind: " + left)
			}
			if kept := p.run("step", "logs", "S001", "--attempt", "1"); !strings.Contains(kept.out, "half way") {
				t.Errorf("what it had printed: %+v", kept)
			}
			p.sound()
		})
	}
}

// TestCommandsSettleDeadEngines: any command that meets a step of a dead engine settles it first, without an open run, and also after the
// record of the engine's presence is gone.
func TestCommandsSettleDeadEngines(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		swept bool
		want  string // of S001
	}{
		"replan":      {args: []string{"replan", "--json", `{"changes":"another way"}`}, want: "unknown"},
		"settle":      {args: []string{"step", "settle", "S001", "--choice", "happened"}, want: "done"},
		"retry":       {args: []string{"step", "retry", "S001"}, want: "pending"},
		"skip":        {args: []string{"step", "skip", "S001", "--reason", "not needed"}, want: "skipped"},
		"status":      {args: []string{"status"}, want: "unknown"},
		"long dead":   {args: []string{"step", "retry", "S001"}, swept: true, want: "pending"},
		"its request": {args: []string{"step", "stop", "S001"}, want: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRunPlace(t)
			started, release := p.pipe("started"), p.pipe("go")
			p.setUp(command(`echo $$ > started; exec sleep 1000`, ""), command(`read x < go; exit 1`, `,"critical":true`))
			cmd := p.engine()
			pid := p.heard(started)
			testenv.Check(t, os.WriteFile(release, []byte("go\n"), 0))
			for failed := false; !failed; {
				for _, record := range p.records(0) {
					for _, e := range record.Events {
						_, is := e.(plan.PlanNeedsReplan)
						failed = failed || is
					}
				}
			}
			kill(t, cmd)
			if c.swept {
				for file := range strings.SplitSeq(files(t, filepath.Join(p.stateDir(), "seen")), "\n") {
					testenv.Check(t, os.Remove(file))
				}
			}
			got := p.run(c.args...)
			if runs(pid) {
				t.Error("its command runs")
			}
			var shown struct {
				Plan struct {
					Steps []struct {
						Status    string
						Execution struct{ Ask struct{ Kind string } }
					}
				}
			}
			testenv.Check(t, json.Unmarshal([]byte(p.run("show", "--json").out), &shown))
			if step := shown.Plan.Steps[0]; step.Status != c.want && step.Execution.Ask.Kind != c.want {
				t.Errorf("%+v\n%+v", got, step)
			}
			if next := p.run("status"); strings.Contains(next.out, "engine") {
				t.Errorf("the engine is still mentioned: %s", next.out)
			}
			p.sound()
		})
	}
}

// TestEngineKilledInCleanUp: after a kill, the next run does the clean-up, also of a plan that needs a replan and of a run that
// was given up.
func TestEngineKilledInCleanUp(t *testing.T) {
	for name, reason := range map[string]string{"exit 1": "failed", "echo $$ > started; exec sleep 1000": "cancelled"} {
		t.Run(reason, func(t *testing.T) {
			p := newRunPlace(t)
			pipe := p.pipe("started")
			last := `echo x >> effects; [ $(wc -l < effects) = 2 ] && exit 0; echo $$ > started; exec sleep 1000`
			p.setUp(command(name, `,"critical":true`), command(last, `,"always":true,"idempotent":true`))
			cmd := p.engine()
			pid := p.heard(pipe)
			kill(t, cmd)
			if reason == "cancelled" { // it was killed in S001
				if got := p.result(); got.Reason != "waiting_for_person" || len(p.lines("effects")) > 0 {
					t.Fatalf("%+v, effects %q", got, p.lines("effects"))
				}
				if got := p.run("step", "settle", "S001", "--choice", "abort"); got.code != 0 {
					t.Fatal(got)
				}
				cmd = p.engine()
				pid = p.heard(pipe)
				kill(t, cmd)
			}
			if got := p.result(); got.Reason != reason || got.Counts["done"] != 1 {
				t.Errorf("%+v", got)
			}
			if runs(pid) || len(p.lines("effects")) != 2 {
				t.Errorf("its command runs: %v; effects %q", runs(pid), p.lines("effects"))
			}
			p.sound()
		})
	}
}

// TestEngineKilledBeforeItsRecord: if the effect has happened, or the value is kept, but its record is not written, the step's outcome is
// unknown, and nothing happens twice.
func TestEngineKilledBeforeItsRecord(t *testing.T) {
	p := newRunPlace(t)
	started, release := p.pipe("started"), p.pipe("go")
	p.setUp(command(`echo $$ > started; read x < go; head -c 5000 /dev/zero | tr '\0' x; echo x >> effects`, ""))
	cmd := p.engine()
	p.heard(started)
	log := sqlite.New(p.stateDir(), sqlite.Options{LockWait: patience})
	defer log.Close()
	unlock, err := log.Lock(context.Background()) // so that no record can be written
	testenv.Check(t, err)
	testenv.Check(t, os.WriteFile(release, []byte("go\n"), 0))
	values := filepath.Join(p.stateDir(), "values")
	p.untilFiles(values, func(names string) bool { return names != "" && !strings.Contains(names, ".tmp") })
	kill(t, cmd)
	unlock()
	if got := p.result(); got.Counts["unknown"] != 1 || got.Reason != "waiting_for_person" || len(p.lines("effects")) != 1 {
		t.Errorf("%+v; it was run %d times", got, len(p.lines("effects")))
	}
	p.sound()
}

// TestEngineKilledAnywhere kills engines at any time: a step that is not safe to repeat runs at most once, and each step ends as done or as
// unknown, to be settled by a person.
func TestEngineKilledAnywhere(t *testing.T) {
	const steps = 60
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Log("seed", seed)
	p := newRunPlace(t)
	var list []string
	for i := range steps {
		more := ""
		if i%2 == 1 {
			more = `,"idempotent":true`
		}
		list = append(list, command(fmt.Sprintf("echo %d >> effects", i+1), more))
	}
	p.setUp(list...)
	for range 8 {
		cmd := p.engine()
		time.AfterFunc(time.Duration(40+random.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
	}
	got := p.result()
	times := map[string]int{}
	for _, step := range p.lines("effects") {
		times[step]++
	}
	for i := range steps {
		if n, safe := times[strconv.Itoa(i+1)], i%2 == 1; !safe && n > 1 || safe && n == 0 {
			t.Errorf("S%03d was run %d times", i+1, n)
		}
	}
	if n := got.Counts["done"] + got.Counts["unknown"]; n != steps {
		t.Errorf("%+v: %d of %d steps have ended", got, n, steps)
	}
	t.Logf("%d done, %d unknown", got.Counts["done"], got.Counts["unknown"])
	p.sound()
}

// TestTwoEngines share the work; when one is killed, the other takes over its steps.
func TestTwoEngines(t *testing.T) {
	p := newRunPlace(t)
	started, release := p.pipe("started"), p.pipe("go")
	step := command(`echo $$ > started; read x < go`, `,"idempotent":true`)
	p.setUp(step, step)
	first := p.engine("--parallel", "1")
	p.heard(started)
	second := p.engine("--parallel", "1")
	p.heard(started)
	revision := p.revision()
	killed := time.Now()
	kill(t, first)
	for lost := false; !lost; {
		for _, record := range p.records(revision) {
			for _, e := range record.Events {
				_, is := e.(plan.StepLost)
				lost = lost || is
			}
		}
		if time.Since(killed) > patience {
			t.Fatal("the step of the engine that was killed was not taken up")
		}
	}
	both, err := os.OpenFile(release, os.O_RDWR, 0)
	testenv.Check(t, err)
	defer both.Close()
	_, _ = io.WriteString(both, "go\n")
	p.heard(started)
	_, _ = io.WriteString(both, "go\n")
	if err := second.Wait(); err != nil {
		t.Error("the second engine:", err)
	}
}

// TestInterruptedRun: the first interrupt lets running steps finish, the second ends them.
func TestInterruptedRun(t *testing.T) {
	for name, c := range map[string]struct {
		again  bool
		counts map[string]int
		code   int
	}{"once": {false, map[string]int{"done": 1, "pending": 1}, 5}, "twice": {true, map[string]int{"unknown": 1, "pending": 1}, 4}} {
		t.Run(name, func(t *testing.T) {
			p := newRunPlace(t)
			started, release := p.pipe("started"), p.pipe("go")
			p.setUp(command(`echo $$ > started; read x < go`, ""), command("true", `,"depends_on":["S001"]`))
			cmd := p.command("run", "--json")
			told, err := cmd.StderrPipe()
			testenv.Check(t, err)
			var out strings.Builder
			cmd.Stdout = &out
			testenv.Check(t, cmd.Start())
			defer kill(t, cmd)
			pid := p.heard(started)
			interrupt := func() {
				testenv.Check(t, cmd.Process.Signal(os.Interrupt))
			}
			interrupt()
			note := make([]byte, 200)
			if n, err := told.Read(note); err != nil || !strings.Contains(string(note[:n]), "interrupt again to end them") {
				t.Fatalf("%q, %v", note[:n], err)
			}
			ended := make(chan struct{})
			if c.again {
				go func() { // until long enough after the first
					for tick := time.NewTicker(50 * time.Millisecond); ; {
						select {
						case <-tick.C:
							_ = cmd.Process.Signal(os.Interrupt)
						case <-ended:
							return
						}
					}
				}()
			} else if err := os.WriteFile(release, []byte("go\n"), 0); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, told)
			_ = cmd.Wait()
			close(ended)
			var got runResult
			if err := json.Unmarshal([]byte(out.String()), &got); err != nil || cmd.ProcessState.ExitCode() != c.code {
				t.Fatalf("%v: %s, %s", err, cmd.ProcessState, out.String())
			}
			for status, n := range c.counts {
				if got.Counts[status] != n {
					t.Errorf("%s: %d, want %d", status, got.Counts[status], n)
				}
			}
			if runs(pid) {
				t.Error("its command runs")
			}
		})
	}
}
