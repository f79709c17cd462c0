package stdio

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/transport"
)

// maxNotes bounds the notifications that wait to be written; the library drops
// what comes beyond it.
const maxNotes = 1024

// session is the client of one connection, as the library sees it.
type session struct {
	transport.Client
	transport.LogLevel
	id          string
	notes       chan mcp.JSONRPCNotification
	initialized atomic.Bool
	opening     atomic.Bool // an initialize is being answered
	listens     atomic.Int64
	*asking
}

var (
	_ server.SessionWithLogging         = (*session)(nil)
	_ server.SessionWithClientInfo      = (*session)(nil)
	_ server.SessionWithProtocolVersion = (*session)(nil)
	_ server.SessionWithElicitation     = (*session)(nil)
	_ server.SessionWithRoots           = (*session)(nil)
	_ server.SessionWithSampling        = (*session)(nil)
)

func newSession(send func(context.Context, outgoing) bool) *session {
	s := &session{
		id:    "stdio-" + rand.Text(),
		notes: make(chan mcp.JSONRPCNotification, maxNotes),
	}
	s.asking = newAsking(send, s.notes)
	return s
}

// SessionID is random, so that it can name who acted.
func (s *session) SessionID() string { return s.id }

// NotificationChannel takes what is to be written to the client.
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notes }

// Initialize is called by the library at the handshake and at every stateless request.
func (s *session) Initialize() { s.initialized.Store(true) }

// Initialized reports whether the client may be sent notifications.
func (s *session) Initialized() bool { return s.initialized.Load() && !s.opening.Load() }

// legacy reports whether the handshake took place.
func (s *session) legacy() bool { return s.ProtocolVersion() != "" }

// unasked reports whether the client of a connection without handshake would get
// a notification which the stateless protocol allows on a listen stream only.
func (s *session) unasked(method string) bool {
	switch method {
	case mcp.MethodNotificationToolsListChanged, mcp.MethodNotificationPromptsListChanged,
		mcp.MethodNotificationResourcesListChanged, mcp.MethodNotificationResourceUpdated:
		return !s.legacy()
	}
	return false
}

// ErrClosed is returned by a request to a client that closed the connection.
var ErrClosed = errors.New("the client closed the connection before it answered")

// ClientError is the error a client answered one of our requests with.
type ClientError struct {
	Method  string
	Code    int
	Message string
}

func (e *ClientError) Error() string {
	return fmt.Sprintf("the client refused %s: %s (code %d)", e.Method, e.Message, e.Code)
}

// asking sends requests to the client and routes its answers. Its ids live in a
// map of their own, so they cannot be taken for those of the client's requests.
type asking struct {
	send  func(context.Context, outgoing) bool
	notes chan<- mcp.JSONRPCNotification

	mu      sync.Mutex
	last    int64
	pending map[string]chan transport.Message
	closed  chan struct{}
}

func newAsking(send func(context.Context, outgoing) bool, notes chan<- mcp.JSONRPCNotification) *asking {
	return &asking{send: send, notes: notes, pending: make(map[string]chan transport.Message), closed: make(chan struct{})}
}

// close ends every open request, once no answer can come any more.
func (a *asking) close() { close(a.closed) }

// answered takes an answer to the request it belongs to; others are dropped.
func (a *asking) answered(m transport.Message) {
	a.mu.Lock()
	reply, ok := a.pending[m.Key]
	delete(a.pending, m.Key)
	a.mu.Unlock()
	if ok {
		reply <- m
	}
}

func (a *asking) open() (id int64, reply chan transport.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	reply = make(chan transport.Message, 1)
	a.pending[askKey(a.last)] = reply
	return a.last, reply
}

func (a *asking) forget(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, askKey(id))
}

func askKey(id int64) string { return "n" + strconv.FormatInt(id, 10) }

// ask sends a request and decodes its result into out.
func (a *asking) ask(ctx context.Context, method mcp.MCPMethod, params, out any) error {
	select {
	case <-a.closed:
		return ErrClosed
	default:
	}
	id, reply := a.open()
	defer a.forget(id)
	data, err := json.Marshal(struct {
		JSONRPC string        `json:"jsonrpc"`
		ID      int64         `json:"id"`
		Method  mcp.MCPMethod `json:"method"`
		Params  any           `json:"params,omitempty"`
	}{mcp.JSONRPC_VERSION, id, method, params})
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	if !a.send(ctx, outgoing{data: data}) {
		return cmp.Or(ctx.Err(), ErrClosed)
	}
	select {
	case m := <-reply:
		return decodeReply(method, m, out)
	case <-ctx.Done():
		a.withdraw(id)
		return ctx.Err()
	case <-a.closed:
		return ErrClosed
	}
}

// withdraw tells the client that nobody waits any more, so that it can close a
// dialogue. It is a courtesy and never waits.
func (a *asking) withdraw(id int64) {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = string(mcp.MethodNotificationCancelled)
	n.Params.AdditionalFields = map[string]any{"requestId": id, "reason": "no longer waited for"}
	select {
	case a.notes <- n:
	default:
	}
}

func decodeReply(method mcp.MCPMethod, m transport.Message, out any) error {
	if m.Fault != nil {
		refused := &ClientError{Method: string(method), Message: "no reason given"}
		if err := json.Unmarshal(m.Fault, refused); err != nil {
			return fmt.Errorf("decode the client's error for %s: %w", method, err)
		}
		refused.Method = string(method)
		return refused
	}
	if transport.Given(m.Result) == nil {
		return fmt.Errorf("the client answered %s without a result", method)
	}
	if err := json.Unmarshal(m.Result, out); err != nil {
		return fmt.Errorf("decode the client's answer to %s: %w", method, err)
	}
	return nil
}

// RequestElicitation asks the person at the client. A person takes long: it
// yields the caller's turn in the lane.
func (s *session) RequestElicitation(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	if s.GetClientCapabilities().Elicitation == nil {
		return nil, server.ErrElicitationNotSupported
	}
	Yield(ctx)
	var result mcp.ElicitationResult
	if err := s.ask(ctx, mcp.MethodElicitationCreate, r.Params, &result); err != nil {
		return nil, err
	}
	return &result, nil
}

// ListRoots asks for the client's roots. It keeps the caller's turn: the caller
// sets a deadline, since some clients never answer.
func (s *session) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	if s.GetClientCapabilities().Roots == nil {
		return nil, server.ErrRootsNotSupported
	}
	var result mcp.ListRootsResult
	if err := s.ask(ctx, mcp.MethodListRoots, nil, &result); err != nil {
		return nil, err
	}
	return &result, nil
}

// RequestSampling asks the client's model. A model takes long: it yields the
// caller's turn in the lane.
func (s *session) RequestSampling(ctx context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	if s.GetClientCapabilities().Sampling == nil {
		return nil, errors.New("the client does not offer sampling")
	}
	Yield(ctx)
	var result mcp.CreateMessageResult
	if err := s.ask(ctx, mcp.MethodSamplingCreateMessage, r.CreateMessageParams, &result); err != nil {
		return nil, err
	}
	content, err := mcp.ParseSamplingContent(result.Content)
	if err != nil {
		return nil, fmt.Errorf("decode the client's answer to %s: %w", mcp.MethodSamplingCreateMessage, err)
	}
	result.Content = content
	return &result, nil
}
