package session

import (
	"context"
	"fmt"
	"iter"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Records yields the records after a revision, oldest first.
func (s *Session) Records(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return s.log.Read(ctx, after)
}

// Change is a record with the state before it.
type Change struct {
	Before plan.State
	Record plan.Record
}

// Changes yields the changes after a revision, oldest first. With follow it continues with those
// that any process adds, until ctx ends or the session is closed, neither of which is an error;
// after a purge it continues with the new history from its beginning.
func (s *Session) Changes(ctx context.Context, after plan.Revision, follow bool) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var grown <-chan struct{} // nil: read once
		var err error
		if follow {
			if grown, err = s.log.Watch(ctx); err != nil {
				yield(Change{}, err)
				return
			}
		}
		reading := changes{after: after}
		for open := true; open; {
			more, err := reading.readNew(ctx, s, yield)
			if err != nil && (!follow || ctx.Err() == nil) {
				yield(Change{}, err)
			}
			if err != nil || !more || !follow {
				return
			}
			_, open = <-grown
		}
	}
}

// changes is a history being read.
type changes struct {
	after plan.Revision // records up to here are not yielded
	chain string        // of the records read; "" before the first
	state plan.State    // after the records read
}

// readNew yields the changes since the last look, and reports whether the caller wants more.
func (c *changes) readNew(ctx context.Context, s *Session, yield func(Change, error) bool) (more bool, err error) {
	head, err := s.log.Head(ctx)
	if err == nil && head.Chain != c.chain {
		if c.chain != "" {
			c.after = 0 // it was purged
		}
		from := min(c.after, head.Seq)
		if c.chain, c.state = head.Chain, (plan.State{}); from > 0 {
			c.state, _, err = s.stateAt(ctx, from, from)
		}
	}
	if err != nil {
		return false, err
	}
	for record, err := range s.log.Read(ctx, c.state.Revision) {
		if err != nil {
			return false, err
		}
		change := Change{c.state, record}
		c.state = plan.Fold(c.state, record)
		if record.Seq > c.after && !yield(change, nil) {
			return false, nil
		}
	}
	return true, nil
}

// PlanBody returns a plan by its id: the current one, the draft, or a former one as archived, read
// from the log. The error for an unknown id is a *plan.ValidationError.
func (s *Session) PlanBody(ctx context.Context, id string) (*plan.Plan, error) {
	state, err := s.State(ctx)
	if err != nil {
		return nil, err
	}
	head, archived := state.PastPlan(id)
	current := state.Plan != nil && state.Plan.ID == id
	switch {
	case current && !state.Plan.IsCleared():
		return state.Plan, nil
	case !current && state.Draft != nil && state.Draft.ID == id: // it may be a former plan again
		return state.Draft, nil
	case archived:
		return s.formerPlan(ctx, head)
	}
	return nil, plan.Refuse(plan.NotFound, "/plan_id", "plan "+plan.Quote(id)+" does not exist", "list the plans to find its id")
}

func (s *Session) formerPlan(ctx context.Context, head plan.PastPlan) (*plan.Plan, error) {
	then, _, err := s.stateAt(ctx, head.Revision, head.Revision)
	if err != nil {
		return nil, err
	}
	if body := head.Body(then); body != nil {
		return body, nil
	}
	return nil, fmt.Errorf("%w: plan %s is missing at its archived revision", store.ErrDamaged, head.ID)
}

// ApprovedVersion returns an approved plan as its approver saw it, read from the log, with its current
// approval. If a repaired log no longer has that version, it returns p.
func (s *Session) ApprovedVersion(ctx context.Context, p *plan.Plan) (*plan.Plan, error) {
	if p.Approval == nil || p.Approval.Revision == 0 {
		return p, nil
	}
	then, _, err := s.stateAt(ctx, p.Approval.Revision, p.Approval.Revision)
	if err != nil {
		return nil, err
	}
	if then.Plan == nil || then.Plan.Root() != p.Root() || plan.Digest(then.Plan) != p.Approval.Digest {
		return p, nil
	}
	approved := *then.Plan
	approved.Approval = p.Approval
	return &approved, nil
}

