package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// flaky returns a tool that is safe to repeat and fails with an exit code so many times; at has the times of its calls.
func flaky(name string, code, failures int, at *[]time.Time) toolbox.Tool {
	made := tool(name, func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
		*at = append(*at, time.Now())
		if len(*at) <= failures {
			return toolbox.Outcome{Error: "no", ExitCode: code}, nil
		}
		return toolbox.Outcome{OK: true, Value: json.RawMessage(`1`)}, nil
	})
	made.Idempotent = true
	return made
}

// TestRetryOfAStep: a step waits longer after each failure, a little more than asked, while others run.
func TestRetryOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []time.Time
		p := newPlace(t, plan.Limits{NeverAsk: true}, flaky("flaky", 7, 3, &calls), echo())
		p.setUp(plan.Spec{Tool: "flaky", Retry: json.RawMessage(`{"attempts":4,"wait":"10s","on":[7]}`)},
			plan.Spec{Tool: "echo"}, plan.Spec{Tool: "echo", DependsOn: []plan.StepID{2}})
		p.options.Parallel = 1
		p.run(plan.StopCompleted)
		if len(calls) != 4 {
			t.Fatalf("%d calls", len(calls))
		}
		for i, least := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			if waited := calls[i+1].Sub(calls[i]); waited < least || waited > least+least/5+time.Second {
				t.Errorf("it waited %s, want about %s", waited, least)
			}
		}
		if ended := p.step(3).CompletedAt; ended.After(calls[1]) {
			t.Error("others waited for the retry")
		}
		_ = p.session.Close()
	})
}

// TestNoRetryOfAStepThatIsNotSafe: the engine heeds no policy then.
func TestNoRetryOfAStepThatIsNotSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []time.Time
		unsafe := flaky("unsafe", 7, 3, &calls)
		unsafe.Idempotent = false
		p := newPlace(t, plan.Limits{NeverAsk: true}, unsafe)
		p.setUp(plan.Spec{Tool: "unsafe", Retry: json.RawMessage(`{"attempts":4}`)})
		p.run(plan.StopFailed)
		if len(calls) != 1 || p.step(1).Status != plan.Failed {
			t.Errorf("%d calls, %+v", len(calls), p.step(1))
		}
		_ = p.session.Close()
	})
}

// slowRunner runs a command for a time, up to its limit.
type slowRunner time.Duration

func (s slowRunner) Run(_ context.Context, c toolbox.Command) (toolbox.RunResult, error) {
	time.Sleep(min(time.Duration(s), c.Timeout))
	return toolbox.RunResult{TimedOut: c.Timeout < time.Duration(s), Duration: min(time.Duration(s), c.Timeout)}, nil
}

// TestLongBuild: a build of five minutes and its verification of five more end done, and a step's own time-out wins.
func TestLongBuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := testenv.Must(toolbox.Open(t.TempDir(), toolbox.Options{Runner: slowRunner(5 * time.Minute)}))(t)
		defer box.Close()
		bash, _ := box.Tools().Lookup("bash_execute")
		p := newPlace(t, plan.Limits{NeverAsk: true}, bash)
		build := plan.Spec{Tool: "bash_execute", Args: json.RawMessage(`{"command":"make"}`), Verify: "make test"}
		short := build
		short.Timeout = 60
		p.setUp(build, short)
		p.run(plan.StopWaitingForPerson)
		if step := p.step(1); step.Status != plan.Done || step.Result.Duration != (10*time.Minute).Milliseconds() {
			t.Errorf("%s, %q, %+v", step.Status, step.Error, step.Result)
		}
		if step := p.step(2); !step.IsUnknown() {
			t.Errorf("%s, %q", step.Status, step.Error)
		}
		_ = p.session.Close()
	})
}

