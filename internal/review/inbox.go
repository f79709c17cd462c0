package review

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// ReadInbox lists everything that waits for a person in all workspaces of a desk. An unreadable workspace is listed as
// unreadable and does not affect the others.
func ReadInbox(ctx context.Context, desk Desk) (Inbox, error) {
	inbox := Inbox{Workspaces: []InboxPlace{}, Waiting: []Waiting{}}
	places, err := desk.Places(ctx)
	if err != nil {
		return inbox, err
	}
	inbox.Workspaces = make([]InboxPlace, len(places))
	waiting := make([][]Waiting, len(places))
	group := errgroup.Group{}
	group.SetLimit(atATime)
	for i, place := range places {
		group.Go(func() error {
			shown, waits, err := desk.InInbox(ctx, place)
			if err != nil {
				shown = InboxPlace{Place: place, Headline: "This workspace cannot be read now; `planloop doctor` in it says more."}
				if refused, ok := errors.AsType[*plan.ValidationError](err); ok {
					shown.Headline = "This workspace cannot be read now: " + refused.Error() + "."
				}
			}
			inbox.Workspaces[i], waiting[i] = shown, waits
			return nil
		})
	}
	_ = group.Wait() // never fails: each place shows its own error
	inbox.Waiting = append(inbox.Waiting, slices.Concat(waiting...)...)
	inbox.Waiting = newest(inbox.Waiting)
	safetext.EscapeTexts(&inbox)
	return inbox, ctx.Err()
}

// atATime is how many workspaces are read concurrently.
const atATime = 4

// InInbox returns a workspace's entry in an inbox, and its waiting items, newest first.
func InInbox(ctx context.Context, sheet *Sheet) (InboxPlace, []Waiting, error) {
	state, err := sheet.Service.State(ctx)
	if err != nil {
		return InboxPlace{}, nil, err
	}
	waiting := sheet.waiting(state)
	return InboxPlace{Place: sheet.Place, Waiting: len(waiting), Phase: state.PhaseNow(), UpdatedAt: state.UpdatedAt,
		Headline: sheet.Service.Headline(state, onlooker())}, waiting, nil
}
