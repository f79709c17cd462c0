package team

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Share sends the history of a local log, with its values, to the place that the log then is the copy of, and returns the number of
// records.
func (c *Copy) Share(ctx context.Context, from store.Log) (n int, err error) {
	send := func(r teamwire.ShareRequest) error {
		r.After = plan.Revision(n)
		n += len(r.Records)
		return c.call(ctx, http.MethodPost, "share", r, nil)
	}
	for {
		lines, err := readLog(ctx, from, n)
		if err != nil {
			return n, err
		}
		if len(lines) == 0 {
			break
		}
		for rest := lines; len(rest) > 0; {
			fit, size := 0, 0
			for fit < len(rest) && (fit == 0 || size+len(rest[fit]) <= teamwire.MaxRecords) {
				size += len(rest[fit])
				fit++
			}
			if err := send(teamwire.ShareRequest{Records: rest[:fit]}); err != nil {
				return n, err
			}
			rest = rest[fit:]
		}
		if err := copyValues(ctx, from, lines, c.PutValue); err != nil {
			return n, err
		}
	}
	if err := send(teamwire.ShareRequest{Last: true}); err != nil {
		return n, err
	}
	unlock, err := from.Lock(ctx)
	if err != nil {
		return n, err
	}
	defer unlock()
	if head, err := from.Head(ctx); err != nil || int(head.Seq) != n {
		return n, cmp.Or(err, error(plan.Refuse(plan.Conflict, "", "the team has the track now, but not the last change here",
			"get it, and keep yours under another name: planloop team pull "+c.Place.Track)))
	}
	return n, c.Place.Save(c.dir)
}

// readLog returns the records of a log after the first n, in their written form.
func readLog(ctx context.Context, from store.Log, n int) (lines []string, err error) {
	for record, err := range from.Read(ctx, plan.Revision(n)) {
		line, wrong := store.EncodeRecord(record)
		if err := cmp.Or(err, wrong); err != nil {
			return nil, err
		}
		lines = append(lines, string(line))
	}
	return lines, nil
}

// copyValues puts the values that records of a log name elsewhere.
func copyValues(ctx context.Context, from store.Log, records []string, put func(context.Context, []byte) (string, error)) error {
	for name := range store.ValueNames(records...) {
		value, err := from.Value(ctx, name)
		if err == nil {
			_, err = put(ctx, value)
		}
		if err != nil && !errors.Is(err, store.ErrNoValue) { // it is the name of something else
			return err
		}
	}
	return nil
}

// CopyLog copies a log of this machine, with its values, to an empty one, and closes that. The caller keeps the first from growing.
func CopyLog(ctx context.Context, from, to store.Log, opts session.Options) error {
	head, err := from.Head(ctx)
	lines, wrong := readLog(ctx, from, 0)
	opts.Decider = localFeed{feed: session.Feed{Head: head, Records: lines}}
	s := session.New(to, opts)
	if err = cmp.Or(err, wrong); err == nil {
		err = s.Pull(ctx)
	}
	if err == nil {
		err = copyValues(ctx, from, lines, to.PutValue)
	}
	return errors.Join(err, s.Close())
}

// localFeed is a whole log for Pull. It decides nothing.
type localFeed struct {
	session.Decider
	feed session.Feed
}

// Pull implements session.Decider.
func (f localFeed) Pull(context.Context, store.Head) (session.Feed, error) { return f.feed, nil }
