package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/origin"
)

// postMCP takes one message of the streamable transport, of either era.
func (s *HTTPServer) postMCP(w http.ResponseWriter, r *http.Request) {
	msg, ok := s.readMessage(w, r)
	if !ok {
		return
	}
	modern := isModern(r, msg)
	// Two limits of the library keep some messages of the stateless protocol from it:
	//
	//   - It keys running requests by session and request id, and on the stateless
	//     protocol the session is empty: one client could cancel another's
	//     request. Closing the connection still cancels, as the protocol has it.
	//   - It answers 400 to a notification without _meta, upon which the official
	//     Go client gives up its session.
	//
	// Only the body's method decides, never a header.
	if modern && msg.Kind == Notification &&
		(msg.Method == string(mcp.MethodNotificationCancelled) || msg.ProtocolVersion() == "") {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if !modern && !s.checkSession(w, r, msg) {
		return
	}
	r = r.WithContext(r.Context()) // a copy, for the body that was read
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(msg.Raw)), int64(len(msg.Raw))
	switch {
	case modern && msg.Kind == Request && msg.Method == string(mcp.MethodSubscriptionsListen):
		s.listen(w, r, msg)
	case msg.Kind == Request:
		s.call(w, r, msg)
	default:
		s.calls.cancel(r.Header.Get(mcp.HeaderSessionID), msg)
		s.forward(newResponse(w), r)
	}
}

// call runs one request to its answer. A stop of the server waits for it.
func (s *HTTPServer) call(w http.ResponseWriter, r *http.Request, msg Message) {
	session := r.Header.Get(mcp.HeaderSessionID)
	if isModern(r, msg) {
		session = "" // its calls cannot be cancelled by a message
	}
	k := s.beginCall(r.Context(), w, session, msg)
	if k == nil {
		return
	}
	defer s.calls.remove(k)
	resp := newResponse(w)
	resp.call = k
	if msg.Method == string(mcp.MethodInitialize) {
		// The library answers before it registers the session. A client must not be able to use it in between.
		resp.buffer = &bytes.Buffer{}
	}
	defer resp.finish()
	s.run(resp, r)
	s.sessions.update(resp.Header().Get(mcp.HeaderSessionID), func(known *httpSession) { known.client = s.client(r) })
}

// end ends a session as its client would.
func (s *HTTPServer) end(session string) {
	r := &http.Request{Method: http.MethodDelete, URL: &url.URL{Path: "/mcp"}, Header: http.Header{}}
	r.Header.Set(mcp.HeaderSessionID, session)
	s.run(&response{header: http.Header{}}, r)
}

// listen runs a subscription of the stateless protocol until the client goes or the server stops; then it reports the
// end of the stream to the client.
func (s *HTTPServer) listen(w http.ResponseWriter, r *http.Request, msg Message) {
	s.stream(w, r, func(resp *response, r *http.Request) {
		s.run(resp, r)
		if s.ending.Err() != nil && resp.isEventStream() {
			_ = resp.send("message", listenResult(msg.ID))
		}
	})
}

func listenResult(rawID json.RawMessage) []byte {
	var id any
	// Its reader has checked that the id is a string or a number.
	_ = json.Unmarshal(rawID, &id)
	result := &mcp.SubscriptionsListenResult{}
	result.SetResultType(mcp.ResultTypeComplete)
	result.EnsureResultMeta().SetSubscriptionID(id)
	encoded, _ := json.Marshal(mcp.NewJSONRPCResultResponse(mcp.NewRequestId(id), result)) // which it always can
	return encoded
}

// getMCP opens the listening stream of a handshake session.
func (s *HTTPServer) getMCP(w http.ResponseWriter, r *http.Request) {
	if isModern(r, Message{}) {
		s.forward(newResponse(w), r) // the library names the alternative
		return
	}
	if !s.checkSession(w, r, Message{}) {
		return
	}
	id := r.Header.Get(mcp.HeaderSessionID)
	s.sessions.update(id, func(known *httpSession) { known.listening++ })
	defer s.sessions.update(id, func(known *httpSession) { known.listening-- })
	s.stream(w, r, s.run)
}

func (s *HTTPServer) deleteMCP(w http.ResponseWriter, r *http.Request) {
	if !isModern(r, Message{}) && !s.checkSession(w, r, Message{}) {
		return
	}
	s.forward(newResponse(w), r)
}

