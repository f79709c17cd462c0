package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// running writes the file of a running step.
func running(t *testing.T, state, name string, one engine.RunningStep) {
	t.Helper()
	data := testenv.Must(json.Marshal(one))(t)
	folder := filepath.Join(state, "running")
	testenv.Check(t, os.MkdirAll(folder, 0o700))
	testenv.Check(t, os.WriteFile(filepath.Join(folder, name+".json"), data, 0o600))
}

// started returns the identity of this process, as for a started one.
func started(t *testing.T) process.Identity {
	t.Helper()
	var id process.Identity
	launcher := &process.Launcher{}
	options := process.Options{Timeout: 1e10, Started: func(of process.Identity) { id = of }}
	testenv.Must(launcher.Run(t.Context(), process.ShellCommand("true"), options))(t)
	own := process.Ancestors()
	if len(own) == 0 {
		t.Skip("this system does not tell of processes")
	}
	id.Pid, id.Start = own[0].PID, strconv.FormatInt(own[0].Started, 10)
	return id
}

func TestFindWorker(t *testing.T) {
	state := t.TempDir()
	asked := 0
	chain := func() []process.Ancestor { asked++; return process.Ancestors() }
	none := func(environment string) {
		t.Helper()
		if w, is := engine.FindWorker([]string{t.TempDir(), state}, environment, chain); is || asked > 0 {
			t.Errorf("%+v, and the processes above were looked at %d times", w, asked)
		}
	}
	none("")
	tool := started(t)
	running(t, state, "X1-S001-1", engine.RunningStep{Run: "X1", Step: 1, Attempt: 1, Plan: "p-1", Process: &tool})
	none("") // a command run by a tool belongs to no agent

	scope := plan.Attempt{Plan: "p-1", Step: 3, Attempt: 2}
	facts := engine.RunningStep{Run: "X1", Step: 3, Attempt: 2, Plan: "p-1", Agent: "claude", Nonce: "K7QM"}
	running(t, state, "X1-S003-2", facts)
	over := func(step plan.StepID, attempt int) *engine.Worker {
		return &engine.Worker{Agent: "agent", Scope: plan.Attempt{Step: step, Attempt: attempt}}
	}
	for environment, want := range map[string]*engine.Worker{
		"": nil, "X1/S003/2/K7QM": {Agent: "claude", Scope: scope},
		"X1/S003/2/K7QN": over(3, 2), "X1/S003/1/K7QM": over(3, 1), "X2/S003/2/K7QM": over(3, 2), "X1/S003/2/": over(3, 2),
		"X1/S003/-7/K": over(3, 1), "X1/S003/2": over(0, 1), "x": over(0, 1), "a/b/c/d": over(0, 1),
	} {
		got, is := engine.FindWorker([]string{t.TempDir(), state}, environment, chain)
		if is != (want != nil) || is && got != *want {
			t.Errorf("%q: %+v, %v", environment, got, is)
		}
	}

	for name, test := range map[string]struct {
		change func(*process.Identity)
		is     bool
	}{
		"what was started":          {func(*process.Identity) {}, true},
		"another began as that pid": {func(id *process.Identity) { id.Start += "1" }, false},
		"another process":           {func(id *process.Identity) { id.Pid = 1 << 30 }, false},
		"another system":            {func(id *process.Identity) { id.World += "x" }, false},
	} {
		id := tool
		test.change(&id)
		facts.Process = &id
		running(t, state, "X1-S003-2", facts)
		for _, environment := range []string{"", "X9/S009/9/forged"} {
			got, is := engine.FindWorker([]string{t.TempDir(), state}, environment, process.Ancestors)
			if inside := is && got == (engine.Worker{Agent: "claude", Scope: scope}); inside != test.is {
				t.Errorf("%s, with %q: %+v, %v", name, environment, got, is)
			}
		}
	}
}
