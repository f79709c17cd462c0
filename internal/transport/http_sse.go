package transport

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"

	"slices"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The HTTP with SSE transport is this package's own, over the library's HandleMessage. The library's version runs calls
// before initialize, offers the stateless protocol but cannot serve it, sends an answer before the notifications that
// preceded it, lets every web page read its stream, and cannot tell when its last call has been answered.

// openSSE begins a session and serves its stream until either side ends it.
func (s *HTTPServer) openSSE(w http.ResponseWriter, r *http.Request) {
	s.stream(w, r, func(resp *response, r *http.Request) {
		ctx := r.Context()
		session := newSSESession(ctx)
		if err := s.mcp.RegisterSession(ctx, session); err != nil {
			refuse(resp, http.StatusInternalServerError, "the session could not be opened; try again")
			return
		}
		defer s.mcp.UnregisterSession(context.WithoutCancel(ctx), session.ID)
		s.sse.Store(session.ID, session)
		defer s.sse.Delete(session.ID)

		resp.Header().Set("Content-Type", "text/event-stream")
		resp.Header().Set("Cache-Control", "no-store")
		if resp.send("endpoint", []byte("/message?sessionId="+session.ID)) == nil {
			session.pump(resp)
		}
	})
}

// postSSE takes one message of a session; its answer goes out on the stream.
func (s *HTTPServer) postSSE(w http.ResponseWriter, r *http.Request) {
	found, _ := s.sse.Load(r.URL.Query().Get("sessionId"))
	session, ok := found.(*sseSession)
	if !ok {
		refuse(w, http.StatusNotFound, "the session is unknown or has ended: open /sse and post to the endpoint it names")
		return
	}
	msg, ok := s.readMessage(w, r)
	if !ok {
		return
	}
	var k *call
	if msg.Kind == Request {
		if k = s.begin(w, r, session, msg); k == nil {
			return
		}
	}
	w.WriteHeader(http.StatusAccepted)
	switch {
	case msg.Kind == Request:
		go s.answer(session, msg, k)
	case msg.Kind == Notification && session.Initialized():
		s.calls.cancel(session.ID, msg)
		s.handle(session, msg)
	}
	// A response answers nothing: this transport sends no requests to its clients.
}

// begin records a call. It waits while the session has its maximum of running calls.
func (s *HTTPServer) begin(w http.ResponseWriter, r *http.Request, session *sseSession, msg Message) *call {
	select {
	case session.running <- struct{}{}:
	case <-r.Context().Done():
		return nil
	case <-session.ctx.Done():
		refuse(w, http.StatusNotFound, "the session has ended: open /sse again")
		return nil
	}
	k := s.beginCall(session.ctx, w, session.ID, msg)
	if k == nil {
		<-session.running
	}
	return k
}

// answer runs one request and puts its answer on the stream. postSSE has counted the call and starts it; it ends with
// the call or the session.
func (s *HTTPServer) answer(session *sseSession, msg Message, k *call) {
	defer s.calls.remove(k)
	defer func() { <-session.running }()
	if refusal := session.refusal(msg); refusal != nil {
		session.sendAnswer(refusal)
		return
	}
	if answer := s.handle(session, msg); answer != nil && !k.isCancelled() {
		session.sendAnswer(answer)
	}
}

// handle runs one message and encodes its answer, if any.
func (s *HTTPServer) handle(session *sseSession, msg Message) []byte {
	result := handle(s.mcp.WithContext(session.ctx, session), s.mcp, s.log, msg)
	if result == nil || msg.Kind != Request {
		return nil
	}
	return encode(s.log, msg.ID, result)
}

const (
	maxQueuedNotifications = 100
	maxRunning             = 64 // calls of one session at a time
)

// sseSession is one client of the HTTP with SSE transport. It lives as long as its stream.
type sseSession struct {
	ctx     context.Context // ends with the stream, and ends every call
	answers chan []byte
	running chan struct{}
	baseSession
}

var (
	_ server.SessionWithLogging         = (*sseSession)(nil)
	_ server.SessionWithClientInfo      = (*sseSession)(nil)
	_ server.SessionWithProtocolVersion = (*sseSession)(nil)
)

func newSSESession(ctx context.Context) *sseSession {
	return &sseSession{
		baseSession: baseSession{ID: rand.Text(), Notes: make(chan mcp.JSONRPCNotification, maxQueuedNotifications)},
		ctx:         ctx,
		answers:     make(chan []byte),
		running:     make(chan struct{}, maxRunning),
	}
}

// pump is the only writer of the stream. It returns when the stream has ended or the client stopped reading.
func (s *sseSession) pump(resp *response) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case n := <-s.Notes:
			if s.write(resp, n) != nil {
				return
			}
		case answer := <-s.answers:
			// A call's notifications go out before its answer.
			for len(s.Notes) > 0 {
				if s.write(resp, <-s.Notes) != nil {
					return
				}
			}
			if resp.send("message", answer) != nil {
				return
			}
		}
	}
}

func (s *sseSession) write(resp *response, n mcp.JSONRPCNotification) error {
	encoded, err := json.Marshal(n)
	if err != nil {
		return nil // a notification that cannot be encoded does not end the stream
	}
	return resp.send("message", encoded)
}

// sendAnswer sends an answer to the stream, or drops it when the stream ends.
func (s *sseSession) sendAnswer(answer []byte) {
	select {
	case s.answers <- answer:
	case <-s.ctx.Done():
	}
}

// refusal returns the answer to a request that this transport does not run, else nil. A request of the stateless
// protocol, including server/discover, gets the revisions spoken here: clients then use the handshake, while mcp-go's
// client takes any discover result for a stateless server.
func (s *sseSession) refusal(msg Message) []byte {
	if msg.isModern() {
		unsupported := mcp.UnsupportedProtocolVersionError{Version: msg.ProtocolVersion(),
			Supported: mcp.LegacyProtocolVersions()}.JSONRPCError()
		unsupported.ID = mcp.NewRequestId(msg.ID)
		return encodeError(&unsupported)
	}
	if refused := notInitialized(msg, s.Initialized()); refused != nil {
		return encodeError(refused)
	}
	return nil
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
	sessions map[string]eventLog
}

type eventLog struct {
	kept  []event
	bytes int
}

type event struct {
	id, stream string
	message    json.RawMessage
}

func newEvents() *events { return &events{sessions: map[string]eventLog{}} }

// StoreEvent records a message and returns its id.
func (e *events) StoreEvent(_ context.Context, sessionID, streamID string, message json.RawMessage) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	id, log := strconv.FormatUint(e.last, 10), e.sessions[sessionID]
	log.kept = append(log.kept, event{id: id, stream: streamID, message: slices.Clone(message)})
	log.bytes += len(message)
	for len(log.kept) > 1 && (len(log.kept) > maxEvents || log.bytes > maxEventBytes) {
		log.bytes -= len(log.kept[0].message)
		log.kept = slices.Delete(log.kept, 0, 1)
	}
	e.sessions[sessionID] = log
	return id, nil
}

// ReplayEventsAfter resends the messages after an event on its stream.
func (e *events) ReplayEventsAfter(_ context.Context, sessionID, lastEventID string, send func(string,
	json.RawMessage) error) (string, error) {
	e.mu.Lock()
	kept := slices.Clone(e.sessions[sessionID].kept)
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
