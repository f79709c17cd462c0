package plan

import (
	"slices"
	"time"
)

// ShareTrack asks to mark the history so far as made before the track was shared with a team. Its actor is planloop, under the name of the
// member that shares. Approvals until then are that member's word: under the team's policy they do not count, and an approved plan waits
// for a decision again; without one a plan stays approved, marked with WayBefore.
type ShareTrack struct {
	From string // the place it comes from, as in "ann's laptop"
}

func (a ShareTrack) clean(c *cleaner) Action {
	c.text(&a.From, "from", Text{Max: MaxHint}, true)
	return a
}

func (a ShareTrack) decide(s State, f Facts) ([]Event, error) {
	if f.Actor.Channel != ChannelEngine || f.Actor.Kind != Planloop {
		return nil, conflict("only a team's server shares a track", "use `planloop team share`")
	}
	shared := TrackShared{From: a.From, Records: s.Revision, DropsApprovals: f.Policy != nil, By: f.Actor.Name, At: f.Now}
	if f.Policy == nil {
		return []Event{shared}, nil
	}
	events, draft := []Event{shared}, s.Draft
	switch {
	case s.Plan != nil && s.Plan.IsBinding():
		draft = s.Plan
	case draft == nil, s.IsReturned():
		return events, nil
	}
	body := draft.Body()
	body.Status, body.Approval, body.HostList, body.HostPlan = StatusDraft, nil, nil, nil
	body.Highest = max(draft.Steps.Highest(), s.highestOf(draft.Root()))
	for i, step := range body.Steps { // a draft asks for exactly what it shows
		free := step.withoutClaim()
		body.Steps[i] = &Step{ID: free.ID, Spec: free.Spec, Progress: free.Progress.withoutRuns()}
	}
	return append(events, PlanSubmitted{Plan: body, Request: newRequest(Apply(s, events...), body, f)}), nil
}

// TrackShared marks the history so far, with all decisions, as made before the track was shared with a team. Grants of single steps and
// votes on a waiting plan are dropped; with drops_approvals those of plans are, too, and with them an approved plan with unfinished
// steps, which a submission follows.
type TrackShared struct {
	From           string    `json:"from"`    // the place it comes from
	Records        Revision  `json:"records"` // number of records before
	DropsApprovals bool      `json:"drops_approvals,omitempty"`
	By             string    `json:"by"`
	At             time.Time `json:"at"`
}

func (e TrackShared) apply(s State) State {
	s.Shared = &Shared{From: e.From, Records: e.Records, By: e.By, At: e.At}
	s.Past = slices.Clone(s.Past)
	for i := range s.Past {
		s.Past[i].Decided.Way = WayBefore
	}
	if e.DropsApprovals && s.Plan != nil && s.Plan.IsBinding() {
		s.Plan, s.Draft = nil, nil
		return s.withMode(PhaseInactive, func(m *Mode) { *m = Mode{} })
	}
	if s.Mode != nil {
		s = s.withMode(s.Phase, func(m *Mode) { e.mark(m) })
	}
	s.Plan, s.Draft = s.Plan.beforeSharing(), s.Draft.beforeSharing()
	if e.DropsApprovals && s.Plan != nil {
		s.Plan.Approval = nil
	}
	return s
}

// mark marks the last decision, and drops approvals.
func (e TrackShared) mark(m *Mode) {
	if e.DropsApprovals {
		m.Approved, m.Resume = "", false
	}
	if m.Decision != nil {
		decision := *m.Decision
		decision.Way, m.Decision = WayBefore, &decision
	}
	if m.Request != nil {
		request := *m.Request
		request.Policy, request.Votes, m.Request = nil, nil, &request
	}
}

// beforeSharing returns a copy of the plan with a marked approval and without those of its steps. p may be nil.
func (p *Plan) beforeSharing() *Plan {
	if p == nil {
		return nil
	}
	marked := *p
	marked.Steps = p.Steps.withoutApprovals()
	if p.Approval != nil {
		approval := *p.Approval
		approval.Way, marked.Approval = string(WayBefore), &approval
	}
	return &marked
}

// withoutApprovals returns the steps without the approvals of their starts.
func (s Steps) withoutApprovals() Steps {
	steps := s.List()
	for i, step := range steps {
		if step.execution().Approval != nil {
			free := *step
			free.execute(func(x *Execution) { x.Approval = nil })
			steps[i] = &free
		}
	}
	rest := NewSteps(steps)
	rest.highest = s.highest
	return rest
}

// Shared tells which records of a team's track were made before it was shared.
type Shared struct {
	From    string    `json:"from"`    // the place they come from
	Records Revision  `json:"records"` // number of them
	By      string    `json:"by"`      // the member that shared it
	At      time.Time `json:"at"`
}

// IsBefore reports whether a record was made before the track was shared. s may be nil.
func (s *Shared) IsBefore(seq Revision) bool { return s != nil && seq <= s.Records }
