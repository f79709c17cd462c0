package transport

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// maxSessions bounds the handshake sessions alive at a time, since clients rarely end theirs. One client has at most
// half of them.
const maxSessions = 1000

var errUnknownSession = errors.New("unknown session")

// sessions are the handshake sessions that are alive. It is the library's session id manager: an ended session is
// forgotten, and so unknown.
type sessions struct {
	mu    sync.Mutex
	alive map[string]*httpSession
}

// httpSession holds the data that decides which session makes room for another.
type httpSession struct {
	client    string
	listening int // open streams
	uses      int // since initialize
	used      time.Time
}

// Generate begins a session.
func (s *sessions) Generate() string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive[id] = &httpSession{used: time.Now()}
	return id
}

// Validate returns an error unless the session is alive, and records its use.
func (s *sessions) Validate(id string) (isTerminated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.alive[id]
	if known == nil {
		return false, errUnknownSession
	}
	known.uses, known.used = known.uses+1, time.Now()
	return false, nil
}

// Terminate ends a session.
func (s *sessions) Terminate(id string) (isNotAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alive, id)
	return false, nil
}

// update updates a session, if it is still alive.
func (s *sessions) update(id string, do func(*httpSession)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.alive[id]; known != nil {
		do(known)
	}
}

// sessionToReplace returns the session that must make room for a client's next one, "" while there is room: one of the client's
// own if it has its share, else of any client. Sessions not used since initialize go first, those with an open stream
// last; otherwise the one idle longest. Its client must initialize again.
func (s *sessions) sessionToReplace(client string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all, own []string
	for id, known := range s.alive {
		if all = append(all, id); known.client == client {
			own = append(own, id)
		}
	}
	among := own
	if len(own) < maxSessions/2 {
		among = all
		if len(all) < maxSessions {
			return ""
		}
	}
	return slices.MinFunc(among, func(a, b string) int {
		x, y := s.alive[a], s.alive[b]
		return cmp.Or(cmp.Compare(min(x.listening, 1), min(y.listening, 1)), cmp.Compare(min(x.uses, 1), min(y.uses, 1)),
			x.used.Compare(y.used))
	})
}

// Bounds of the events that a session keeps for a client that resumes a stream.
const (
	maxEvents     = 256
	maxEventBytes = 1 << 20
)

// events records the messages sent on the streams of each session, so that a client can resume one. Unlike the
// library's own store it is bounded: a session's oldest events are dropped, and a client that was away for longer
// starts a fresh stream.
type events struct {
	mu       sync.Mutex
	last     uint64
	sessions map[string]*eventLog
}

type eventLog struct {
	kept  []event
	bytes int
}

type event struct {
	id, stream string
	message    json.RawMessage
}

func newEvents() *events { return &events{sessions: map[string]*eventLog{}} }

// StoreEvent records a message and returns its id.
func (e *events) StoreEvent(_ context.Context, sessionID, streamID string, message json.RawMessage) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	log := e.sessions[sessionID]
	if log == nil {
		log = &eventLog{}
		e.sessions[sessionID] = log
	}
	e.last++
	id := strconv.FormatUint(e.last, 10)
	log.add(event{id: id, stream: streamID, message: slices.Clone(message)})
	return id, nil
}

func (l *eventLog) add(ev event) {
	l.kept = append(l.kept, ev)
	l.bytes += len(ev.message)
	drop := 0
	for len(l.kept)-drop > 1 && (len(l.kept)-drop > maxEvents || l.bytes > maxEventBytes) {
		l.bytes -= len(l.kept[drop].message)
		drop++
	}
	l.kept = slices.Delete(l.kept, 0, drop)
}

// ReplayEventsAfter resends the messages after an event on its stream.
func (e *events) ReplayEventsAfter(_ context.Context, sessionID, lastEventID string, send func(string,
	json.RawMessage) error) (string, error) {
	stream, missed, err := e.after(sessionID, lastEventID)
	if err != nil {
		return "", err
	}
	for _, ev := range missed {
		if err := send(ev.id, ev.message); err != nil {
			return "", err
		}
	}
	return stream, nil
}

func (e *events) after(sessionID, lastEventID string) (string, []event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	log := e.sessions[sessionID]
	if log == nil {
		return "", nil, server.ErrUnknownEventID
	}
	at := slices.IndexFunc(log.kept, func(ev event) bool { return ev.id == lastEventID })
	if at < 0 {
		return "", nil, server.ErrUnknownEventID
	}
	stream := log.kept[at].stream
	var missed []event
	for _, ev := range log.kept[at+1:] {
		if ev.stream == stream {
			missed = append(missed, ev)
		}
	}
	return stream, missed, nil
}

// PurgeSession forgets the events of an ended session.
func (e *events) PurgeSession(_ context.Context, sessionID string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, sessionID)
	return nil
}
