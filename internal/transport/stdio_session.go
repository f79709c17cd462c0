package transport

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
)

// maxNotes bounds the notifications that wait to be written; the library drops further ones.
const maxNotes = 1024

// stdioSession is the client of one connection, as the library sees it.
type stdioSession struct {
	baseSession
	opening atomic.Bool // an initialize is being answered
	listens atomic.Int64

	// Requests to the client and its answers. Their ids have their own map, so that they cannot be confused with those
	// of the client's requests.
	send    func(context.Context, outgoing) bool
	last    atomic.Int64
	pending sync.Map // of channels for the answers, by the keys of the ids
	closed  chan struct{}
}

var (
	_ server.SessionWithLogging         = (*stdioSession)(nil)
	_ server.SessionWithClientInfo      = (*stdioSession)(nil)
	_ server.SessionWithProtocolVersion = (*stdioSession)(nil)
	_ server.SessionWithElicitation     = (*stdioSession)(nil)
	_ server.SessionWithRoots           = (*stdioSession)(nil)
)

func newSession(send func(context.Context, outgoing) bool) *stdioSession {
	return &stdioSession{
		// The id is random, so that it can identify an actor.
		baseSession: baseSession{ID: "stdio-" + rand.Text(), Notes: make(chan mcp.JSONRPCNotification, maxNotes)},
		send:        send, closed: make(chan struct{}),
	}
}

// Initialized reports whether the client may be sent notifications.
func (s *stdioSession) Initialized() bool { return s.baseSession.Initialized() && !s.opening.Load() }

func (s *stdioSession) hasHandshake() bool { return s.ProtocolVersion() != "" }

// isUnsubscribed reports whether the client of a connection without handshake would get a notification that the stateless
// protocol allows only on a listen stream.
func (s *stdioSession) isUnsubscribed(method string) bool {
	switch method {
	case mcp.MethodNotificationToolsListChanged, mcp.MethodNotificationPromptsListChanged,
		mcp.MethodNotificationResourcesListChanged, mcp.MethodNotificationResourceUpdated:
		return !s.hasHandshake()
	}
	return false
}

// ErrClosed is returned by a request to a client that closed the connection.
var ErrClosed = errors.New("the client closed the connection before it answered")

// ClientError is a client's error answer to one of our requests.
type ClientError struct {
	Method  string
	Code    int
	Message string
}

func (e *ClientError) Error() string {
	return fmt.Sprintf("the client refused %s: %s (code %d)", e.Method, e.Message, e.Code)
}

// ask sends a request to the client and returns its result.
func ask[T any](ctx context.Context, s *stdioSession, method mcp.MCPMethod, params any) (*T, error) {
	select {
	case <-s.closed:
		return nil, ErrClosed
	default:
	}
	id, reply := s.last.Add(1), make(chan Message, 1)
	key := Key(strconv.AppendInt(nil, id, 10))
	s.pending.Store(key, reply)
	defer s.pending.Delete(key)
	data, err := json.Marshal(struct {
		JSONRPC string        `json:"jsonrpc"`
		ID      int64         `json:"id"`
		Method  mcp.MCPMethod `json:"method"`
		Params  any           `json:"params,omitempty"`
	}{mcp.JSONRPC_VERSION, id, method, params})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	if !s.send(ctx, outgoing{data: data}) {
		return nil, cmp.Or(ctx.Err(), ErrClosed)
	}
	select {
	case m := <-reply:
		result := new(T)
		if err := decodeReply(method, m, result); err != nil {
			return nil, err
		}
		return result, nil
	case <-ctx.Done():
		s.cancelRequest(id)
		return nil, ctx.Err()
	case <-s.closed:
		return nil, ErrClosed
	}
}

// cancelRequest cancels a request at the client, so that it can close a dialogue. It is a courtesy and never waits.
func (s *stdioSession) cancelRequest(id int64) {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = string(mcp.MethodNotificationCancelled)
	n.Params.AdditionalFields = map[string]any{"requestId": id, "reason": "the answer is not needed anymore"}
	select {
	case s.Notes <- n:
	default:
	}
}

