package verbs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// TestPagesShowEveryStepOnce walks the pages of random plans: each matching step is shown once in order, as text and as
// structured content, or it is folded; steps shown first in addition are marked as such.
func TestPagesShowEveryStepOnce(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		s, ctx := ungated(), context.Background()
		steps := rapid.SliceOfN(rapid.Custom(pagedStep), 1, 60).Draw(t, "steps")
		steps = append(steps, plan.NewStep{Spec: plan.Spec{Title: "Close"}}) // with work left, steps can be moved
		must[verbs.SetupPlanReply](t)(s.SetUp(ctx, ann, plan.SetUp{Outline: plan.Outline{Objective: line(t, "goal", 240)}, Steps: steps}))
		for range rapid.IntRange(0, 5).Draw(t, "moves") {
			one := rapid.IntRange(1, len(steps))
			if id, after := one.Draw(t, "moved"), one.Draw(t, "after"); id != after {
				called[verbs.UpdateReply](t, s, "planloop_update", fmt.Sprintf(`{"update_tasks":[{"id":%d,"after":%d}]}`, id, after))
			}
		}
		state := must[plan.State](t)(s.State(ctx))
		input := map[string]any{}
		if filter := rapid.SampledFrom(append(resources.Filter("").Values(), "")).Draw(t, "filter"); filter != "" {
			input["status"] = filter
		}
		if rapid.IntRange(0, 3).Draw(t, "read on") == 0 {
			input["from"] = rapid.IntRange(1, len(steps)).Draw(t, "from")
		}
		whole := len(steps) <= 15 || len(input) > 0
		var want []string
		for step := range state.Plan.Steps.All() {
			if matches(state.Plan, step, input) && (whole || !step.Status.IsFinished()) {
				want = append(want, step.ID.String())
			}
		}
		shown, folded := walkPages(t, s, input)
		if !slices.Equal(shown, want) {
			t.Errorf("%v shows %v, want %v", input, shown, want)
		}
		if finished := state.Plan.Steps.FinishedCount(); !whole && folded != finished {
			t.Errorf("%d steps are folded, %d are finished", folded, finished)
		}
	})
}

func pagedStep(t *rapid.T) plan.NewStep {
	status := rapid.SampledFrom([]plan.StepStatus{plan.Pending, plan.InProgress, plan.Blocked, plan.Done, plan.Skipped, plan.Failed})
	long := func(label string) string {
		return strings.TrimSpace(strings.Repeat("Mind the clock. ", rapid.SampledFrom([]int{0, 5, 60}).Draw(t, label)))
	}
	step := plan.NewStep{Spec: plan.Spec{Title: line(t, "title", 160), Details: long("details")},
		Progress: plan.Progress{Status: status.Draw(t, "status")}}
	for range rapid.IntRange(0, 3).Draw(t, "notes") {
		step.Notes = append(step.Notes, "Noted. "+long("note"))
	}
	return step
}

func matches(p *plan.Plan, step *plan.Step, input map[string]any) bool {
	if from, ok := input["from"].(int); ok && p.Steps.Position(step.ID) < p.Steps.Position(plan.StepID(from)) {
		return false
	}
	switch status, _ := input["status"].(string); status {
	case "":
		return true
	case "open":
		return !step.Status.IsFinished()
	case "ready":
		return p.Steps.IsReady(step.ID)
	default:
		return string(step.Status) == status
	}
}

var (
	shownLine = regexp.MustCompile(`(?m)^(S\d{3,}) [a-z_]+( \(.*?\))?: `)
	foldedRun = regexp.MustCompile(`S(\d+)(?:-S(\d+))? (?:done|skipped|cancelled)|(\d+) more finished`)
)

