package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not say %q", text, word)
		}
	}
}

func TestParseStepIDAccepts(t *testing.T) {
	for text, want := range map[string]plan.StepID{
		"S001": 1, "S007": 7, "S999": 999, "S1000": 1000, "S999999": plan.MaxStepID,
		"7": 7, "007": 7, "1000": 1000, "step_7": 7, "step-7": 7, "step_007": 7,
		" S007 ": 7, "\tS007\n": 7, " 7 ": 7, " step_7 ": 7,
		"s007": 7, "s7": 7, "S7": 7, "S07": 7, "S0007": 7, "S01000": 1000, "S 007": 7, "S-07": 7, "#7": 7, "task 7": 7, "Task_7": 7,
		"TASK-7": 7, "Step 7": 7, "step7": 7, "task #7": 7, "step S007": 7, "step_s7": 7,
		"7.": 7, "7)": 7, "S007: Test it": 7, "task 7: Test 8": 7, "#7:": 7,
	} {
		if got, err := plan.ParseStepID(text); err != nil || got != want {
			t.Errorf("ParseStepID(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseStepIDRefuses(t *testing.T) {
	const hint = "such as S001"
	for _, text := range []string{
		"S000", "S0", "0", "000", "s000", "step_0", "", " ", "S", "step_", "task", "#", "-1", "+1", "1.0", "1e1", "0x1", "T001",
		"S001 S002", "S001, S002", "S001-S003", "S1000000", "99999999999999999999", "S٠٠١", "１", "S001\x00", "null",
		"steps 7", "7th", "##7",
	} {
		id, err := plan.ParseStepID(text)
		var refusal *plan.ValidationError
		if !errors.As(err, &refusal) {
			t.Errorf("ParseStepID(%q) = %v, %v; want a refusal", text, id, err)
			continue
		}
		if id != 0 {
			t.Errorf("ParseStepID(%q) refused and returned %v", text, id)
		}
		wantRefusal(t, refusal, plan.InvalidInput, "", "is not a step id", hint)
	}
}

func TestStepIDPrints(t *testing.T) {
	for id, want := range map[plan.StepID]string{1: "S001", 42: "S042", 999: "S999", 1000: "S1000", 12345: "S12345"} {
		if got := id.String(); got != want {
			t.Errorf("StepID(%d) prints %q, want %q", int(id), got, want)
		}
	}
}

func TestStepIDInJSON(t *testing.T) {
	for text, want := range map[string]plan.StepID{`"S002"`: 2, `2`: 2, `"2"`: 2, `"step_2"`: 2, `" S002 "`: 2} {
		var got plan.StepID
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s reads as %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{`0`, `-1`, `1.5`, `"S000"`, `true`, `{}`, `[1]`, `""`} {
		got := plan.StepID(9)
		if err := json.Unmarshal([]byte(text), &got); err == nil || got != 9 {
			t.Errorf("%s reads as %v without an error", text, got)
		}
	}
	data, err := json.Marshal([]plan.StepID{1, 1000})
	if err != nil || string(data) != `["S001","S1000"]` {
		t.Errorf("written as %s, %v", data, err)
	}
}

// Every text that ParseStepID accepts prints in canonical form, which reads back as the same id, as
// text and as JSON.
func FuzzParseStepID(f *testing.F) {
	for _, seed := range []string{"S001", "S1000", "S0001", "s001", "7", "007", "step_7", "step-07", " S002\n", "S000", "0", "S999999",
		"S1000000", "-1", "S\u0661", "\x00", "step_S001", "S+01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := plan.ParseStepID(text)
		if err != nil {
			if id != 0 {
				t.Fatalf("refused %q and returned %v", text, id)
			}
			return
		}
		if id < 1 || id > plan.MaxStepID {
			t.Fatalf("ParseStepID(%q) = %d", text, int(id))
		}
		canonical := id.String()
		if again, err := plan.ParseStepID(canonical); err != nil || again != id || again.String() != canonical {
			t.Fatalf("%q reads as %v, its canonical form %q as %v, %v", text, int(id), canonical, again, err)
		}
		data, err := json.Marshal(id)
		if err != nil || string(data) != `"`+canonical+`"` {
			t.Fatalf("%v is written as %s, %v", id, data, err)
		}
		var read plan.StepID
		if err := json.Unmarshal(data, &read); err != nil || read != id {
			t.Fatalf("%s reads as %v, %v", data, read, err)
		}
	})
}

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
