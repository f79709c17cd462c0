package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// recorder has a tool that succeeds, one that fails, and one that gives up the run, and notes the values they get.
func recorder(p *place, ran *[]string) []toolbox.Tool {
	note := func(name string, ok bool, then func()) toolbox.Tool {
		return tool(name, func(_ context.Context, args json.RawMessage, _ toolbox.Watch) (toolbox.Outcome, error) {
			var of struct{ Name string }
			_ = json.Unmarshal(args, &of)
			*ran = append(*ran, of.Name)
			then()
			return toolbox.Outcome{OK: ok, Error: "broken", Value: json.RawMessage(`1`)}, nil
		})
	}
	return []toolbox.Tool{note("ok", true, func() {}), note("fail", false, func() {}),
		note("abort", true, func() { p.do(person(), plan.EndRun{}) })}
}

func named(tool, name string, deps ...plan.StepID) plan.Spec {
	return plan.Spec{Title: name, Tool: tool, Args: json.RawMessage(`{"name":"` + name + `"}`), DependsOn: deps}
}

// TestCleanUpOfARun: rollback and clean-up run before the run ends, whatever ends it.
func TestCleanUpOfARun(t *testing.T) {
	rollback, critical, last := named("ok", "rollback"), named("fail", "a"), named("ok", "last")
	rollback.When, critical.Critical, last.Always = `steps.S001.status == "failed"`, true, true
	for name, test := range map[string]struct {
		first plan.Spec
		over  plan.StopReason
		ran   []string
	}{
		"completed": {named("ok", "a"), plan.StopCompleted, []string{"a", "c", "last"}},
		"failed":    {named("fail", "a"), plan.StopFailed, []string{"a", "rollback", "last"}},
		"critical":  {critical, plan.StopFailed, []string{"a", "rollback", "last"}},
		"cancelled": {named("abort", "a"), plan.StopCancelled, []string{"a", "last"}},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			p := newPlace(t, plan.Limits{NeverAsk: true})
			p.tools, p.options.Parallel = recorder(p, &ran), 1
			p.setUp(test.first, rollback, named("ok", "c", 1), last)
			p.run(test.over)
			if !slices.Equal(ran, test.ran) {
				t.Errorf("ran %q, want %q", ran, test.ran)
			}
		})
	}
}

// TestRunOfSomeSteps: an engine carries out only the steps it was told to, and leaves when they have ended.
func TestRunOfSomeSteps(t *testing.T) {
	var ran []string
	p := newPlace(t, plan.Limits{NeverAsk: true})
	p.tools = recorder(p, &ran)
	last := named("ok", "last")
	last.Always = true
	p.setUp(named("ok", "a"), named("ok", "b"), named("fail", "c", 2), last)
	over, err := p.begin(t.Context(), engine.RunOptions{Only: []plan.StepID{2}, Parallel: 1})
	if err != nil || over != plan.StopPaused || !slices.Equal(ran, []string{"b"}) || !p.state().OpenRun().IsPaused {
		t.Fatalf("over %q, %v, ran %q, %+v", over, err, ran, p.state().OpenRun())
	}
	if over, err := p.begin(t.Context(), engine.RunOptions{Only: []plan.StepID{3}}); err != nil || over != plan.StopFailed {
		t.Errorf("over %q, %v", over, err)
	}
	p.run(plan.StopFailed)
	if !slices.Equal(ran, []string{"b", "c", "a", "last"}) {
		t.Errorf("ran %q", ran)
	}
}
