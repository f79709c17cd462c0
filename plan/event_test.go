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

	"github.com/planloop/planloop/plan"
)

// declaring returns the types of the package's own files that have a method of that name.
func declaring(t *testing.T, method string) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
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
		words = append(words, e.Kind())
		if strings.Trim(e.Kind(), "abcdefghijklmnopqrstuvwxyz_") != "" || e.Kind() == "" {
			t.Errorf("the kind %q is no word", e.Kind())
		}
	}
	slices.Sort(listed)
	if want := declaring(t, "Kind"); !slices.Equal(listed, want) {
		t.Errorf("listed are %v, declared %v", listed, want)
	}
	slices.Sort(words)
	if got := slices.Compact(slices.Clone(words)); len(got) != len(words) {
		t.Errorf("a kind is used twice: %v", words)
	}
}

func TestActionsHaveTheirWords(t *testing.T) {
	for word, a := range map[string]plan.Action{
		"set_up_plan": plan.SetUp{}, "add_steps": plan.AddSteps{}, "update_step": plan.UpdateStep{}, "mark_step": plan.MarkStep{},
		"claim_step": plan.ClaimStep{}, "clear_plan": plan.Clear{}, "restore_plan": plan.Restore{},
	} {
		if a.Name() != word {
			t.Errorf("%T is %q, want %q", a, a.Name(), word)
		}
	}
}

// Apply never refuses: an event about what is not there changes nothing.
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
				t.Errorf("%s: %s made %s of %s", name, e.Kind(), got, before)
			}
		}
	}
	for _, e := range []plan.Event{plan.StepsAdded{At: at}, plan.PlanCleared{At: at}, plan.PlanCompleted{At: at}, plan.PlanReopened{At: at},
		plan.PlanAbandonedByItself{At: at}, plan.PlanNeedsReplan{Step: 1, At: at}, plan.PlanFailedForGood{Step: 1, At: at}} {
		if got := plan.Apply(plan.State{}, e); got.Plan != nil {
			t.Errorf("%s made a plan", e.Kind())
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
