package verbs

import (
	"context"
	"strings"

	"github.com/planloop/planloop/plan"
)

// HostReview is the review of a plan that a host's own plan mode shows to its user.
type HostReview struct {
	service *Service
	request string
	plan    string
	since   plan.Revision
}

// SubmitHostPlan submits a plan of a host's own plan mode for a person's decision, or returns the review of the same plan that waits: a
// host may have several of planloop's hooks. The gates refuse it only where they apply to all plans.
func (s *Service) SubmitHostPlan(ctx context.Context, c Caller, a plan.SubmitPlan) (*HostReview, error) {
	state, err := s.State(ctx)
	if err != nil {
		return nil, err
	}
	c.besideDraft = state.IsBesideDraft(a.HostPlan)
	return besideOthers(ctx, s, c, aProposal, a.Objective, func(s *Service, c Caller) (*HostReview, error) {
		state, err := s.State(ctx)
		if err != nil {
			return nil, err
		}
		from := a.HostPlan
		if open := state.OpenHostReview(from.Host, from.Session); open != nil && state.Draft.HostPlan.Text == from.Text {
			return &HostReview{s, open.ID, state.Draft.ID, state.Revision}, nil
		}
		if err := s.checkIfStrict(ctx, c, plan.State{}, a.Steps, "/steps", nil, ""); err != nil {
			return nil, err
		}
		outcome, err := s.do(ctx, c, a)
		if err != nil {
			return nil, err
		}
		s.notify(s.planNotice(outcome.After))
		return &HostReview{s, outcome.After.ModeNow().Request.ID, outcome.After.Draft.ID, outcome.After.Revision}, nil
	})
}

// HostAnswer is a person's decision about a host's plan; the zero value if the review ended without one.
type HostAnswer struct {
	IsApproved   bool
	AcceptsEdits bool
	Edited       string // of an approved plan: its whole text with people's edits, "" without any
	Refusal      string // why the plan was not approved, for the agent
}

// Await waits for the end of the review.
func (r *HostReview) Await(ctx context.Context) (HostAnswer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := r.service.Watch(ctx)
	if err != nil {
		return HostAnswer{}, err
	}
	for {
		state, err := r.service.State(ctx)
		if err != nil {
			return HostAnswer{}, err
		}
		if open := state.ModeNow().Request; open == nil || open.ID != r.request {
			return r.answer(ctx, state)
		}
		if _, more := <-changes; !more {
			return HostAnswer{}, ctx.Err()
		}
	}
}

func (r *HostReview) answer(ctx context.Context, state plan.State) (HostAnswer, error) {
	d, p := state.ModeNow().Decision, state.Plan
	dropped, _ := state.PastPlan(r.plan)
	isAbout := p != nil && p.ID == r.plan || state.Draft != nil && state.Draft.ID == r.plan || dropped.Reason == string(plan.Rejected)
	if state.ModeNow().Request != nil || d == nil || d.Revision <= r.since || !isAbout { // another submission took its place
		return HostAnswer{}, nil
	}
	switch d.Outcome {
	case plan.Approved:
		if p == nil || p.Approval == nil || p.HostPlan == nil { // replaced at once
			return HostAnswer{}, nil
		}
		answer := HostAnswer{IsApproved: true, AcceptsEdits: p.Approval.AcceptsEdits}
		if edited := editedPlan(p); edited != "" {
			answer.Edited = p.HostPlan.Text + "\n\n" + edited
		}
		return answer, nil
	case plan.Returned, plan.Rejected:
		note, err := r.service.decisionWithComments(ctx, state)
		return HostAnswer{Refusal: note}, err
	}
	return HostAnswer{}, nil
}

// editedPlan returns an approved plan as people edited it before, "" if they did not.
func editedPlan(p *plan.Plan) string {
	edits, nothing := editsText(p.Approval.Edits), func(*plan.Step) string { return "" }
	if edits == "" {
		return ""
	}
	return edits + " The plan is now:\n\n" + planText(p, nil, nothing, nothing)
}

// decisionWithComments returns the last decision and the open comments, for the agent.
func (s *Service) decisionWithComments(ctx context.Context, state plan.State) (string, error) {
	comments, err := s.OpenComments(ctx, state)
	if err != nil {
		return "", err
	}
	lines := []string{DecisionText(state.ModeNow().Decision)}
	for _, comment := range comments {
		lines = append(lines, comment.Lines(false)...)
	}
	return strings.Join(lines, "\n"), nil
}

// HostAnswered approves the plan of a host's session that waits here, since its user accepted text there, unless the text differs or only a
// person's own decision counts. It returns a note for the agent: the decision with comments and its next action; "" if no plan of the
// session is in force or waits.
func (s *Service) HostAnswered(ctx context.Context, c Caller, host, session, text string) (string, error) {
	state, err := s.State(ctx)
	if err != nil {
		return "", err
	}
	same, err := plan.HostText(text)
	if request := state.OpenHostReview(host, session); request != nil {
		if err != nil || state.Draft.HostPlan.Text != same {
			return "", nil
		}
		confirmed := c
		confirmed.Actor = c.Actor.WithChannel(plan.ChannelClient)
		if s.PersonOnly(state) || state.Plan != nil && state.Plan.IsBinding() { // the host does not show what it would replace
			return "The plan still waits for the user's decision in planloop. " + s.heartbeat(state, c).NextAction, nil
		}
		approval := plan.DecideDraft{Outcome: plan.Approved, Request: request.ID, Digest: request.Digest}
		if _, err := s.Decide(ctx, confirmed, approval); err != nil {
			return "", err
		}
		if state, err = s.State(ctx); err != nil {
			return "", err
		}
	}
	if p := state.Plan; p == nil || p.Approval == nil || !p.HostPlan.IsOf(host, session) || state.PhaseNow() != plan.PhaseExecuting {
		return "", nil
	}
	note, err := s.decisionWithComments(ctx, state)
	if same == "" || same == state.Plan.HostPlan.Text { // the host did not take over the edits
		note += prefixed("\n", editedPlan(state.Plan))
	}
	return note + "\nplanloop tracks it as " + steps(state.Plan) + ". " + s.heartbeat(state, c).NextAction, err
}

// LeaveHostReview closes the review of a plan of a host's session, if one is open: its user answered in the host.
func (s *Service) LeaveHostReview(ctx context.Context, c Caller, a plan.LeaveHostReview) error {
	_, err := s.do(ctx, c, a)
	return err
}
