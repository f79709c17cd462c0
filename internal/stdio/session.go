package stdio

import (
	"context"
	"crypto/rand"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxNotes bounds the notifications that wait to be written; the library drops
// what comes beyond it.
const maxNotes = 1024

// identity is what a session knows of its client. Safe for concurrent use.
type identity struct {
	info    atomic.Pointer[mcp.Implementation]
	caps    atomic.Pointer[mcp.ClientCapabilities]
	version atomic.Pointer[string]
}

// GetClientInfo returns the client's name and version, zero before it gave them.
func (i *identity) GetClientInfo() mcp.Implementation { return value(&i.info) }

// SetClientInfo records the client's name and version.
func (i *identity) SetClientInfo(info mcp.Implementation) { i.info.Store(&info) }

// GetClientCapabilities returns what the client declared last.
func (i *identity) GetClientCapabilities() mcp.ClientCapabilities { return value(&i.caps) }

// SetClientCapabilities records what the client declared.
func (i *identity) SetClientCapabilities(caps mcp.ClientCapabilities) { i.caps.Store(&caps) }

// ProtocolVersion returns the revision agreed in the handshake, empty without one.
func (i *identity) ProtocolVersion() string { return value(&i.version) }

// SetProtocolVersion records the revision agreed in the handshake.
func (i *identity) SetProtocolVersion(version string) { i.version.Store(&version) }

func value[T any](p *atomic.Pointer[T]) T {
	if v := p.Load(); v != nil {
		return *v
	}
	var zero T
	return zero
}

// session is the client of one connection, as the library sees it.
type session struct {
	identity
	id          string
	notes       chan mcp.JSONRPCNotification
	level       atomic.Pointer[mcp.LoggingLevel]
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

// SetLogLevel sets the least severe log message the client wants.
func (s *session) SetLogLevel(level mcp.LoggingLevel) { s.level.Store(&level) }

// GetLogLevel returns it; a client that has not said gets errors and worse, as from the library.
func (s *session) GetLogLevel() mcp.LoggingLevel {
	if level := value(&s.level); level != "" {
		return level
	}
	return mcp.LoggingLevelError
}

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
