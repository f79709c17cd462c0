package verbs_test

import (
	"context"
	"errors"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// remote decides as a team's server does: on its own log, about actions and facts in their written form.
type remote struct {
	*session.Session
	log store.Log
}

// joined returns a session on a copy of a log for which a server with these options decides.
func joined(o session.Options) *session.Session {
	log := store.NewMemory()
	return session.New(store.NewMemory(), session.Options{Now: o.Now, Presence: o.Presence, Limits: o.Limits,
		Decider: remote{session.New(log, o), log}})
}

func (d remote) Pull(ctx context.Context, after store.Head) (feed session.Feed, err error) {
	feed.Head, err = d.log.Head(ctx)
	for record, failed := range d.log.Read(ctx, after.Seq) {
		line, wrong := store.EncodeRecord(record)
		err = errors.Join(err, failed, wrong)
		feed.Records = append(feed.Records, string(line))
	}
	return feed, err
}

func (d remote) Decide(ctx context.Context, r session.Request, after store.Head) (session.Feed, error) {
	written, err := store.EncodeAction(r.Action)
	facts, wrong := store.EncodeFacts(r.Facts)
	if err = errors.Join(err, wrong); err != nil {
		return session.Feed{}, err
	}
	action, err := store.DecodeAction(written)
	added, wrong := store.DecodeFacts(facts)
	if err = errors.Join(err, wrong); err != nil {
		return session.Feed{}, err
	}
	prepare := func(now plan.State, f *plan.Facts) error {
		if plan.BasisOf(now) != plan.BasisOf(r.On) {
			return session.ErrChanged
		}
		f.Resolutions, f.Definitions, f.Missing = added.Resolutions, added.Definitions, added.Missing
		return nil
	}
	var outcome session.Outcome
	if restored, ok := action.(plan.Restore); ok {
		outcome, err = d.Restore(ctx, r.By, restored.PlanID)
	} else {
		outcome, err = d.Do(ctx, r.By, action, prepare)
	}
	if err != nil {
		return session.Feed{}, err
	}
	feed, err := d.Pull(ctx, after)
	if outcome.Before.Revision != outcome.After.Revision {
		feed.Own = outcome.After.Revision
	}
	return feed, err
}
