package teamserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

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
	mu      sync.Mutex
	open    map[int64]*feed
	streams int
	own     map[int64]int // streams, by token
}

// feed follows the heads of a workspace's tracks.
type feed struct {
	team      int64
	workspace string
	stop      context.CancelFunc

	mu      sync.Mutex
	heads   map[string]store.Head
	streams map[chan teamwire.HeadEvent]bool // true: it was too slow, and must begin again
}

// streamRoom is how many events a stream may lag. One that lags further ends, and the laptop
// begins again.
const streamRoom = 256

// streamHeads writes an event for each change of a track in the workspace, until the caller leaves.
func (s *Server) streamHeads(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	t, release, err := s.useTrack(r.Context(), c, r.PathValue("ws"), mainTrack, false)
	if err != nil {
		return nil, err
	}
	workspace := t.workspace
	release()
	ctx, cancel := s.untilEnd(r.Context())
	defer cancel()
	events, leave, err := s.joinFeed(c, workspace, r.PathValue("ws"))
	if err != nil {
		return nil, err
	}
	defer leave()
	s.metrics.streams.Add(1)
	defer s.metrics.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	beat := time.NewTicker(teamwire.Heartbeat)
	defer beat.Stop()
	text := ": connected\n\n"
	for {
		out.SetWriteDeadline(time.Now().Add(2 * teamwire.Heartbeat))
		if _, err := fmt.Fprint(w, text); err != nil {
			return nil, nil
		}
		if err := out.Flush(); err != nil {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-beat.C:
			if _, err := s.authenticate(ctx, r.Header.Get("Authorization")); err != nil { // revoked since
				return nil, nil
			}
			text = ": alive\n\n"
		case event, open := <-events:
			if !open {
				return nil, nil
			}
			data, err := json.Marshal(event)
			if err != nil {
				return nil, err
			}
			text = fmt.Sprintf("event: head\ndata: %s\n\n", data)
		}
	}
}

// joinFeed returns the events of a workspace, those that the tracks have now first.
func (s *Server) joinFeed(c *caller, workspace int64, name string) (<-chan teamwire.HeadEvent, func(), error) {
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	if s.feeds.streams >= mostStreams || s.feeds.own[c.token] >= mostOwnStreams {
		return nil, nil, wrong(teamwire.CodeTooMany, "the server or the token has too many streams", "read the records with wait=25s")
	}
	f := s.feeds.open[workspace]
	if f == nil {
		ctx, stop := context.WithCancel(s.ending)
		f = &feed{team: c.team, workspace: name, stop: stop, heads: map[string]store.Head{}, streams: map[chan teamwire.HeadEvent]bool{}}
		s.feeds.open[workspace] = f
		s.background.Go(func() { s.follow(ctx, f) })
	}
	s.feeds.streams++
	s.feeds.own[c.token]++
	events := make(chan teamwire.HeadEvent, streamRoom+mostTracks)
	f.mu.Lock()
	for track, head := range f.heads {
		events <- teamwire.HeadEvent{Track: track, Head: head}
	}
	f.streams[events] = false
	f.mu.Unlock()
	leave := func() {
		s.feeds.mu.Lock()
		defer s.feeds.mu.Unlock()
		s.feeds.streams--
		if s.feeds.own[c.token]--; s.feeds.own[c.token] == 0 {
			delete(s.feeds.own, c.token)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.streams, events)
		if len(f.streams) == 0 {
			f.stop()
			delete(s.feeds.open, workspace)
		}
	}
	return events, leave, nil
}

// feedWait bounds a read of heads, and is the time until the next one after a failure.
const feedWait = 2 * time.Second

// follow reads the heads of the workspace after each notice of a track of its team, and tells the streams.
func (s *Server) follow(ctx context.Context, f *feed) {
	grown, err := s.db.WatchTeam(ctx, f.team)
	if err != nil {
		return // the server ends
	}
	var ids []int64               // of the tracks that grew; nil: all tracks
	elsewhere := map[int64]bool{} // tracks of the team's other workspaces
	var again <-chan time.Time    // after a failure
	for {
		if ids == nil || len(ids) > 0 {
			limited, cancel := context.WithTimeout(ctx, feedWait)
			heads, err := s.heads(limited, f.team, f.workspace, ids...)
			cancel()
			if err != nil && ctx.Err() == nil {
				s.log.Warn("the heads of a workspace cannot be read", "error", err)
				again = time.After(feedWait)
			}
			for _, id := range ids {
				elsewhere[id] = err == nil && !slices.ContainsFunc(heads, func(h trackHead) bool { return h.id == id })
			}
			f.tell(heads)
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

// tell sends the heads that changed to all streams. A stream without room ends.
func (f *feed) tell(heads []trackHead) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range heads {
		if f.heads[h.track] == h.head {
			continue
		}
		f.heads[h.track] = h.head
		for events, ended := range f.streams {
			if ended {
				continue
			}
			select {
			case events <- teamwire.HeadEvent{Track: h.track, Head: h.head}:
			default:
				close(events)
				f.streams[events] = true
			}
		}
	}
}