// checkSession requires messages of the handshake revisions to belong to a session begun by initialize. The library
// would create a session for a GET with any id.
func (s *HTTPServer) checkSession(w http.ResponseWriter, r *http.Request, msg Message) bool {
	if msg.Method == string(mcp.MethodInitialize) && msg.Kind == Request {
		if surplus := s.sessions.sessionToReplace(s.client(r)); surplus != "" {
			s.end(surplus)
		}
		return true
	}
	status, problem := http.StatusBadRequest, ""
	switch version, id := r.Header.Get(mcp.HeaderProtocolVersion), r.Header.Get(mcp.HeaderSessionID); {
	case version != "" && !mcp.IsValidProtocolVersion(version):
		problem = "the Mcp-Protocol-Version header has an unsupported version; send the one agreed in initialize"
	case id == "":
		problem = "no session: send initialize first, then its Mcp-Session-Id with every request"
	default:
		if _, err := s.sessions.Validate(id); err == nil {
			return true
		}
		status, problem = http.StatusNotFound, "the session is unknown or has ended: send initialize again, without Mcp-Session-Id"
	}
	writeError(w, status, msg.ID, mcp.INVALID_REQUEST, problem)
	return false
}

// stream runs a handler that answers for as long as the client listens. Its context ends with the request or with the
// server.
func (s *HTTPServer) stream(w http.ResponseWriter, r *http.Request, handle func(*response, *http.Request)) {
	if s.calls.isStopping() {
		refuseStopping(w)
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "10")
		writeError(w, http.StatusServiceUnavailable, nil, mcp.INTERNAL_ERROR, "too many streams are open; close some, or try again later")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ending, cancel)()
	resp := newResponse(w)
	defer resp.finish()
	go resp.keepAlive(ctx, s.opts.KeepAlive)
	handle(resp, r.WithContext(ctx))
}

func (s *HTTPServer) forward(resp *response, r *http.Request) {
	defer resp.finish()
	s.run(resp, r)
}

// run passes the request to the library. A panic of a handler is answered and logged; it ends one request, not the
// connection's others.
func (s *HTTPServer) run(resp *response, r *http.Request) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.Error("panic while serving a request", "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
			resp.abort()
		}
	}()
	s.streamable.ServeHTTP(resp, r)
}

// abort answers a request with a failed handler, if nothing was sent yet.
func (r *response) abort() {
	r.mu.Lock()
	begun := r.w == nil || r.status != 0 && r.buffer == nil
	if !begun {
		r.status, r.buffer = 0, nil
	}
	r.mu.Unlock()
	if !begun {
		writeError(r, http.StatusInternalServerError, nil, mcp.INTERNAL_ERROR, "internal error; the server's log has the cause")
	}
}

func refuseStopping(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	writeError(w, http.StatusServiceUnavailable, nil, mcp.INTERNAL_ERROR, "the server is stopping; try again when it is back")
}

// isModern reports a message's era by the library's own rule: the body or the header names the stateless protocol.
func isModern(r *http.Request, msg Message) bool {
	return msg.isModern() || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
}

// readMessage reads the single message of a POST, or answers with the reason it cannot.
func (s *HTTPServer) readMessage(w http.ResponseWriter, r *http.Request) (Message, bool) {
	body, err := origin.ReadJSON(w, r, s.opts.MaxBody, s.opts.BodyTimeout)
	if err != nil {
		s.refuseBody(w, err)
		return Message{}, false
	}
	msg, refused := Parse(body)
	if refused == nil && msg.Kind == Response && msg.Key == "" {
		refused = Refusal(nil, mcp.INVALID_REQUEST, "invalid request: a response has the id of a request")
	}
	if refused != nil {
		answerError(w, http.StatusBadRequest, refused)
		return Message{}, false
	}
	return msg, true
}

func (s *HTTPServer) refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, origin.ErrNotJSON):
		refuse(w, http.StatusUnsupportedMediaType,
			"the body must be JSON in UTF-8: send Content-Type: application/json, without Content-Encoding")
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes; send less at a time", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestTimeout, fmt.Sprintf("the body did not arrive within %s; send it at once", s.opts.BodyTimeout))
	default:
		w.Header().Set("Connection", "close")
		writeError(w, http.StatusBadRequest, nil, mcp.PARSE_ERROR, "the body could not be read to its end; send it again")
	}
}

// refuse answers a request that does not reach the protocol. The text names the fault and the accepted form, and never
// repeats the input.
func refuse(w http.ResponseWriter, status int, text string) {
	writeError(w, status, nil, mcp.INVALID_REQUEST, text)
}

// writeError answers with a JSON-RPC error, which MCP clients show in full. An unknown id is null.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, code int, text string) {
	answerError(w, status, Refusal(id, code, text))
}

func answerError(w http.ResponseWriter, status int, e *mcp.JSONRPCError) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_, _ = w.Write(encodeError(e))
}

func encodeError(e *mcp.JSONRPCError) []byte {
	encoded, _ := json.Marshal(e) // strings, numbers and an id that was read: cannot fail
	return Clean(encoded)
}

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
	err = errUnknownSession
	s.update(id, func(known *httpSession) { known.uses, known.used, err = known.uses+1, time.Now(), nil })
	return false, err
}

// Terminate ends a session.
func (s *sessions) Terminate(id string) (isNotAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alive, id)
	return false, nil
}

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
