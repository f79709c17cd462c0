package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// full returns a step with a value in each field.
func full(id plan.StepID) *plan.Step {
	step := &plan.Step{ID: id, Progress: plan.Progress{Status: plan.Pending}}
	for _, f := range plan.SpecFields() {
		change(f, step, 1)
	}
	return step
}

// change gives a field of a step another value for each n.
func change(f plan.Field[plan.Step], step *plan.Step, n int) {
	text := fmt.Sprint(f.Name, " ", n)
	switch v := f.Pointer(step).(type) {
	case *string:
		*v = text
	case *[]string:
		*v = append(slices.Clone(*v), text)
	case *[]plan.StepID:
		*v = append(slices.Clone(*v), plan.StepID(n))
	case *json.RawMessage:
		*v = fmt.Appendf(nil, `{"n":[%d,90071992547409%d]}`, n, 90+n)
	case *bool:
		*v = n%2 == 1
	case *int:
		*v = n
	case *plan.Risk:
		*v = []plan.Risk{plan.LowRisk, plan.MediumRisk, plan.HighRisk}[n%3]
	case *plan.StepType:
		*v = []plan.StepType{plan.Feature, plan.Bugfix, plan.Chore}[n%3]
	default:
		panic(f.Name)
	}
}

func sheetFor(t testing.TB) *Workspace {
	s := session.New(store.NewMemory(), session.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return &Workspace{Service: verbs.New(s, verbs.Options{Now: func() time.Time { return time.Time{} }})}
}

// seen returns the view of a draft, and apart from it the digest.
func (workspace *Workspace) seen(t *testing.T, p *plan.Plan) (shown, digest string) {
	t.Helper()
	v := workspace.view(plan.State{Draft: p, Phase: plan.PhaseSubmitted, Mode: &plan.Mode{Request: &plan.Request{ID: "R1"}}}, nil)
	digest, v.Draft.Plan.Digest, v.Draft.Plan.Short = v.Draft.Plan.Digest, "", ""
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), digest
}

func drafted(objective, summary string, steps ...*plan.Step) *plan.Plan {
	p := plan.Plan{ID: "p-1", Outline: plan.Outline{Objective: objective, Summary: summary}, Status: plan.StatusDraft, Version: 1}
	p.Steps = plan.NewSteps(steps)
	return &p
}

// TestWhatAnApprovalBindsIsShown: every change of a draft's digest also changes the view of it.
func TestWhatAnApprovalBindsIsShown(t *testing.T) {
	workspace := sheetFor(t)
	others := map[string]*plan.Plan{
		"the objective": drafted("o2", "s", full(1), full(2)), "the summary": drafted("o", "s2", full(1), full(2)),
		"the order": drafted("o", "s", full(2), full(1)), "a step less": drafted("o", "s", full(1)),
		"another id": drafted("o", "s", full(1), full(3)),
	}
	bound := 0
	for _, f := range plan.SpecFields() {
		step := full(2)
		change(f, step, 2)
		if others[f.Name] = drafted("o", "s", full(1), step); f.Binding != plan.Unbound {
			bound++
		}
	}
	if bound < 15 {
		t.Errorf("only %d fields bind: this test looks at none", bound)
	}
	shown, digest := workspace.seen(t, drafted("o", "s", full(1), full(2)))
	if digest != plan.Digest(drafted("o", "s", full(1), full(2))) {
		t.Error("the digest is not that of the draft")
	}
	for what, p := range others {
		nowShown, nowDigest := workspace.seen(t, p)
		if nowDigest == digest && slices.ContainsFunc(plan.SpecFields(), func(f plan.Field[plan.Step]) bool {
			return f.Name == what && f.Binding != plan.Unbound
		}) {
			t.Errorf("%s: another value has the same digest", what)
		}
		if nowShown == shown {
			t.Errorf("review.View does not show a change of %s: add the field to the step or plan in view.go", what)
		}
	}
}

// TestViewChangesNoState: unprintable text is escaped only in the view.
func TestViewChangesNoState(t *testing.T) {
	step := full(1)
	step.Notes, step.Evidence = []string{"\x1b[31mred"}, []plan.Evidence{{Note: "\u202edrowssap"}}
	p := drafted("o", "s", step)
	p.Verdict = &plan.Verdict{Feedback: "\x1b]0;title\a"}
	p.Metadata.Constraints = []string{"\u200bnone"}
	workspace, state := sheetFor(t), plan.State{Plan: p}
	v := workspace.view(state, nil)
	facts, err := workspace.Service.PageFacts(t.Context(), state, p, viewer())
	if v.Situation = facts; err != nil {
		t.Fatal(err)
	}
	safetext.MapTexts(&v, safetext.Escape)
	if got := v.Plan.Steps[0]; got.Notes[0] != `\x1b[31mred` || got.Evidence[0].Note != `\u202edrowssap` ||
		v.Plan.Other[0].Text != `Not approved by . \x1b]0;title\x07` || v.Situation[0].Texts[0] != `\u200bnone` {
		t.Errorf("%+v %+v", got, v.Plan)
	}
	if step.Notes[0] != "\x1b[31mred" || step.Evidence[0].Note != "\u202edrowssap" || p.Verdict.Feedback != "\x1b]0;title\a" ||
		p.Metadata.Constraints[0] != "\u200bnone" {
		t.Error("the state was changed")
	}
}

func plain(n int) *plan.Plan {
	var steps []*plan.Step
	for i := range n {
		step := &plan.Step{ID: plan.StepID(i + 1), Spec: plan.Spec{Title: fmt.Sprint("Move the sessions of shard ", i, " over"),
			Details: "Read what is there, write it to the new store, compare both, and delete nothing.", Risk: plan.MediumRisk,
			RelevantFilePaths: []string{"internal/session/store.go"}, AcceptanceCriteria: []string{"no session is lost"},
			Verify: "go test ./internal/session", Tools: []string{"bash"}}, Progress: plan.Progress{Status: plan.Pending}}
		if i > 0 {
			step.DependsOn = []plan.StepID{plan.StepID(i)}
		}
		steps = append(steps, step)
	}
	return drafted("Move the sessions", "All of them.", steps...)
}

// TestViewIsSmall: a plain step costs less than a KB.
func TestViewIsSmall(t *testing.T) {
	text, err := json.Marshal(sheetFor(t).view(plan.State{Plan: plain(500)}, nil))
	if err != nil || len(text) > 500<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	t.Logf("%d bytes a step", len(text)/500)
}

func BenchmarkView(b *testing.B) {
	workspace, state := sheetFor(b), plan.State{Plan: plain(500)}
	for b.Loop() {
		v := workspace.view(state, nil)
		safetext.MapTexts(&v, safetext.Escape)
		if _, err := json.Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}