// TestOutputFile: the text of the file is the value, also of a command with a long output; a file that cannot be read
// fails the step.
func TestOutputFile(t *testing.T) {
	dir := t.TempDir()
	testenv.Check(t, os.WriteFile(filepath.Join(dir, "report.json"), []byte("{\"n\":7}\n"), 0o600))
	testenv.Check(t, os.WriteFile(filepath.Join(dir, "large.json"), make([]byte, 3<<20), 0o600))
	box := testenv.Must(toolbox.Open(dir, toolbox.Options{Runner: chatty{}}))(t)
	defer box.Close()
	var tools []toolbox.Tool
	for _, name := range []string{"bash_execute", "read_file"} {
		one, _ := box.Tools().Lookup(name)
		tools = append(tools, one)
	}
	p := newPlace(t, plan.Limits{NeverAsk: true}, append(tools, echo())...)
	command := plan.Spec{Tool: "bash_execute", Args: json.RawMessage(`{"command":"make"}`)}
	with, missing, large := command, command, command
	with.OutputFile, missing.OutputFile, large.OutputFile = "report.json", "nope.json", "large.json"
	p.setUp(with, missing, command, plan.Spec{Tool: "echo", DependsOn: []plan.StepID{1},
		Args: json.RawMessage(`{"text":"$S001","n":"$S001.json.n"}`), When: "steps.S001.json.n == 7"}, large)
	p.run(plan.StopFailed)
	if step := p.step(1); step.Status != plan.Done || string(step.Result.Value) != `"{\"n\":7}\n"` {
		t.Errorf("%s, %+v", step.Status, step.Result)
	}
	if step := p.step(2); step.Status != plan.Failed || !strings.Contains(step.Error, "its output file cannot be read: ") {
		t.Errorf("%s, %q", step.Status, step.Error)
	}
	if step := p.step(3); step.Status != plan.Failed ||
		!strings.Contains(step.Error, "longer than 4096 KB, the limit of a value; write it to a file that the next step reads") {
		t.Errorf("%s, %q", step.Status, step.Error)
	}
	if step := p.step(5); step.Status != plan.Failed || !strings.Contains(step.Error, "2048 KB; use a command that reads or changes it") {
		t.Errorf("%s, %q", step.Status, step.Error)
	}
	if step := p.step(4); step.Status != plan.Done || string(step.Result.Value) != `{"text":"{\"n\":7}\n","n":7}` {
		t.Errorf("%s, %q, %+v", step.Status, step.Error, step.Result)
	}
}

// chatty prints more than a value may have.
type chatty struct{}

func (chatty) Run(_ context.Context, c toolbox.Command) (toolbox.RunResult, error) {
	for range 5 {
		_, _ = c.Stdout.Write(make([]byte, 1<<20))
	}
	return toolbox.RunResult{}, nil
}

// TestLockOfSteps: steps with the same lock never run at once, in one track or in several, and do not hold others up.
func TestLockOfSteps(t *testing.T) {
	shared := t.TempDir()
	var mu sync.Mutex
	inside, most, calls := 0, 0, 0
	enter := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		if inside += by; by > 0 {
			calls++
			most = max(most, inside)
		}
	}
	otherRan := make(chan struct{}, 2)
	guarded := tool("guarded", func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
		enter(1)
		defer enter(-1)
		<-otherRan // a step without the lock, after those that wait for it
		return toolbox.Outcome{OK: true}, nil
	})
	free := tool("free", func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
		for range 3 { // of this track
			otherRan <- struct{}{}
		}
		return toolbox.Outcome{OK: true}, nil
	})
	var runs sync.WaitGroup
	for range 2 {
		p := newPlace(t, plan.Limits{NeverAsk: true}, guarded, free)
		p.options.StateDir, p.options.Shared, p.options.Parallel = t.TempDir(), shared, 2
		locked := plan.Spec{Tool: "guarded", Lock: "db"}
		p.setUp(locked, locked, locked, plan.Spec{Tool: "free"})
		runs.Go(func() {
			if over, err := p.begin(t.Context(), engine.RunOptions{}); over != plan.StopCompleted || err != nil {
				t.Errorf("over: %q, %v", over, err)
			}
		})
	}
	runs.Wait()
	if most != 1 || calls != 6 {
		t.Errorf("%d calls, %d at once", calls, most)
	}
}
