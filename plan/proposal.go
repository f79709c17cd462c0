package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// HasProposal reports whether a proposal waits, or was returned and waits for its author: a draft beside the approved plan,
// or a host's plan beside any other. Its phase restricts nothing, and work continues.
func (s State) HasProposal() bool {
	return s.Draft != nil && !s.PhaseNow().IsRestricted() && s.proposal() != nil
}

// changesApproved reports whether a decision about the draft is one about a change of the approved plan.
func (s State) changesApproved() bool {
	return s.isRevision() || s.HasProposal() && !s.HasHostProposal()
}

// HasHostProposal reports whether a host's plan waits beside work that was not approved.
func (s State) HasHostProposal() bool {
	return s.HasProposal() && s.PhaseNow() == PhaseInactive && s.Draft.HostPlan != nil
}

// IsReturned reports whether changes of the draft were requested, so that it waits for its author and
// not for a decision.
func (s State) IsReturned() bool {
	return s.Draft != nil && (s.PhaseNow() == PhaseGathering || s.ModeNow().Returned != nil)
}

// proposal returns the request for the waiting or returned proposal.
func (s State) proposal() *Request {
	mode := s.ModeNow()
	return cmp.Or(mode.Request, mode.Returned)
}

// hasRevision reports whether a proposal waits that is another form of the current plan.
func (s State) hasRevision() bool { return s.HasProposal() && s.isRevision() }

// ForEdits returns the state that an actor's edits of the plan apply to. While a revision waits beside
// the approved plan, edits by others than a present person are made in it, so it takes the plan's place.
func (s State) ForEdits(by Actor) State {
	if by.IsPresent() || !s.hasRevision() {
		return s
	}
	return s.withRevision()
}

// withRevision returns the state with the waiting revision in the place of the plan.
func (s State) withRevision() State {
	draft := *s.DraftWithProgress()
	draft.Status, draft.Approval = s.Plan.Status, s.Plan.Approval
	s.Plan = &draft
	return s
}

// decideChange decides about an action. Where its edits depart from what was approved, and no person is
// present who makes them, they become a proposal, and the reports take effect at once; small changes
// are noted as deviations.
func decideChange(s State, a Action, f Facts) ([]Event, error) {
	on, isFree := s, f.Actor.IsPresent() && f.Policy == nil // a team's plan is not one person's to change
	if mayEdit(a) && !isFree && s.hasRevision() {
		on = s.withRevision()
	}
	events, err := decideAll(on, a, f)
	if on.Plan != s.Plan && (err != nil || !edits(events)) {
		if now, errNow := decideAll(s, a, f); errNow != nil || !edits(now) {
			return now, errNow
		}
	}
	p := s.Plan
	if err != nil || p == nil || p.Approval == nil || isFree || !edits(events) {
		return events, err
	}
	after := Apply(on, events...).Plan
	if after == nil || after.Root() != p.Root() {
		return events, nil
	}
	small, large := deviations(p, after, splitSteps(on.Plan, a))
	if on.Plan == p && len(large) == 0 {
		events = keepReasoning(events)
		if len(small) > 0 {
			events = append(events, PlanDeviated{Deviations: small, UnseenSteps: addedSteps(p, after), By: f.Actor.Name, At: f.Now})
		}
		return events, nil
	}
	reported := decideReports(s, a, f)
	s = Apply(s, reported...)
	if len(large)+len(small) == 0 { // the revision is as approved again
		return append(reported, withdrawal(s, f)), nil
	}
	draft := after.Body()
	draft.Status, draft.Approval, draft.HostPlan = StatusDraft, nil, nil
	if draft.Version == p.Version {
		draft.Changes = Shorten(strings.Join(append(large, small...), "; "), MaxLongLine)
	}
	proposed, err := newProposal(s, draft, on.Plan != p, f)
	return append(reported, proposed), err
}

// newProposal returns the event that puts a draft beside the approved plan; revised, if it builds on the
// waiting revision. A change of what an approval does not bind leaves the request as it is.
func newProposal(s State, draft Body, revised bool, f Facts) (ChangeProposed, error) {
	e, former := ChangeProposed{Plan: draft, Request: newRequest(s, draft, f)}, s.proposal()
	if !revised {
		return e, nil
	}
	if e.Request.Policy != nil {
		e.Request.Authors = append(slices.Clone(former.Authors), former.By)
	}
	if former.Base != e.Request.Base {
		return e, conflict("the plan was changed while its revision waited", "withdraw the revision, then propose the change again")
	}
	for _, w := range former.Findings.Warnings { // about steps that stay as they were
		was, _ := s.Draft.Steps.Get(w.Step)
		at := slices.IndexFunc(draft.Steps, func(step *Step) bool { return step.ID == w.Step })
		if was != nil && at >= 0 && changedFields(was, draft.Steps[at]) == "" {
			e.Request.Findings.Warnings = append(e.Request.Findings.Warnings, w)
		}
	}
	if open := s.ModeNow().Request; open != nil && open.Digest == e.Request.Digest {
		e.Request.ID, e.Request.By, e.Request.At = open.ID, open.By, open.At
	}
	return e, nil
}

