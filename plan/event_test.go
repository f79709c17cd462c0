package plan_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// declaring returns the types of the package's own files that have a method with that name.
func declaring(t *testing.T, method string) []string {
	t.Helper()
	names := testenv.Must(filepath.Glob("*.go"))(t)
	var types []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := testenv.Must(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv != nil && f.Name.Name == method {
				types = append(types, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(types)
	return types
}

func TestEventsListsEveryKindOnce(t *testing.T) {
	var listed, words []string
	for _, e := range plan.Events() {
		listed = append(listed, reflect.TypeOf(e).Name())
		words = append(words, plan.EventKind(e))
		if strings.Trim(plan.EventKind(e), "abcdefghijklmnopqrstuvwxyz_") != "" || plan.EventKind(e) == "" {
			t.Errorf("the kind %q is no word", plan.EventKind(e))
		}
	}
	slices.Sort(listed)
	if want := declaring(t, "apply"); !slices.Equal(listed, want) {
		t.Errorf("listed are %v, declared %v", listed, want)
	}
	slices.Sort(words)
	if got := slices.Compact(slices.Clone(words)); len(got) != len(words) {
		t.Errorf("a kind is used twice: %v", words)
	}
}

func TestActionsHaveTheirWords(t *testing.T) {
	listed := []string{"Batch"}
	for word, a := range map[string]plan.Action{
		"set_up_plan": plan.SetUp{}, "adopt_host_plan": plan.AdoptHostPlan{}, "add_steps": plan.AddSteps{},
		"update_step": plan.UpdateStep{},
		"move_step":   plan.MoveStep{},
		"mark_step":   plan.MarkStep{}, "claim_step": plan.ClaimStep{}, "report_step": plan.ReportStep{},
		"close_plan": plan.Close{}, "clear_plan": plan.Clear{}, "restore_plan": plan.Restore{},
		"judge_plan": plan.Judge{}, "raise_signal": plan.RaiseSignal{}, "clear_signal": plan.ClearSignal{},
		"enter_plan_mode": plan.EnterMode{}, "submit_plan": plan.SubmitPlan{}, "leave_host_review": plan.LeaveHostReview{},
		"leave_undecided": plan.RecordNoDecision{}, "ask_user": plan.AskUser{}, "end_plan_mode": plan.EndMode{},
		"approve_plan": plan.DecideDraft{Outcome: plan.Approved}, "reject_plan": plan.DecideDraft{Outcome: plan.Rejected},
		"return_plan":      plan.DecideDraft{Outcome: plan.Returned},
		"cancel_plan_mode": plan.CancelMode{}, "answer_question": plan.AnswerQuestion{},
		"begin_run": plan.BeginRun{}, "pause_run": plan.PauseRun{}, "advance": plan.Schedule{}, "answer_step": plan.AnswerStep{},
		"edit_draft": plan.EditDraft{}, "accept_undone": plan.AcceptUndone{}, "end_run": plan.EndRun{},
		"replan": plan.Replan{}, "add_context": plan.AddContext{}, "comment": plan.AddComment{}, "reply_to_comment": plan.ReplyToComment{},
		"meet_comment": plan.ResolveComment{}, "purge": plan.Purge{},
		"withdraw_proposal": plan.WithdrawProposal{}, "expire_plan_mode": plan.ExpireMode{},
		"share_track": plan.ShareTrack{},
	} {
		listed = append(listed, reflect.TypeOf(a).Name())
		if plan.ActionWord(a) != word {
			t.Errorf("%T is %q, want %q", a, plan.ActionWord(a), word)
		}
	}
	slices.Sort(listed)
	listed = slices.Compact(listed)
	if want := declaring(t, "decide"); !slices.Equal(listed, want) {
		t.Errorf("listed are %v, declared %v", listed, want)
	}
}

// Apply never refuses: an event about something that does not exist changes nothing.
func TestApplyOfEventsAboutNothing(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	events := []plan.Event{
		plan.StepMarked{Step: 9, Status: plan.Done, At: at}, plan.StepClaimed{Step: 9, By: "x", At: at},
		plan.StepUpdated{Step: 9, At: at}, plan.StepMarked{}, plan.StepClaimed{Step: -1},
	}
	for name, s := range map[string]plan.State{"empty": {}, "one step": withPlan(t, titled("a")).state} {
		before := written(t, s)
		for _, e := range events {
			if got := written(t, plan.Apply(s, e)); got != before {
				t.Errorf("%s: %s made %s of %s", name, plan.EventKind(e), got, before)
			}
		}
	}
	for _, e := range []plan.Event{plan.StepsAdded{At: at}, plan.PlanCleared{At: at}, plan.PlanCompleted{At: at}, plan.PlanReopened{At: at},
		plan.PlanAbandoned{At: at}, plan.PlanNeedsReplan{Step: 1, At: at}, plan.PlanFailed{Step: 1, At: at}} {
		if got := plan.Apply(plan.State{}, e); got.Plan != nil {
			t.Errorf("%s made a plan", plan.EventKind(e))
		}
	}
}

func TestZeroEventsFold(t *testing.T) {
	for _, s := range []plan.State{{}, withPlan(t, titled("a")).state} {
		for _, e := range plan.Events() {
			after := plan.Apply(s, e)
			written(t, after)
			if after.Plan != nil {
				checkCounts(t, after.Plan.Steps)
			}
		}
	}
}

func TestFoldSetsRevisionAndTime(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s := plan.Fold(plan.State{}, plan.Record{Seq: 7, Time: at})
	if s.Revision != 7 || !s.UpdatedAt.Equal(at) {
		t.Errorf("revision %d at %v", s.Revision, s.UpdatedAt)
	}
}
