package verbs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// handed returns a workspace with two steps, the second rich in facts.
func handed(t *testing.T) *verbs.Service {
	s := service(time.Now, nil)
	rich := plan.Spec{Title: "Use it", Details: "Mind the clock.", Verify: "go test ./use", AcceptanceCriteria: []string{"it is fast"}}
	must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "Move it"}, Steps: []plan.NewStep{
		{Spec: plan.Spec{Title: "Build it"}}, {Spec: rich}, {Spec: plan.Spec{Title: "Tell it"}}}}))
	return s
}

// TestBegunStepIsShownWhole in the reply to each call that begins it.
func TestBegunStepIsShownWhole(t *testing.T) {
	for name, begin := range map[string]func(*verbs.Service) verbs.Reply{
		"mark": func(s *verbs.Service) verbs.Reply {
			return called[verbs.MarkStepReply](t, s, "planning_mark_step", `{"step_id":"S002","status":"in_progress"}`)
		},
		"update": func(s *verbs.Service) verbs.Reply {
			return called[verbs.UpdateReply](t, s, "planloop_update", `{"update_tasks":[{"id":2,"status":"IN_PROGRESS"}]}`)
		},
	} {
		text := begin(handed(t)).Text()
		for _, want := range []string{"Mind the clock.", "go test ./use", "it is fast"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing:\n%s", name, want, text)
			}
		}
	}
}

// TestReplyToANewOrderNamesIt: the new dependencies and the new place.
func TestReplyToANewOrderNamesIt(t *testing.T) {
	s := handed(t)
	for _, c := range []struct{ arguments, want string }{
		{`{"update_tasks":[{"id":3,"dependencies":[1,2]}]}`, "S003 now waits for S001 and S002"},
		{`{"update_tasks":[{"id":3,"dependencies":[]}]}`, "S003 no longer waits for other steps"},
		{`{"update_tasks":[{"id":3,"after":0}]}`, "S003 is now at place 1 of 3"},
		{`{"update_tasks":[{"id":3,"note":"so"}]}`, "State updated successfully"},
	} {
		reply := called[verbs.UpdateReply](t, s, "planloop_update", c.arguments)
		if !strings.HasPrefix(reply.Text(), "State updated successfully") || !strings.Contains(reply.Text(), c.want) {
			t.Errorf("%s: %s", c.arguments, reply.Text())
		}
	}
}

// TestOwnerLearnsOfOthersEdits of its step; other agents' edits of other steps are not reported.
func TestOwnerLearnsOfOthersEdits(t *testing.T) {
	s := handed(t)
	called[verbs.MarkStepReply](t, s, "planning_mark_step", `{"step_id":"S002","status":"in_progress"}`)
	for _, id := range []plan.StepID{2, 3} {
		must[verbs.UpdateStepReply](t)(s.EditStep(t.Context(), carl, id, plan.Patch{Title: new("Use it well")}))
	}
	const want = `carl changed the title of S002 "Use it well", which you work on.`
	if status := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{})); status.Edited != want {
		t.Errorf("the owner is told %q", status.Edited)
	}
	if status := must[verbs.StatusReply](t)(s.Status(t.Context(), carl, verbs.Status{})); status.Edited != "" {
		t.Errorf("the editor is told %q", status.Edited)
	}
}

// TestBegunStepIsShownAfterManyOthers of the same update.
func TestBegunStepIsShownAfterManyOthers(t *testing.T) {
	updates := strings.Repeat(`{"id":1,"note":"so"},`, 20) + `{"id":2,"status":"IN_PROGRESS"}`
	reply := called[verbs.UpdateReply](t, handed(t), "planloop_update", `{"update_tasks":[`+updates+`]}`)
	if reply.Task == nil || reply.Task.ID != 2 {
		t.Error(reply.Text())
	}
}

// TestClosingNamesOnlyItsOwnQuestions: a question on a former plan is no longer open for the next.
func TestClosingNamesOnlyItsOwnQuestions(t *testing.T) {
	s := handed(t)
	must[verbs.CommentReply](t)(s.Comment(t.Context(), person, plan.AddComment{Text: "why this?", IsQuestion: true}))
	called[verbs.SetupPlanReply](t, s, "planning_setup_plan", `{"objective":"Next","initial_steps":[{"title":"Do it"}]}`)
	must[verbs.CommentReply](t)(s.Comment(t.Context(), person, plan.AddComment{Text: "and that?", IsQuestion: true}))
	reply := called[verbs.UpdateReply](t, s, "planloop_update", `{"update_tasks":[{"id":1,"status":"DONE"}],"final_summary":"It works."}`)
	if strings.Contains(reply.Message, "why this?") || !strings.Contains(reply.Message, "and that?") {
		t.Error(reply.Message)
	}
}