// mayEdit reports whether an action may edit steps. One that replans or withdraws begins from the plan in force.
func mayEdit(a Action) bool {
	switch a := a.(type) {
	case AddSteps, UpdateStep, MoveStep, AnswerStep:
		return true
	case AddContext:
		return len(a.Constraints) > 0
	case Batch:
		found := false
		for _, part := range a.Parts {
			switch part.Action.(type) {
			case Replan, WithdrawProposal:
				return false
			}
			found = found || mayEdit(part.Action)
		}
		return found
	}
	return false
}

// ChangeProposed puts a draft beside the approved plan and asks for a decision. The phase stays, and
// approved work continues. It replaces a former proposal.
type ChangeProposed struct {
	Plan    Body    `json:"plan"`
	Request Request `json:"request"`
}

func (e ChangeProposed) apply(s State) State {
	isFirst := !s.HasProposal() && s.PhaseNow() == PhaseInactive
	s.Draft = e.Plan.Build()
	return s.withMode(s.Phase, func(m *Mode) {
		if isFirst {
			*m = newMode(m, PhaseInactive, e.Request.By, e.Request.At)
		}
		m.Request, m.Returned = &e.Request, nil
		m.replace(e.Request)
	})
}

// WithdrawProposal asks to drop the proposal beside the approved plan. Its author may, and a person.
type WithdrawProposal struct{}

func (WithdrawProposal) decide(s State, f Facts) ([]Event, error) {
	switch {
	case s.PhaseNow() == PhaseSubmitted:
		return nil, conflict("the plan waits for its first decision and cannot be withdrawn", "submit a revised plan; it replaces this one")
	case !s.HasProposal():
		return nil, conflict("no proposed change waits", "there is nothing to withdraw")
	}
	return []Event{withdrawal(s, f)}, nil
}

// checkWithdrawn refuses an agent's change that drops the proposal of another agent, whatever action causes it: a
// replan and an edit can, too.
func checkWithdrawn(s State, t traits, events []Event, f Facts) error {
	isWithdrawal := func(e Event) bool { _, is := e.(ProposalWithdrawn); return is }
	if t.authority != anyActor || f.Actor.IsPresent() || !slices.ContainsFunc(events, isWithdrawal) {
		return nil // a decision
	}
	if by := s.proposal().By; !MayWithdraw(f.Actor, by, f.Sightings[by]) {
		return conflict(Quote(by)+" proposed the change, and only its author or a person may withdraw it", "ask the user")
	}
	return nil
}

// MayWithdraw reports whether an actor may withdraw the proposal of an author: its own, as a person any, and
// anybody that of an author who is gone.
func MayWithdraw(by Actor, author string, seen Sighting) bool {
	return by.Name == author || by.IsPresent() || seen.IsGone
}

// ProposalAuthor returns the actor that proposed the change that waits, "" without one.
func (s State) ProposalAuthor() string {
	if !s.HasProposal() {
		return ""
	}
	return s.proposal().By
}

func withdrawal(s State, f Facts) Event {
	return ProposalWithdrawn{Plan: s.Draft.ID, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now}
}

// ProposalWithdrawn drops the proposal beside the approved plan.
type ProposalWithdrawn struct {
	Plan string    `json:"plan_id"`
	By   string    `json:"by"`
	Way  Way       `json:"way,omitempty"`
	At   time.Time `json:"at"`
}

func (e ProposalWithdrawn) apply(s State) State {
	return s.withoutProposal(Decision{Outcome: Withdrawn, By: e.By, Way: e.Way, Change: s.changesApproved(), At: e.At})
}

// withoutProposal drops the proposal and records the decision. The phase stays, unless the approved plan
// has ended and only the proposal kept the phase.
func (s State) withoutProposal(d Decision) State {
	phase := s.Phase
	if phase == PhaseExecuting && (s.Plan == nil || s.Plan.Status != StatusActive && s.Plan.Status != StatusReplanning) {
		phase = PhaseInactive
	}
	s.Draft = nil
	return s.withDecision(phase, d)
}

// proposalWaits returns the refusal of an act that would end or replace the plan while a proposed change of it waits.
func (s State) proposalWaits() error {
	if !s.HasProposal() || s.HasHostProposal() {
		return nil
	}
	return conflict("a proposed change of the plan is not decided yet", "wait for the user's decision, or withdraw the proposal first")
}