// walkPages reads all pages, and returns the steps shown in order and the number of folded ones.
func walkPages(t fatal, s *verbs.Service, input map[string]any) (shown []string, folded int) {
	t.Helper()
	for pages := 0; ; pages++ {
		if pages > 100 {
			t.Fatalf("the pages do not end")
		}
		reply := called[verbs.ReadPlanReply](t, s, "planning_read_plan", string(must[[]byte](t)(json.Marshal(input))))
		var structured, text []string
		for _, step := range reply.Steps {
			structured = append(structured, step.StepID)
		}
		for _, match := range shownLine.FindAllStringSubmatch(reply.Text(), -1) {
			text = append(text, match[1])
		}
		if !slices.Equal(structured, text) {
			t.Fatalf("structured content shows %v, text %v:\n%s", structured, text, reply.Text())
		}
		for _, step := range reply.Now {
			if !strings.Contains(reply.Text(), "\nnow: "+step.StepID) || slices.Contains(structured, step.StepID) {
				t.Fatalf("%s comes first and is not told so, or is shown twice:\n%s", step.StepID, reply.Text())
			}
		}
		shown, folded = append(shown, structured...), folded+countFolded(strings.Join(reply.Folded, ", "))
		if reply.More.Left == 0 {
			return shown, folded
		}
		input = map[string]any{"from": reply.More.From}
		if reply.More.Status != "" {
			input["status"] = reply.More.Status
		}
	}
}

func countFolded(text string) (n int) {
	for _, run := range foldedRun.FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(run[1])
		last, _ := strconv.Atoi(run[2])
		rest, _ := strconv.Atoi(run[3])
		switch {
		case rest > 0:
			n += rest
		case last > 0:
			n += last - first + 1
		default:
			n++
		}
	}
	return n
}

// TestPagesOfWhatWasAgreed: the draft and the approved plan are read whole, too.
func TestPagesOfWhatWasAgreed(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		s, ctx := ungated(), context.Background()
		must[verbs.ModeReply](t)(s.EnterPlanMode(ctx, ann, verbs.EnterPlanMode{Reason: "it touches everything"}))
		in := verbs.SubmitPlan{Summary: line(t, "summary", 500)}
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			title, details := fmt.Sprintf("Step number %d", i+1), written(t, "details", 3_000)
			in.Steps = append(in.Steps, verbs.SubmittedStep{TaskFields: verbs.TaskFields{Title: &title, Details: &details}})
		}
		must[verbs.SubmitPlanReply](t)(s.SubmitPlan(ctx, ann, in))
		for _, of := range []verbs.WhichPlan{verbs.DraftPlan, verbs.ApprovedPlanOnly} {
			if of == verbs.ApprovedPlanOnly {
				must[verbs.DecisionReply](t)(s.Decide(ctx, person, plan.DecideDraft{Outcome: plan.Approved, Digest: digest(t, s)}))
			}
			if got, want := walkAgreed(t, s, of), len(in.Steps); got != want {
				t.Errorf("%s: %d steps are shown, want %d", of, got, want)
			}
		}
	})
}

// walkAgreed counts the steps shown in order, by their numbered titles.
func walkAgreed(t fatal, s *verbs.Service, of verbs.WhichPlan) (seen int) {
	t.Helper()
	for arguments := fmt.Sprintf(`{"of":%q}`, of); ; {
		reply := called[verbs.ReadPlanReply](t, s, "planning_read_plan", arguments)
		var titles []string
		if reply.Draft != nil {
			for _, step := range reply.Draft.Steps {
				titles = append(titles, *step.Title)
			}
		} else {
			for _, task := range reply.Approved.Tasks {
				titles = append(titles, task.Title)
			}
		}
		if len(titles) == 0 {
			t.Fatalf("an empty page of %s after %d steps", of, seen)
		}
		for _, title := range titles {
			seen++
			want := fmt.Sprintf("Step number %d", seen)
			inText := strings.Count(reply.Text(), "): "+want+"\n") + strings.Count(reply.Text(), `"title":"`+want+`"`)
			if title != want || inText != 1 {
				t.Fatalf("%q where %q belongs, %d times in the text:\n%s", title, want, inText, reply.Text())
			}
		}
		_, next, more := strings.Cut(reply.Rest, ": planning_read_plan ")
		if !more {
			return seen
		}
		arguments = next
	}
}