func decodeReply(method mcp.MCPMethod, m Message, out any) error {
	if m.Fault != nil {
		refused := &ClientError{Method: string(method), Message: "no reason given"}
		if err := json.Unmarshal(m.Fault, refused); err != nil {
			return fmt.Errorf("decode the client's error for %s: %w", method, err)
		}
		refused.Method = string(method)
		return refused
	}
	if nonNull(m.Result) == nil {
		return fmt.Errorf("the client answered %s without a result", method)
	}
	if err := json.Unmarshal(m.Result, out); err != nil {
		return fmt.Errorf("decode the client's answer to %s: %w", method, err)
	}
	return nil
}

// RequestElicitation asks the person at the client. Because a person takes long, it yields the caller's turn in the
// queue.
func (s *stdioSession) RequestElicitation(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	if s.GetClientCapabilities().Elicitation == nil {
		return nil, server.ErrElicitationNotSupported
	}
	Yield(ctx)
	return ask[mcp.ElicitationResult](ctx, s, mcp.MethodElicitationCreate, r.Params)
}

// ListRoots asks for the client's roots. It keeps the caller's turn: the caller sets a deadline, since some clients
// never answer.
func (s *stdioSession) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	if s.GetClientCapabilities().Roots == nil {
		return nil, server.ErrRootsNotSupported
	}
	return ask[mcp.ListRootsResult](ctx, s, mcp.MethodListRoots, nil)
}

// baseSession is a session, with the data of its client. Sessions embed it; it is safe for concurrent use.
type baseSession struct {
	ID    string // of the session
	Notes chan mcp.JSONRPCNotification

	initialized  atomic.Bool
	info         atomic.Pointer[mcp.Implementation]
	capabilities atomic.Pointer[mcp.ClientCapabilities]
	version      atomic.Pointer[string]
	level        atomic.Pointer[mcp.LoggingLevel]
}

// SessionID returns the id of the session.
func (c *baseSession) SessionID() string { return c.ID }

// NotificationChannel returns the queue of notifications to the client.
func (c *baseSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return c.Notes }

// Initialize is called by the library at the handshake, and at every stateless request.
func (c *baseSession) Initialize() { c.initialized.Store(true) }

// Initialized reports whether the client may be sent notifications.
func (c *baseSession) Initialized() bool { return c.initialized.Load() }

// GetClientInfo returns the client's name and version, or zero before it gave them.
func (c *baseSession) GetClientInfo() mcp.Implementation { return load(&c.info) }

// SetClientInfo records the client's name and version.
func (c *baseSession) SetClientInfo(info mcp.Implementation) { c.info.Store(&info) }

// GetClientCapabilities returns the capabilities that the client last declared.
func (c *baseSession) GetClientCapabilities() mcp.ClientCapabilities { return load(&c.capabilities) }

// SetClientCapabilities records the client's declared capabilities.
func (c *baseSession) SetClientCapabilities(capabilities mcp.ClientCapabilities) {
	c.capabilities.Store(&capabilities)
}

// ProtocolVersion returns the revision agreed in the handshake, "" without one.
func (c *baseSession) ProtocolVersion() string { return load(&c.version) }

// SetProtocolVersion records the revision agreed in the handshake.
func (c *baseSession) SetProtocolVersion(version string) { c.version.Store(&version) }

// SetLogLevel sets the least severe log level that the client wants.
func (c *baseSession) SetLogLevel(level mcp.LoggingLevel) { c.level.Store(&level) }

// GetLogLevel returns the level. Its default is errors and worse, as in the library.
func (c *baseSession) GetLogLevel() mcp.LoggingLevel {
	return cmp.Or(load(&c.level), mcp.LoggingLevelError)
}

func load[T any](p *atomic.Pointer[T]) T { return *cmp.Or(p.Load(), new(T)) }
