package httpserve

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// The HTTP with SSE transport is this package's own, over the library's
// HandleMessage. The library's runs calls before initialize, offers the
// stateless protocol and cannot serve it, answers a call before the
// notifications that preceded the answer, lets every web page read its stream,
// and cannot tell when its last call has been answered.

// sseStreams are the open streams by session id.
type sseStreams struct {
	mu   sync.Mutex
	open map[string]*sseSession
}

func newSSEStreams() *sseStreams { return &sseStreams{open: map[string]*sseSession{}} }

func (s *sseStreams) add(session *sseSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[session.id] = session
}

func (s *sseStreams) remove(session *sseSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, session.id)
}

func (s *sseStreams) find(id string) *sseSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// openSSE begins a session and is its stream until either side ends it.
func (s *Server) openSSE(w http.ResponseWriter, r *http.Request) {
	s.stream(w, r, func(resp *response, r *http.Request) {
		ctx := r.Context()
		session := newSSESession(ctx)
		if err := s.mcp.RegisterSession(ctx, session); err != nil {
			refuse(resp, http.StatusInternalServerError, "the session could not be begun; try again")
			return
		}
		defer s.mcp.UnregisterSession(context.WithoutCancel(ctx), session.id)
		s.sse.add(session)
		defer s.sse.remove(session)

		resp.Header().Set("Content-Type", "text/event-stream")
		resp.Header().Set("Cache-Control", "no-store")
		if resp.send("endpoint", []byte("/message?sessionId="+session.id)) == nil {
			session.pump(resp)
		}
	})
}

// postSSE takes one message of a session; its answer goes out on the stream.
func (s *Server) postSSE(w http.ResponseWriter, r *http.Request) {
	session := s.sse.find(r.URL.Query().Get("sessionId"))
	if session == nil {
		refuse(w, http.StatusNotFound, "the session is unknown or has ended: open /sse and post to the endpoint it names")
		return
	}
	msg, ok := s.readMessage(w, r)
	if !ok {
		return
	}
	if msg.isRequest() && !s.begin(w, r, session) {
		return
	}
	w.WriteHeader(http.StatusAccepted)
	switch {
	case msg.isRequest():
		go s.answer(session, msg)
	case msg.isNotification() && session.Initialized():
		s.handle(session, msg)
	}
	// A response answers nothing: no request is sent to a client of this
	// transport.
}

// begin counts a call in. It waits while the session has as many running as it
// may.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, session *sseSession) bool {
	select {
	case session.running <- struct{}{}:
	case <-r.Context().Done():
		return false
	case <-session.ctx.Done():
		refuse(w, http.StatusNotFound, "the session has ended: open /sse again")
		return false
	}
	if !s.calls.begin() {
		<-session.running
		refuseStopping(w)
		return false
	}
	return true
}

// answer runs one request and puts its answer on the stream. It is started by
// postSSE, which has counted it in, and ends with the call or the session.
func (s *Server) answer(session *sseSession, msg message) {
	defer s.calls.end()
	defer func() { <-session.running }()
	if refusal := session.refusal(msg); refusal != nil {
		session.put(refusal)
		return
	}
	if answer := s.handle(session, msg); answer != nil {
		session.put(answer)
	}
}

// handle runs one message and encodes what it is answered with, if anything.
func (s *Server) handle(session *sseSession, msg message) (answer []byte) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.Error("panic while serving a message", "panic", cause, "stack", string(debug.Stack()))
			answer = internalError(msg)
		}
	}()
	ctx := s.mcp.WithContext(session.ctx, session)
	result := s.mcp.HandleMessage(ctx, msg.body)
	if result == nil {
		return nil
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		s.log.Error("an answer could not be encoded", "err", err)
		return internalError(msg)
	}
	return encoded
}

func internalError(msg message) []byte {
	if !msg.isRequest() {
		return nil
	}
	return errorMessage(msg.id, mcp.INTERNAL_ERROR, "internal error; the server's log has the cause", nil)
}
