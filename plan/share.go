package plan

import "time"

// ShareTrack asks to mark the history so far as made before the track was shared with a team. Its actor is planloop, under the name of the
// member that shares. Under the team's policy, approvals until then do not count: an approved plan waits for a decision again.
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

// TrackShared marks the history so far as made before the track was shared with a team. Approvals that do not count are dropped, and with
// them an approved plan with unfinished steps, which a submission follows.
type TrackShared struct {
	From           string    `json:"from"`    // the place it comes from
	Records        Revision  `json:"records"` // number of records before
	DropsApprovals bool      `json:"drops_approvals,omitempty"`
	By             string    `json:"by"`
	At             time.Time `json:"at"`
}

func (e TrackShared) apply(s State) State {
	s.Shared = &Shared{From: e.From, Records: e.Records, By: e.By, At: e.At}
	if !e.DropsApprovals {
		return s
	}
	if s.Plan != nil && s.Plan.IsBinding() {
		s.Plan, s.Draft = nil, nil
		return s.withMode(PhaseInactive, func(m *Mode) { *m = Mode{} })
	}
	if s.Mode != nil {
		s = s.withMode(s.Phase, func(m *Mode) { m.Approved, m.Resume = "", false })
	}
	if s.Plan == nil {
		return s
	}
	p := *s.Plan
	p.Approval, p.Steps = nil, p.Steps.withoutApprovals()
	s.Plan = &p
	return s
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
