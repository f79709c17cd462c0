package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxDeviations bounds what an approval remembers of what was changed since.
const maxDeviations = 100

// deviating looks at what an agent's events make of an approved plan. What a person
// would have to agree to again becomes a submission instead of the events; what is
// small is noted beside them.
func deviating(before State, events []Event, f Facts) []Event {
	p := before.Plan
	if before.PhaseNow() != PhaseExecuting || p == nil || p.Approval == nil || f.Actor.Kind == Person || !edits(events) {
		return events
	}
	after := before
	for _, e := range events {
		after = Apply(after, e)
	}
	if after.Plan == nil || after.Plan.ID != p.ID {
		return events
	}
	small, large := departures(p, after.Plan)
	switch {
	case len(large) > 0:
		draft := after.Plan.Body()
		draft.Status, draft.Changes = StatusDraft, Shorten(strings.Join(append(large, small...), "; "), MaxLongLine)
		draft.Approval = nil
		return []Event{submitted(before, draft, f)}
	case len(small) > 0:
		return append(events, PlanDeviated{What: small, By: f.Actor.Name, At: f.Now})
	}
	return events
}

func edits(events []Event) bool {
	return slices.ContainsFunc(events, func(e Event) bool {
		switch e.(type) {
		case StepsAdded, StepUpdated:
			return true
		}
		return false
	})
}

// departures says how a plan differs from the approved one: what was not agreed to,
// and what needs no new agreement.
func departures(approved, now *Plan) (small, large []string) {
	tools, risk := granted(approved)
	for step := range now.Steps.All() {
		old, known := approved.Steps.Get(step.ID)
		if !known {
			if why := exceeds(step, tools, risk); why != "" {
				large = append(large, fmt.Sprintf("new step %s %s", step.ID, why))
			} else {
				small = append(small, fmt.Sprintf("new step %s %s", step.ID, Quote(step.Title)))
			}
			continue
		}
		if why := changed(old, step); why != "" {
			large = append(large, step.ID.String()+": "+why)
		} else if !sameText(old, step) {
			small = append(small, step.ID.String()+": details or hints changed")
		}
	}
	return small, large
}

// granted is what the approved steps may do between them.
func granted(p *Plan) (tools map[string]bool, risk int) {
	tools = map[string]bool{}
	for step := range p.Steps.All() {
		for _, tool := range step.Tools {
			tools[tool] = true
		}
		risk = max(risk, step.Risk.rank())
	}
	return tools, risk
}

// exceeds says what of a step nobody agreed to.
func exceeds(step *Step, tools map[string]bool, risk int) string {
	for _, tool := range step.Tools {
		if !tools[tool] {
			return "uses the new tool " + Quote(tool)
		}
	}
	switch {
	case step.Tool != "":
		return "runs the tool " + Quote(step.Tool)
	case step.Risk.rank() > risk:
		return "has a new risk: " + string(step.Risk)
	}
	return ""
}

// changed says what of an approved step is another now.
func changed(old, step *Step) string {
	switch {
	case old.Title != step.Title:
		return "another title"
	case !contains(old.Tools, step.Tools):
		return "a new tool"
	case old.Tool != step.Tool || string(old.Args) != string(step.Args):
		return "another tool or arguments"
	case step.Risk.rank() > old.Risk.rank():
		return "a new risk: " + string(step.Risk)
	case !contains(step.AcceptanceCriteria, old.AcceptanceCriteria):
		return "a dropped criterion"
	case old.Verify != step.Verify:
		return "another command to verify it by"
	case old.RequiresApproval && !step.RequiresApproval:
		return "no approval asked for any more"
	case !slices.Equal(old.DependsOn, step.DependsOn):
		return "other dependencies"
	}
	return ""
}

// contains reports whether all of part is in whole.
func contains(whole, part []string) bool {
	return !slices.ContainsFunc(part, func(text string) bool { return !slices.Contains(whole, text) })
}

func sameText(a, b *Step) bool {
	return a.Details == b.Details && slices.Equal(a.ContextHints, b.ContextHints) && slices.Equal(a.RelevantFilePaths, b.RelevantFilePaths) &&
		slices.Equal(a.Creates, b.Creates)
}

// rank orders risks; none is the least.
func (r Risk) rank() int { return slices.Index(r.Values(), string(r)) }

// PlanDeviated notes changes to an approved plan that need no new agreement.
type PlanDeviated struct {
	What []string  `json:"what"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// Kind is the event's word in the log.
func (PlanDeviated) Kind() string { return "plan_deviated" }

func (e PlanDeviated) apply(s State) State {
	if s.Plan == nil || s.Plan.Approval == nil {
		return s
	}
	p, approval := *s.Plan, *s.Plan.Approval
	approval.Deviations = append(slices.Clone(approval.Deviations), e.What...)
	approval.Deviations = approval.Deviations[max(0, len(approval.Deviations)-maxDeviations):]
	p.Approval, p.UpdatedAt = &approval, e.At
	s.Plan = &p
	return s
}
