package plan

import "time"

// Verdict is a judge's opinion of a plan (planloop: Prompt Catalog, P-2). It is
// kept and shown; it approves nothing.
type Verdict struct {
	Approved bool      `json:"is_approved"`
	Feedback string    `json:"feedback,omitempty"`
	By       string    `json:"by"`
	Way      string    `json:"way"` // agent: handed in by an agent; else the name of the model asked
	At       time.Time `json:"at"`
}

// WayAgent marks a verdict handed in by an agent, possibly on its own plan.
const WayAgent = "agent"

// Judge asks to record a verdict on the draft, or without a draft on the current plan.
type Judge struct {
	Approved bool
	Feedback string
	Way      string
}

func (a Judge) clean(c *cleaner) Action {
	c.block(&a.Feedback, "feedback")
	c.text(&a.Way, "way", Text{Max: MaxHint}, true)
	return a
}

func (a Judge) decide(s State, f Facts) ([]Event, error) {
	p := s.Draft
	if p == nil {
		var err error
		if p, err = currentPlan(s); err != nil {
			return nil, err
		}
	}
	verdict := Verdict{Approved: a.Approved, Feedback: a.Feedback, By: f.Actor.Name, Way: a.Way, At: f.Now}
	return []Event{PlanJudged{Plan: p.ID, Verdict: verdict}}, nil
}

// PlanJudged records a verdict on the draft or the current plan.
type PlanJudged struct {
	Plan    string  `json:"plan_id"`
	Verdict Verdict `json:"verdict"`
}

func (e PlanJudged) apply(s State) State {
	for _, p := range []**Plan{&s.Plan, &s.Draft} {
		if *p != nil && (*p).ID == e.Plan {
			judged := **p
			judged.Verdict, judged.UpdatedAt = &e.Verdict, e.Verdict.At
			*p = &judged
		}
	}
	return s
}
