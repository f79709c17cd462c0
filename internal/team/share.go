package team

import (
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

// Share sends the history of a local track, with its values, to the place that it becomes the copy of, and returns the number of records.
func (c *Copy) Share(ctx context.Context, from *session.Session) (n int, err error) {
	values, named := map[string]bool{}, regexp.MustCompile(`[0-9a-f]{64}`)
	var part teamwire.ShareRequest
	size := 0
	send := func() error {
		err := c.call(ctx, http.MethodPost, "share", part, nil)
		part, size = teamwire.ShareRequest{After: plan.Revision(n)}, 0
		return err
	}
	for record, err := range from.Records(ctx, 0) {
		line, wrong := store.EncodeRecord(record)
		if err := errors.Join(err, wrong); err != nil {
			return n, err
		}
		for _, name := range named.FindAllString(string(line), -1) { // anywhere in it
			values[name] = true
		}
		if size+len(line) > teamwire.MaxRecords && size > 0 {
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
	part.Last = true
	return n, send()
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
