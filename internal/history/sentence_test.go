package history

import (
	"reflect"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// Every kind of event has words, except those implied by others.
func TestEveryEventHasWords(t *testing.T) {
	for _, e := range plan.Events() {
		phrase := phraseOf(e)
		switch e.(type) {
		case plan.PlanArchived, plan.StepIDsTaken:
			continue
		}
		if _, list := e.(plan.StepsAdded); list {
			e = plan.StepsAdded{Steps: []*plan.Step{{ID: 1}, {ID: 2}}}
			phrase = phraseOf(e)
		}
		if _, again := e.(plan.StepsRenewed); again {
			e = plan.StepsRenewed{Steps: []plan.StepID{1}}
			phrase = phraseOf(e)
		}
		if phrase == "" {
			t.Errorf("%s has no words", plan.EventKind(e))
		}
		got := Sentence(plan.Record{Actor: plan.Actor{Name: "alice"}, Events: []plan.Event{e}})
		if strings.Contains(got, " by alice") == hasNoActor(e) || strings.Contains(got, noteMark) {
			t.Errorf("%s: %q", plan.EventKind(e), got)
		}
	}
}

func TestSentence(t *testing.T) {
	text, list, failed := "x", []string{}, 1
	for _, c := range []struct {
		events []plan.Event
		want   string
	}{
		{[]plan.Event{plan.StepMarked{Step: 1, Status: plan.Done, Note: "all\ntests pass"}, plan.PlanCompleted{}},
			`S001 marked done by alice: "all tests pass"; the plan is completed`},
		{[]plan.Event{plan.StepMarked{Step: 1, Status: plan.Failed}, plan.PlanNeedsReplan{Step: 1}},
			`S001 marked failed by alice; S001 is critical: the plan must be revised`},
		{[]plan.Event{plan.StepUpdated{Step: 2, Patch: plan.Patch{Title: &text, AcceptanceCriteria: &list}}},
			`S002 edited by alice: title, acceptance criteria`},
		{[]plan.Event{plan.CommentAdded{Text: "mind it"}}, `comment by alice: "mind it"`},
		{[]plan.Event{plan.CommentAdded{ID: "C1", Text: "mind it", Way: plan.WayPerson, About: plan.About{PlanID: "p", Step: 2}}},
			`comment C1 on S002 by alice: "mind it"`},
		{[]plan.Event{plan.CommentAdded{ID: "C2", Text: "why?", Way: plan.WayClient, IsQuestion: true,
			About: plan.About{PlanID: "p", Step: 2}}},
			`C2 asked of the agent on S002 by the user of alice, confirmed through the client: "why?"`},
		{[]plan.Event{plan.CommentReplied{ID: "C2", Text: "so"}}, `C2 replied to by alice: "so"`},
		{[]plan.Event{plan.CommentResolved{ID: "C2", IsResolved: true, Way: plan.WayPerson}}, `C2 marked met by alice`},
		{[]plan.Event{plan.CommentResolved{ID: "C2", Way: plan.WayPerson}}, `C2 marked open again by alice`},
		{[]plan.Event{plan.StepMoved{Step: 3, After: 1}}, `S003 moved after S001 by alice`},
		{[]plan.Event{plan.StepFinished{Step: 1, Attempt: 2, Agent: "claude", Note: "looked", OutOfScopeFiles: []string{"a", "b", "c", "d"},
			Result: plan.Result{OK: true, Duration: 90_000}}, plan.StepStarted{Step: 2, Attempt: 1, Agent: "codex"}},
			`S001 done by the agent "claude" after 1m30s: "looked"; warning: it changed files outside its step: "a", "b", "c" ` +
				`and 1 more; S002: the agent "codex" started`},
		{[]plan.Event{plan.StepFinished{Step: 1, Attempt: 2, Agent: "claude", Result: plan.Result{Error: "2 tests fail", Duration: 3_140}}},
			`S001 (attempt 2) failed with the agent "claude" after 3.1s: "2 tests fail"`},
		{[]plan.Event{plan.StepFinished{Step: 1, Agent: "claude", Blocked: true, Note: "no key"}},
			`S001 reported blocked by the agent "claude": "no key"`},
		{[]plan.Event{plan.AgentUnavailable{Step: 1, Attempt: 1, Agent: "claude", AttemptEnd: plan.AttemptEnd{Error: "log in"}}},
			`S001: the agent "claude" exited at once: "log in"`},
		{[]plan.Event{plan.StepFinished{Step: 1, Attempt: 1, Result: plan.Result{OK: true, Duration: 90_000}}}, `S001 done by alice`},
		{[]plan.Event{plan.StepMoved{Step: 3}}, `S003 moved to the first place by alice`},
		{[]plan.Event{plan.PlanArchived{}, plan.PlanCleared{}}, `the plan cleared by alice`},
		{[]plan.Event{plan.HistoryPurged{Records: 1}}, `the history of 1 change deleted by alice`},
		{[]plan.Event{plan.StepReported{Step: 1, Note: "half way", Output: "…", AffectedFiles: []string{"a", "b"},
			Evidence: []plan.Evidence{{Command: "go test", ExitCode: &failed}, {Criterion: "it runs", Note: "seen"}}}},
			`report on S001 by alice: "half way", "go test" exited with 1, evidence for "it runs", output, 2 files`},
		{[]plan.Event{plan.SignalRaised{Signal: plan.Signal{ID: "tests", Level: plan.Blocker, Step: 2, Message: "3 fail"}}},
			`blocker "tests" raised on S002 by alice: "3 fail"`},
		{[]plan.Event{plan.StepMarked{Step: 1, Status: plan.Failed, Note: "no"}, plan.SignalRaised{Signal: plan.Signal{ID: "x",
			Level: plan.Info, Message: "y"}}},
			`S001 marked failed by alice: "no"; info "x" raised: "y"`},
		{[]plan.Event{plan.SignalCleared{ID: "tests"}}, `signal "tests" cleared by alice`},
		{[]plan.Event{plan.PlanJudged{Verdict: plan.Verdict{Feedback: "split task 2"}}}, `the plan failed review by alice: ` +
			`"split task 2"`},
		{[]plan.Event{plan.PlanJudged{Verdict: plan.Verdict{Approved: true}}}, `the plan passed review by alice`},
		{[]plan.Event{plan.PlanClosed{Summary: "all\nshipped"}}, `the plan closed by alice: "all shipped"`},
		{nil, `mark step by alice`},
	} {
		got := Sentence(plan.Record{Action: "mark_step", Actor: plan.Actor{Name: "alice"}, Events: c.events})
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Every field of a patch is named.
func TestChangedNamesEveryField(t *testing.T) {
	var p plan.Patch
	fields := reflect.ValueOf(&p).Elem()
	for i := range fields.NumField() {
		fields.Field(i).Set(reflect.New(fields.Field(i).Type().Elem()))
	}
	if got := fieldNames(p); len(got) != fields.NumField() {
		t.Errorf("%d of %d fields are named: %q", len(got), fields.NumField(), got)
	}
}
