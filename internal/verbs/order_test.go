package verbs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestManyUpdatesInAnyOrder: tasks that wait for each other may be reported in any order, and the largest number in a
// plan, or a payload, costs no more than reading them.
func TestManyUpdatesInAnyOrder(t *testing.T) {
	s := service(time.Now, nil)
	steps := make([]plan.NewStep, plan.DefaultMaxSteps)
	var in verbs.Update
	done, doing := verbs.Complete, verbs.Doing
	for i := range steps {
		steps[i].Title = "Step"
		if i > 0 {
			steps[i].DependsOn = []plan.StepID{plan.StepID(i)}
		}
		id := verbs.TaskID(i + 1)
		in.UpdateTasks = append(in.UpdateTasks, verbs.TaskUpdate{ID: id, Status: &done}, verbs.TaskUpdate{ID: id, Status: &doing})
	}
	slices.Reverse(in.UpdateTasks) // of each task the start, then the end
	must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: steps}))
	begun := time.Now()
	reply := must[verbs.UpdateReply](t)(s.Update(t.Context(), ann, in))
	if reply.Progress != "2000/2000 done" {
		t.Error(reply.Progress)
	}
	for range 2 {
		in.UpdateTasks = slices.Concat(in.UpdateTasks, in.UpdateTasks)
	}
	if _, err := s.Update(t.Context(), ann, in); err == nil || !strings.Contains(err.Error(), "asked for at once") {
		t.Errorf("%d updates: %v", len(in.UpdateTasks), err)
	}
	if took := time.Since(begun); took > 5*time.Minute {
		t.Errorf("took %s", took)
	}
}
