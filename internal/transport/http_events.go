package transport

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

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
	e.mu.Lock()
	var kept []event
	if log := e.sessions[sessionID]; log != nil {
		kept = slices.Clone(log.kept)
	}
	e.mu.Unlock()
	at := slices.IndexFunc(kept, func(ev event) bool { return ev.id == lastEventID })
	if at < 0 {
		return "", server.ErrUnknownEventID
	}
	for _, ev := range kept[at+1:] {
		if ev.stream == kept[at].stream {
			if err := send(ev.id, ev.message); err != nil {
				return "", err
			}
		}
	}
	return kept[at].stream, nil
}

// PurgeSession forgets the events of an ended session.
func (e *events) PurgeSession(_ context.Context, sessionID string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, sessionID)
	return nil
}
