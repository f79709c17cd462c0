package verbs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// ungated returns a service without gates for submissions.
func ungated() *verbs.Service {
	return verbs.New(session.New(store.NewMemory(), session.Options{}), verbs.Options{Gates: func(string) gates.Level { return gates.Off }})
}

// called calls a tool with arguments as JSON.
func called[Out any](t fatal, s *verbs.Service, tool, arguments string) Out {
	t.Helper()
	i := slices.IndexFunc(verbs.Table(), func(row verbs.Row) bool { return row.Name == tool })
	reply := must[verbs.Reply](t)(verbs.Table()[i].Call(context.Background(), s, ann, []byte(arguments)))
	out, ok := any(reply).(Out)
	if !ok {
		t.Fatalf("%s answers with a %T", tool, reply)
	}
	return out
}

// draftOf reads the draft page by page from the text of the replies.
func draftOf(t fatal, s *verbs.Service, count func(fatal, verbs.Reply) (text, structured int)) string {
	t.Helper()
	var whole verbs.SubmitPlan
	for arguments := `{"of":"draft"}`; ; {
		reply := called[verbs.ReadPlanReply](t, s, "planning_read_plan", arguments)
		if text, structured := count(t, reply); len(reply.Draft.Steps) > 1 && (text > 4_000 || structured > 4_000) {
			t.Fatalf("a page costs %d tokens of text and %d of structured content", text, structured)
		}
		var page verbs.SubmitPlan
		begin := strings.Index(reply.Text(), "\n{")
		if err := json.NewDecoder(strings.NewReader(reply.Text()[begin:])).Decode(&page); err != nil {
			t.Fatalf("the text holds no draft: %v\n%s", err, reply.Text())
		}
		if diff := cmp.Diff(*reply.Draft, page); diff != "" {
			t.Fatalf("text and structured content differ:\n%s", diff)
		}
		page.Steps = append(whole.Steps, page.Steps...)
		if whole.Summary == "" {
			whole = page
		}
		whole.Steps = page.Steps
		_, next, more := strings.Cut(reply.Rest, ": planning_read_plan ")
		if !more {
			return string(must[[]byte](t)(json.Marshal(whole)))
		}
		arguments = next
	}
}

func digest(t fatal, s *verbs.Service) string {
	t.Helper()
	return plan.Digest(must[plan.State](t)(s.State(context.Background())).Draft)
}

// TestDraftCanBeSentAgain: a draft submitted as it was read is the same plan, while it waits and after changes were
// requested.
func TestDraftCanBeSentAgain(t *testing.T) {
	count := counted(t)
	rapidtest.Check(t, func(t *rapid.T) {
		s, ctx := ungated(), context.Background()
		must[verbs.ModeReply](t)(s.EnterPlanMode(ctx, ann, verbs.EnterPlanMode{Reason: "it touches everything"}))
		in := verbs.SubmitPlan{Summary: written(t, "summary", plan.MaxSummary), Questions: lines(t, "question", 100)}
		if findings := written(t, "findings", 2_000); rapid.Bool().Draw(t, "found") {
			in.Findings = []string{findings}
		}
		for i := range rapid.IntRange(1, 8).Draw(t, "steps") {
			in.Steps = append(in.Steps, anySubmitted(t, i))
		}
		sent := string(must[[]byte](t)(json.Marshal(in)))
		called[verbs.SubmitPlanReply](t, s, "planning_submit_plan", sent)
		before := digest(t, s)
		if text := resume(t, s, ann); !strings.Contains(text, `: planning_read_plan {"of":"draft"}`) {
			t.Errorf("the way to the draft is not told:\n%s", text)
		}
		again := draftOf(t, s, count)
		if rapid.Bool().Draw(t, "returned") {
			returned := plan.DecideDraft{Outcome: plan.Returned, Digest: before, Comment: "smaller steps"}
			must[verbs.DecisionReply](t)(s.Decide(ctx, person, returned))
			reply := called[verbs.ReadPlanReply](t, s, "planning_read_plan", `{"of":"draft"}`)
			if !strings.Contains(reply.Message, "smaller steps") {
				t.Errorf("the comment is not told: %s", reply.Message)
			}
			again = draftOf(t, s, count)
		}
		called[verbs.SubmitPlanReply](t, s, "planning_submit_plan", again)
		if after := digest(t, s); after != before {
			t.Errorf("another plan came of it:\n%s\n%s", sent, again)
		}
	})
}

// TestAStepIsPutInFrontOfADraft: the other steps keep their dependencies.
func TestAStepIsPutInFrontOfADraft(t *testing.T) {
	s, ctx := ungated(), context.Background()
	must[verbs.ModeReply](t)(s.EnterPlanMode(ctx, ann, verbs.EnterPlanMode{Reason: "it touches everything"}))
	called[verbs.SubmitPlanReply](t, s, "planning_submit_plan",
		`{"summary":"Move","steps":[{"title":"Read"},{"title":"Write","ref":"w"},{"title":"Test","dependencies":["w",1]}]}`)
	draft := *called[verbs.ReadPlanReply](t, s, "planning_read_plan", `{"of":"draft"}`).Draft
	draft.Steps = slices.Insert(draft.Steps, 0, verbs.SubmittedStep{TaskFields: verbs.TaskFields{Title: new("Ask")}})
	called[verbs.SubmitPlanReply](t, s, "planning_submit_plan", string(must[[]byte](t)(json.Marshal(draft))))
	state := must[plan.State](t)(s.State(ctx))
	if test, _ := state.Draft.Steps.Get(4); !slices.Equal(test.DependsOn, []plan.StepID{3, 2}) {
		t.Errorf("%s depends on %v", test.Title, test.DependsOn)
	}
}

