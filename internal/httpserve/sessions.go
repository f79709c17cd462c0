package httpserve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

// maxSessions bounds the handshake sessions alive at a time, since clients
// rarely end theirs.
const maxSessions = 1000

var errUnknownSession = errors.New("unknown session")

// sessions are the handshake sessions that are alive. It is the library's
// session id manager: an ended session is forgotten, and so unknown.
type sessions struct {
	mu    sync.Mutex
	alive map[string]struct{}
}

// Generate begins a session.
func (s *sessions) Generate() string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive[id] = struct{}{}
	return id
}

// Validate tells whether the session is alive.
func (s *sessions) Validate(id string) (isTerminated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found := s.alive[id]; !found {
		return false, errUnknownSession
	}
	return false, nil
}

// Terminate ends a session.
func (s *sessions) Terminate(id string) (isNotAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alive, id)
	return false, nil
}

func (s *sessions) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.alive) >= maxSessions
}

// A session keeps this much for a client that comes back to a broken stream.
const (
	maxEvents     = 256
	maxEventBytes = 1 << 20
)

// events records what went out on the streams of each session, so that a
// client can resume one. Unlike the library's own store it is bounded: the
// oldest events of a session are dropped, and a client that was away for longer
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

// StoreEvent records a message and names it.
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

// ReplayEventsAfter sends again what followed an event on its stream.
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
