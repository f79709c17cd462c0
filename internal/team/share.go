package team

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Share sends the history of a local log, with its values, to the place that the log then is the copy of, and returns the number of
// records.
func (c *Copy) Share(ctx context.Context, from store.Log) (n int, err error) {
	var head store.Head
	for isMore := true; isMore; isMore = int(head.Seq) > n { // records that are new since they were read
		if n, err = c.shareAfter(ctx, from, n); err == nil {
			head, err = from.Head(ctx)
		}
		if err != nil {
			return n, err
		}
	}
	last := teamwire.ShareRequest{After: plan.Revision(n), Last: true}
	if err := c.call(ctx, http.MethodPost, "share", last, nil); err != nil {
		return n, err
	}
	unlock, err := from.Lock(ctx)
	if err != nil {
		return n, err
	}
	defer unlock()
	if head, err = from.Head(ctx); err != nil || int(head.Seq) != n {
		return n, cmp.Or(err, error(plan.Refuse(plan.Conflict, "", "the team has the track now, but not the last change here",
			"get it, and keep yours under another name: planloop team pull "+c.Place.Track)))
	}
	return n, c.Place.Save(c.dir)
}

// shareAfter sends the records after the first n, and the values that they name. It returns the number of records that were sent in all.
func (c *Copy) shareAfter(ctx context.Context, from store.Log, n int) (int, error) {
	values, named := map[string]bool{}, regexp.MustCompile(`[0-9a-f]{64}`)
	part, size := teamwire.ShareRequest{After: plan.Revision(n)}, 0
	send := func() error {
		if len(part.Records) == 0 {
			return nil
		}
		err := c.call(ctx, http.MethodPost, "share", part, nil)
		part, size = teamwire.ShareRequest{After: plan.Revision(n)}, 0
		return err
	}
	for record, err := range from.Read(ctx, plan.Revision(n)) {
		line, wrong := store.EncodeRecord(record)
		if err := errors.Join(err, wrong); err != nil {
			return n, err
		}
		for _, name := range named.FindAllString(string(line), -1) { // anywhere in it
			values[name] = true
		}
		if size+len(line) > teamwire.MaxRecords {
			if err := send(); err != nil {
				return n, err
			}
		}
		part.Records = append(part.Records, string(line))
		size += len(line)
		n++
	}
	if err := send(); err != nil {
		return n, err
	}
	for name := range values {
		value, err := from.Value(ctx, name)
		if err == nil {
			_, err = c.PutValue(ctx, value)
		}
		if err != nil && !errors.Is(err, store.ErrNoValue) { // it is the name of something else
			return n, err
		}
	}
	return n, nil
}

// LocalFeed lets a session copy a log of this machine by Pull. It decides nothing.
type LocalFeed struct {
	session.Decider
	Log store.Log
}

// Pull implements session.Decider.
func (f LocalFeed) Pull(ctx context.Context, _ store.Head) (feed session.Feed, err error) {
	feed.Head, err = f.Log.Head(ctx)
	for record, wrong := range f.Log.Read(ctx, 0) {
		line, failed := store.EncodeRecord(record)
		err = errors.Join(err, wrong, failed)
		feed.Records = append(feed.Records, string(line))
	}
	return feed, err
}

// CopyValues copies the values beside one log to another.
func CopyValues(to, from string) error {
	err := os.CopyFS(filepath.Join(to, "values"), os.DirFS(filepath.Join(from, "values")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