func anySubmitted(t *rapid.T, i int) verbs.SubmittedStep {
	drawn := anyStep(t, i, plan.Pending).Spec
	drawn.Tool, drawn.Args, drawn.Critical = "bash", json.RawMessage(`{"command":"go test ./... && echo <ok>"}`), i%2 == 0
	deps := drawn.DependsOn
	drawn.DependsOn = nil
	step := verbs.SubmittedStep{TaskFields: verbs.TaskFields(plan.NewPatch(drawn, plan.SpecFields()))}
	if len(deps) > 0 {
		step.Dependencies = &[]verbs.TaskRef{}
	}
	for _, id := range deps {
		*step.Dependencies = append(*step.Dependencies, verbs.TaskRef(id.Number()))
	}
	return step
}

// TestApprovedPlanIsReadWhole: it has the approver and all of every step, page by page.
func TestApprovedPlanIsReadWhole(t *testing.T) {
	s, ctx := ungated(), t.Context()
	must[verbs.ModeReply](t)(s.EnterPlanMode(ctx, ann, verbs.EnterPlanMode{Reason: "it touches everything"}))
	in := verbs.SubmitPlan{Summary: "Move sessions."}
	for i := range 40 {
		title, verify := fmt.Sprintf("Step number %d", i+1), fmt.Sprintf("go test -run Test%02d", i+1)
		fields := verbs.TaskFields{Title: &title, Verify: &verify, ContextHints: &[]string{strings.Repeat("Read it. ", 40)}}
		in.Steps = append(in.Steps, verbs.SubmittedStep{TaskFields: fields})
	}
	long := strings.TrimSpace(strings.Repeat("All of it counts. ", 600))
	in.Steps[0].Details, in.Steps[20].Details = &long, &long
	in.Constraints, in.Reasoning, in.Findings = []string{"No new tables"}, new(long), []string{long + " Found."}
	must[verbs.SubmitPlanReply](t)(s.SubmitPlan(ctx, ann, in))
	must[verbs.DecisionReply](t)(s.Decide(ctx, person, plan.DecideDraft{Outcome: plan.Approved, Digest: digest(t, s)}))
	seen := 0
	for arguments := `{"of":"approved"}`; ; {
		reply := called[verbs.ReadPlanReply](t, s, "planning_read_plan", arguments)
		if !strings.Contains(reply.Text(), "approved by pat") {
			t.Errorf("who approved is not told: %s", reply.Text())
		}
		for _, want := range []string{"Constraint: No new tables\n", "Reasoning: " + long + "\n", "Findings: " + long + " Found.\n"} {
			if seen == 0 && !strings.Contains(reply.Text(), want) {
				t.Errorf("the first page does not have %s: %s", want, reply.Text())
			}
		}
		for _, task := range reply.Approved.Tasks {
			seen++
			if task.Verify != fmt.Sprintf("go test -run Test%02d", seen) || !strings.Contains(reply.Text(), task.Verify) {
				t.Errorf("step %d: %+v\n%s", seen, task, reply.Text())
			}
			if (seen == 1 || seen == 21) && (task.Details != long || !strings.Contains(reply.Text(), "Details: "+long+"\n")) {
				t.Errorf("step %d is shortened: %+v", seen, task)
			}
		}
		_, next, more := strings.Cut(reply.Rest, ": planning_read_plan ")
		if !more {
			break
		}
		arguments = next
	}
	if seen != 40 {
		t.Errorf("%d steps are shown, want 40", seen)
	}
}

// TestPagesKeepDetailsAndNotes, with a filter and on later pages.
func TestPagesKeepDetailsAndNotes(t *testing.T) {
	s := service(time.Now, nil)
	var steps []plan.NewStep
	for i := range 30 {
		steps = append(steps, plan.NewStep{Spec: plan.Spec{Title: fmt.Sprintf("Step %d", i+1), Details: fmt.Sprintf("details-%d", i+1)},
			Progress: plan.Progress{Notes: []string{fmt.Sprintf("note-%d", i+1)}}})
	}
	must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: steps}))
	pending, twenty := resources.Filter(plan.Pending), plan.StepID(20)
	for name, in := range map[string]verbs.ReadPlan{"all": {}, "filtered": {Status: &pending}, "read on": {From: &twenty}} {
		reply := must[verbs.ReadPlanReply](t)(s.ReadPlan(t.Context(), ann, in))
		for _, step := range reply.Steps {
			id := strings.TrimLeft(step.StepID, "S0")
			if step.Details != "details-"+id || len(step.Notes) != 1 || !strings.Contains(reply.Text(), "note-"+id+"\n") {
				t.Errorf("%s: %+v", name, step)
			}
		}
	}
}

// TestPlanThatIsNotThere is refused with a next action.
func TestPlanThatIsNotThere(t *testing.T) {
	s := service(time.Now, nil)
	draft, approved, done := verbs.DraftPlan, verbs.ApprovedPlanOnly, resources.Filter(plan.Done)
	for _, in := range []verbs.ReadPlan{{}, {Of: &draft}, {Of: &approved}, {Of: &draft, Status: &done}} {
		_, err := s.ReadPlan(t.Context(), ann, in)
		if refused, ok := errors.AsType[*plan.ValidationError](err); !ok || refused.Fix == "" {
			t.Errorf("%+v: %v", in, err)
		}
	}
}
