package teamserver

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/teamwire"
)

// mostStreams bounds the open event streams of a server, and mostOwnStreams those of a token.
const (
	mostStreams    = 5_000
	mostOwnStreams = 100
)

// feeds watch the workspaces that have event streams, each once for all its streams.
type feeds struct {
	mu   sync.Mutex
	open map[int64]*feed
	own  map[int64]int // streams, by token
}

// feed follows the heads of a workspace's tracks.
type feed struct {
	stop    context.CancelFunc
	streams int
	changed broadcast.Hub

	mu    sync.Mutex
	heads map[string]store.Head
}

// streamHeads writes the tracks' heads and an event for each change of one, until the caller leaves. A slow stream leaves out heads that
// have changed again.
func (s *Server) streamHeads(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	main, err := s.findTrack(r.Context(), c, r.PathValue("ws"), mainTrack)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.untilEnd(r.Context())
	defer cancel()
	go s.endWithRights(ctx, cancel, s.byToken(r))
	f, leave, err := s.joinFeed(c, main.Workspace, r.PathValue("ws"))
	if err != nil {
		return nil, err
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	beat := time.NewTicker(teamwire.Heartbeat)
	defer beat.Stop()
	changed, sent := f.changed.Listen(ctx), map[string]store.Head{}
	text := ": connected\n\n" + f.news(sent)
	for {
		out.SetWriteDeadline(time.Now().Add(2 * teamwire.Heartbeat))
		if _, err := io.WriteString(w, text); err != nil || out.Flush() != nil {
			return nil, nil
		}
		select {
		case <-beat.C:
			text = ": alive\n\n"
		case _, open := <-changed:
			if !open {
				return nil, nil
			}
			text = f.news(sent)
		}
	}
}

// news returns events for the heads that a stream has not sent, and notes them in sent.
func (f *feed) news(sent map[string]store.Head) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var events strings.Builder
	for track, head := range f.heads {
		if sent[track] != head {
			sent[track] = head
			data, _ := json.Marshal(teamwire.HeadEvent{Track: track, Head: head}) // texts and a number: cannot fail
			fmt.Fprintf(&events, "event: head\ndata: %s\n\n", data)
		}
	}
	return events.String()
}

// joinFeed returns the feed of a workspace for one more stream, until leave.
func (s *Server) joinFeed(c *caller, workspace int64, name string) (f *feed, leave func(), err error) {
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	if s.metrics.streams.Load() >= mostStreams || s.feeds.own[c.token] >= mostOwnStreams {
		return nil, nil, wrong(teamwire.CodeTooMany, "the server or the token has too many streams", "read the records with wait=25s")
	}
	f = s.feeds.open[workspace]
	if f == nil {
		ctx, stop := context.WithCancel(s.ending)
		f = &feed{stop: stop, heads: map[string]store.Head{}}
		s.feeds.open[workspace] = f
		s.background.Go(func() {
			for heads := range s.watchHeads(ctx, c.team, name, nil) {
				f.note(heads)
			}
		})
	}
	f.streams++
	s.metrics.streams.Add(1)
	s.feeds.own[c.token]++
	return f, func() {
		s.feeds.mu.Lock()
		defer s.feeds.mu.Unlock()
		s.metrics.streams.Add(-1)
		if s.feeds.own[c.token]--; s.feeds.own[c.token] == 0 {
			delete(s.feeds.own, c.token)
		}
		if f.streams--; f.streams == 0 {
			f.stop()
			delete(s.feeds.open, workspace)
		}
	}, nil
}

// feedWait bounds a read of heads, and is the time until the next one after a failure.
const feedWait = 2 * time.Second

// watchHeads yields the heads of tracks that have grown, from the call on until ctx ends, and all heads after a failure. It begins with the
// tracks in ids; nil stands for all. The workspace "" stands for all of the team.
func (s *Server) watchHeads(ctx context.Context, team int64, workspace string, ids []int64) iter.Seq[[]trackHead] {
	grown, err := s.db.WatchTeam(ctx, team)
	return func(yield func([]trackHead) bool) {
		if err != nil {
			return // the server ends
		}
		elsewhere := map[int64]bool{} // tracks of the team's other workspaces
		var again <-chan time.Time    // after a failure
		for {
			if ids == nil || len(ids) > 0 {
				limited, cancel := context.WithTimeout(ctx, feedWait)
				heads, err := s.heads(limited, team, workspace, ids...)
				cancel()
				if err != nil && ctx.Err() == nil {
					s.log.Warn("the heads of tracks cannot be read", "error", err)
					again = time.After(feedWait)
				}
				for _, id := range ids {
					elsewhere[id] = err == nil && !slices.ContainsFunc(heads, func(h trackHead) bool { return h.ID == id })
				}
				if !yield(heads) {
					return
				}
			}
			select {
			case found, open := <-grown:
				if !open {
					return
				}
				ids = slices.DeleteFunc(found, func(id int64) bool { return elsewhere[id] })
			case <-again:
				ids, again = nil, nil
			}
		}
	}
}

// note keeps the heads that have changed, and wakes the streams.
func (f *feed) note(heads []trackHead) {
	f.mu.Lock()
	for _, h := range heads {
		f.heads[h.Track] = h.Head
	}
	f.mu.Unlock()
	f.changed.Notify()
}