// SubmittedVersion returns a draft as it was before people changed it, read from the log; nil if they
// did not, or if a repaired log no longer has that version.
func (s *Session) SubmittedVersion(ctx context.Context, draft *plan.Plan) (*plan.Plan, error) {
	if draft.Edits == nil {
		return nil, nil
	}
	then, err := s.DraftAt(ctx, draft.Edits.After)
	if err != nil || then == nil || then.ID != draft.ID {
		return nil, err
	}
	return then, nil
}

// DraftAt returns the draft of the state at a revision, read from the log; it may be nil.
func (s *Session) DraftAt(ctx context.Context, at plan.Revision) (*plan.Plan, error) {
	then, _, err := s.stateAt(ctx, at, at)
	return then.Draft, err
}

// Restore makes a former plan the current one again, or a draft: see plan.Restore.
func (s *Session) Restore(ctx context.Context, by plan.Actor, id string) (Outcome, error) {
	restore := plan.Restore{PlanID: id}
	prepare, err := s.WithFormerPlan(ctx, restore, nil)
	if err != nil {
		return Outcome{}, err
	}
	return s.Do(ctx, by, restore, prepare)
}

// WithFormerPlan returns what Do needs for an action: if that is a plan.Restore, prepare with the plan as archived.
func (s *Session) WithFormerPlan(ctx context.Context, a plan.Action, prepare Prepare) (Prepare, error) {
	restore, is := a.(plan.Restore)
	if !is {
		return prepare, nil
	}
	state, err := s.State(ctx)
	if err != nil {
		return nil, err
	}
	head, known := state.PastPlan(restore.PlanID)
	var body *plan.Plan
	if known {
		if body, err = s.formerPlan(ctx, head); err != nil {
			return nil, err
		}
	}
	return func(now plan.State, facts *plan.Facts) error {
		if prepare != nil {
			if err := prepare(now, facts); err != nil {
				return err
			}
		}
		if latest, _ := now.PastPlan(restore.PlanID); latest.Revision != head.Revision {
			return plan.Refuse(plan.Conflict, "", "the plan was changed at the same time", "try again")
		}
		facts.FormerPlan = body
		return nil
	}, nil
}

// Purge deletes the whole history, current plan included, and begins a new one that records the
// purge. It cannot be undone; only a person may ask for it.
func (s *Session) Purge(ctx context.Context, by plan.Actor) error {
	return s.PurgeAfter(ctx, by, func() error { return nil })
}

// PurgeAfter is Purge after keep, which nothing can be appended after, and whose error leaves the history as it is.
func (s *Session) PurgeAfter(ctx context.Context, by plan.Actor, keep func() error) error {
	if s.opts.Decider != nil {
		return plan.Refuse(plan.Conflict, "", "this history belongs to a team",
			"ask the team's admin to purge it on the server, or leave the team with: planloop team leave")
	}
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer s.releaseTurn()
	unlock, err := s.log.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := keep(); err != nil {
		return err
	}
	head, err := s.log.Head(ctx)
	if err != nil {
		return err
	}
	purge := plan.Purge{Records: head.Seq}
	facts := plan.Facts{Now: plan.State{}.NextTime(s.opts.Now()), Actor: by}
	events, err := plan.Decide(plan.State{}, purge, facts)
	if err != nil {
		return err
	}
	first := plan.Record{Seq: 1, Action: plan.ActionWord(purge), Actor: by, Time: facts.Now, Phase: plan.PhaseInactive, Events: events}
	head, err = s.log.Purge(ctx, store.NewChain(), first)
	if err != nil {
		return err
	}
	s.state, s.head, s.isLoaded = plan.Fold(plan.State{}, first), head, true
	s.setMark(first.Phase)
	s.listOpen(false)
	s.opts.Changed()
	return nil
}
