package web

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/review"
)

const (
	maxStreams     = 128
	maxViewStreams = 64 // of them, for sessions that only look
	eventTimeout   = 10 * time.Second
)

// streams holds the open streams of changes and their single follower, from the first stream until the workspaces or the server ends.
type streams struct {
	watch func(context.Context) <-chan review.Change

	mu            sync.Mutex
	ending        context.Context // done when all of them must end
	end           context.CancelFunc
	news          *changes // nil without a follower
	open, looking int
	running       sync.WaitGroup // the streams and the follower
}

// changes holds the follower's last change of each workspace, so that a slow stream gets several as one.
type changes struct {
	hub broadcast.Hub // closed when the follower is gone

	mu     sync.Mutex
	latest map[string]numberedChange // by workspace
	count  int
}

// numberedChange is a change with its number in the sequence of all.
type numberedChange struct {
	review.Change
	number int
}

func newStreams(workspaces review.Workspaces) *streams {
	s := &streams{watch: workspaces.Watch}
	s.ending, s.end = context.WithCancel(context.Background())
	return s
}

// join counts a stream until leave is called.
func (s *streams) join(decides bool) (n *changes, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	looks := 1
	if decides {
		looks = 0
	}
	if s.open >= maxStreams || s.looking+looks > maxViewStreams || s.ending.Err() != nil {
		return nil, nil, &refusal{Kind: busy, Problem: "too many pages are open", Fix: "close some", after: 10 * time.Second}
	}
	s.open, s.looking = s.open+1, s.looking+looks
	s.running.Add(1)
	if s.news == nil {
		s.news = &changes{latest: map[string]numberedChange{}}
		s.running.Add(1)
		go s.follow(s.news, s.watch(s.ending)) // from now on: an open stream misses no change
	}
	return s.news, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open, s.looking = s.open-1, s.looking-looks
		s.running.Done()
	}, nil
}

// follow receives changes until the workspaces close the channel.
func (s *streams) follow(n *changes, changes <-chan review.Change) {
	defer s.running.Done()
	for change := range changes {
		n.tell(change)
	}
	s.mu.Lock()
	s.news = nil
	s.mu.Unlock()
	n.hub.Close()
}

func (s *streams) close() {
	s.mu.Lock() // prevents new ones
	s.end()
	s.mu.Unlock()
	s.running.Wait()
}

func (n *changes) tell(change review.Change) {
	n.mu.Lock()
	n.count++
	n.latest[change.Workspace] = numberedChange{change, n.count}
	n.mu.Unlock()
	n.hub.Notify()
}

// since lists the changes after a number, oldest first, and returns the number of the last.
func (n *changes) since(number int) ([]numberedChange, int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := slices.SortedFunc(maps.Values(n.latest), func(a, b numberedChange) int { return cmp.Compare(a.number, b.number) })
	return slices.DeleteFunc(list, func(change numberedChange) bool { return change.number <= number }), n.count
}

// getEvents streams changes to the page. It ends with the page, the session, the server, or if the page does not read.
func (s *Server) getEvents(c call) (any, error) {
	news, leave, err := s.streams.join(c.session.decides)
	if err != nil {
		return nil, err
	}
	defer leave()
	defer s.sessions.watch(c.session)()
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	defer context.AfterFunc(s.streams.ending, cancel)()
	out := &eventWriter{w: c.w, limits: http.NewResponseController(c.w), ctx: ctx}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		out.cut()
	})
	defer func() {
		if !stop() {
			<-cut // net/http panics if a deadline is set after the answer, in HTTP/2
		}
		origin.LimitWrite(c.w)
	}()

	told := news.hub.Listen(ctx)
	_, sent := news.since(0)
	c.w.Header().Set("Content-Type", "text/event-stream")
	if out.send(": watching\n\n") != nil { // the page may look now: later changes are sent
		return nil, nil
	}
	heartbeat := time.NewTicker(s.opts.Heartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case <-c.session.done:
			return nil, nil
		case <-heartbeat.C:
			s.sessions.dropIdle()
			err = out.send(": here\n\n")
		case _, more := <-told:
			var list []numberedChange
			list, sent = news.since(sent)
			text := ""
			for _, change := range list {
				data, _ := json.Marshal(change.Change) // a text and a number: cannot fail
				text += "data: " + string(data) + "\n\n"
			}
			if !more {
				return nil, nil
			}
			err = out.send(text)
		}
		if err != nil {
			return nil, nil // a page that does not read is dropped, and one that has gone needs no answer
		}
	}
}

// eventWriter writes to one stream, each write with a time limit. There is none between the writes: in HTTP/2, its end resets the stream.
type eventWriter struct {
	w      http.ResponseWriter
	limits *http.ResponseController
	ctx    context.Context

	mu        sync.Mutex
	isWriting bool
}

// limit sets the time limit of a write, or removes it after the write.
func (e *eventWriter) limit(isWriting bool, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.isWriting = isWriting
	_ = e.limits.SetWriteDeadline(until) // writers in tests have no deadlines
}

// cut ends a write in progress.
func (e *eventWriter) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isWriting {
		_ = e.limits.SetWriteDeadline(time.Now())
	}
}

func (e *eventWriter) send(text string) error {
	// Set before the context is checked: either it has not ended, or its end cuts this write.
	e.limit(true, time.Now().Add(eventTimeout))
	defer e.limit(false, time.Time{})
	if err := e.ctx.Err(); err != nil {
		return err
	}
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	return e.limits.Flush()
}
