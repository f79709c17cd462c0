package plan_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// TestIDsAreGivenOutOnce: whatever happens to a change, a draft or a version, an id names one step
// in all forms of a plan. No title is used twice or changed, so a title identifies the step.
func TestIDsAreGivenOutOnce(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		m := minter{workspace: newWorkspace(t), given: map[string]map[plan.StepID]string{}}
		m.limits = plan.Limits{MaxReplans: 100}
		m.found = func(_ *plan.Step, r *plan.Resolution) {
			r.Items = []json.RawMessage{json.RawMessage(`1`), json.RawMessage(`2`)}
		}
		m.do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship it"}, Steps: m.news(t)})
		m.do(person, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(m.state.Draft)})
		for range rapid.IntRange(1, 30).Draw(t, "actions") {
			m.now = m.now.Add(rapid.SampledFrom([]time.Duration{0, time.Minute, time.Minute, 2 * time.Hour}).Draw(t, "wait"))
			actor := rapid.SampledFrom([]plan.Actor{ann, ann, person, engine}).Draw(t, "actor")
			a := m.draw(t)
			if actor == engine {
				a = m.resolve(plan.Schedule{MaxStarts: 3})
			}
			_, _ = m.try(actor, a) // a refusal changes nothing: TestLaws
			m.check(t)
		}
	})
}

// minter is a workspace of steps with unique titles.
type minter struct {
	*workspace
	titles int
	given  map[string]map[plan.StepID]string // titles by the plan's root and the step's id
}

func (m *minter) news(t *rapid.T) []plan.NewStep {
	steps := make([]plan.NewStep, rapid.IntRange(1, 3).Draw(t, "size"))
	for i := range steps {
		m.titles++
		steps[i] = titled(fmt.Sprint("step ", m.titles))
		if rapid.IntRange(0, 3).Draw(t, "loop") == 0 {
			steps[i].ForEach, steps[i].Tool, steps[i].Args = "*.txt", "view", json.RawMessage(`{}`)
		}
	}
	return steps
}

func (m *minter) draw(t *rapid.T) plan.Action {
	known := func(p *plan.Plan) plan.StepID {
		if p == nil || p.Steps.Len() == 0 {
			return 1
		}
		return rapid.SampledFrom(stepIDs(p.Steps)).Draw(t, "step")
	}
	add := plan.AddSteps{Steps: m.news(t)}
	edit := plan.EditDraft{}
	if m.state.Draft != nil {
		edit.Digest = plan.Digest(m.state.Draft)
	}
	outcome := func(o plan.Outcome) plan.Action {
		return plan.DecideDraft{Outcome: o, Digest: edit.Digest, Comment: "so"}
	}
	switch rapid.SampledFrom([]string{"add", "add", "add", "split", "replan", "draft add", "draft add", "draft remove", "approve", "reject",
		"reject", "return", "submit", "cancel", "mode", "restore", "restore", "clear", "set up", "run", "fail", "insert", "adopt",
	}).Draw(t, "action") {
	case "split":
		add.Steps[0].Splits = known(m.state.Plan)
	case "replan":
		return plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.Replan{Changes: "another way"}}, {Action: add}}}
	case "draft add":
		edit.Change, edit.After = add, new(known(m.state.Draft))
		return edit
	case "draft remove":
		edit.Remove = known(m.state.Draft)
		return edit
	case "approve":
		return outcome(plan.Approved)
	case "reject":
		return outcome(plan.Rejected)
	case "return":
		return outcome(plan.Returned)
	case "submit":
		return plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship it"}, Steps: add.Steps}
	case "cancel":
		return plan.CancelMode{}
	case "mode":
		return plan.EnterMode{Task: "Ship it"}
	case "restore":
		return plan.Restore{PlanID: drawPlanID(t, m.workspace)}
	case "clear":
		return plan.Clear{}
	case "set up":
		return plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: add.Steps, Draft: rapid.Bool().Draw(t, "draft")}
	case "run":
		return plan.BeginRun{}
	case "fail":
		return plan.MarkStep{Step: known(m.state.Plan), Status: plan.Failed}
	case "insert":
		return plan.AnswerStep{Step: known(m.state.Plan), Choice: plan.Insert, Steps: add.Steps}
	case "adopt":
		return plan.AdoptHostPlan{Outline: plan.Outline{Objective: "Ship it"}, Steps: add.Steps, Host: "codex", Session: "1"}
	}
	return add
}

func (m *minter) check(t *rapid.T) {
	for _, p := range []*plan.Plan{m.state.Plan, m.state.Draft} {
		if p == nil {
			continue
		}
		given := m.given[p.Root()]
		if given == nil {
			given = map[plan.StepID]string{}
			m.given[p.Root()] = given
		}
		for step := range p.Steps.All() {
			if was := given[step.ID]; was != "" && was != step.Title {
				t.Fatalf("%s of %s was %q and is %q: %v", step.ID, p.Root(), was, step.Title, m.kinds())
			}
			given[step.ID] = step.Title
		}
	}
}

// kinds lists the events, for a failure message.
func (m *minter) kinds() (all []string) {
	for _, r := range m.log {
		all = append(all, fmt.Sprint(r.Action, " ", kinds(r.Events)))
	}
	return all
}
