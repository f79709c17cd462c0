package plan

import (
	"strings"
	"unicode/utf8"
)

const (
	metaBefore = "Decompose the goal '"
	metaAfter  = "' into a detailed task list for planloop."
)

// MetaTitle is the title of the task that asks for a plan for a goal
// (planloop: Workflow, Step 3). A goal too long for a title is shortened.
func MetaTitle(goal string) string {
	room := MaxLongLine - utf8.RuneCountInString(metaBefore+metaAfter)
	return metaBefore + Shorten(goal, room) + metaAfter
}

// IsMeta reports whether a title is that of a task that asks for a plan: it is
// no work of the plan, and no gate applies to it.
func IsMeta(title string) bool {
	return strings.HasPrefix(title, metaBefore) && strings.HasSuffix(title, metaAfter)
}

// asksForPlan reports whether a step is the one that a session began with: what
// proves it is the plan that has passed the gates. A title alone does not make it so.
func (s State) asksForPlan(step *Step) bool {
	return step.ID == 1 && s.Plan != nil && step.Title == MetaTitle(s.Plan.Objective)
}
