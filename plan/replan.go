package plan

import (
	"fmt"
	"slices"
	"time"
)

// Replan asks for the next version of the plan (rawko: Replanning). The steps stay; other actions
// in the same batch change them.
type Replan struct {
	Changes     string   // the differences
	Reasoning   string   // why
	Discoveries []string // what led to it
	Constraints []string // added to the existing ones
}

func (a Replan) clean(c *cleaner) Action {
	c.block(&a.Changes, "changes")
	c.block(&a.Reasoning, "reasoning")
	c.list(&a.Discoveries, "discoveries", LinesField, MaxLongLine, MaxList)
	c.list(&a.Constraints, "constraints", LinesField, MaxLongLine, MaxList)
	if a.Changes == "" {
		c.refuse("changes", "is missing", "describe the changes of the new version")
	}
	return a
}

func (a Replan) decide(s State, f Facts) ([]Event, error) {
	p, err := currentPlan(s)
	switch {
	case err != nil:
		return nil, err
	case p.Status != StatusActive && p.Status != StatusReplanning:
		return nil, conflict("the plan "+p.Status.Predicate()+", so it cannot be replanned", "set up a new plan")
	case s.isRevision():
		return nil, conflict("a changed version of the plan waits for a decision", "wait for it, or ask the user to decide")
	}
	if err := checkNotRunning(s, f, "replan"); err != nil {
		return nil, err
	}
	constraints := slices.Clone(p.Metadata.Constraints)
	for _, constraint := range a.Constraints {
		if !slices.Contains(constraints, constraint) {
			constraints = append(constraints, constraint)
		}
	}
	if len(constraints) > MaxList {
		return nil, conflict(fmt.Sprintf("the plan would have %d constraints; at most %d are kept", len(constraints), MaxList),
			"give fewer")
	}
	version := p.Version + 1 // above all others: p may be an earlier version that was restored
	for head := range s.Versions(p.Root()) {
		version = max(version, head.Version+1)
	}
	return append(archive(s, replanned, f.Now), PlanReplanned{
		ID: fmt.Sprintf("%s-v%d", p.Root(), version), Version: version, Previous: p.ID,
		Changes: a.Changes, Reasoning: a.Reasoning, Discoveries: a.Discoveries, Constraints: constraints,
		Failure: p.Status == StatusReplanning, By: f.Actor.Name, At: f.Now}), nil
}

// PlanReplanned makes the plan its next version: active, with its failed steps renewed.
type PlanReplanned struct {
	ID          string    `json:"id"`
	Version     int       `json:"version"`
	Previous    string    `json:"previous_plan_id"`
	Changes     string    `json:"changes"`
	Reasoning   string    `json:"reasoning,omitempty"`
	Discoveries []string  `json:"discoveries,omitempty"`
	Constraints []string  `json:"constraints,omitempty"`
	Failure     bool      `json:"failure,omitempty"` // a critical step had failed
	By          string    `json:"by"`
	At          time.Time `json:"at"`
}

func (e PlanReplanned) apply(s State) State {
	if s.Plan == nil {
		return s
	}
	var failed []*Step
	for step := range s.Plan.Steps.All() {
		if step.Status == Failed {
			renewed := *step
			renewed.retryFailed()
			failed = append(failed, &renewed)
		}
	}
	s = s.withSteps(e.At, func(edit *stepsEdit) {
		for _, step := range failed {
			edit.replace(step)
		}
	})
	return s.withPlan(e.At, func(p *Plan) {
		p.ID, p.Version, p.PreviousPlanID, p.Status = e.ID, e.Version, e.Previous, StatusActive
		p.Changes, p.Discoveries, p.Verdict = e.Changes, e.Discoveries, nil
		p.Metadata.Constraints = e.Constraints
		if e.Reasoning != "" {
			p.Reasoning = e.Reasoning
		}
		if e.Failure {
			p.Replans++
		}
	})
}
