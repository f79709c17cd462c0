package httpserve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	maxQueuedNotifications = 100
	maxRunning             = 64 // calls of one session at a time
)

// sseSession is one client of the HTTP with SSE transport. It lives as long as
// its stream.
type sseSession struct {
	id            string
	ctx           context.Context // ends with the stream, and every call with it
	notifications chan mcp.JSONRPCNotification
	answers       chan []byte
	running       chan struct{}

	mu           sync.Mutex
	initialized  bool
	level        mcp.LoggingLevel
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
	version      string
}

var (
	_ server.SessionWithLogging         = (*sseSession)(nil)
	_ server.SessionWithClientInfo      = (*sseSession)(nil)
	_ server.SessionWithProtocolVersion = (*sseSession)(nil)
)

func newSSESession(ctx context.Context) *sseSession {
	return &sseSession{
		id:            rand.Text(),
		ctx:           ctx,
		notifications: make(chan mcp.JSONRPCNotification, maxQueuedNotifications),
		answers:       make(chan []byte),
		running:       make(chan struct{}, maxRunning),
		level:         mcp.LoggingLevelError,
	}
}

// pump is the one writer of the stream. It returns when the stream has ended
// or the client stopped reading.
func (s *sseSession) pump(resp *response) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case n := <-s.notifications:
			if s.write(resp, n) != nil {
				return
			}
		case answer := <-s.answers:
			// What a call has announced goes out before its answer.
			if s.drain(resp) != nil || resp.send("message", answer) != nil {
				return
			}
		}
	}
}

func (s *sseSession) drain(resp *response) error {
	for {
		select {
		case n := <-s.notifications:
			if err := s.write(resp, n); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (s *sseSession) write(resp *response, n mcp.JSONRPCNotification) error {
	encoded, err := json.Marshal(n)
	if err != nil {
		return nil // one notification that cannot be encoded ends no stream
	}
	return resp.send("message", encoded)
}

// put hands an answer to the stream, or drops it with the stream.
func (s *sseSession) put(answer []byte) {
	select {
	case s.answers <- answer:
	case <-s.ctx.Done():
	}
}

// refusal is the answer to a request this transport does not run, nil for one
// it does. A request of the stateless protocol, server/discover included, is
// told the revisions spoken here: clients then turn to the handshake, while
// mcp-go's client takes any discover result for a stateless server.
func (s *sseSession) refusal(msg message) []byte {
	method := mcp.MCPMethod(msg.method)
	switch {
	case mcp.IsModernProtocol(msg.metaVersion):
		unsupported := mcp.UnsupportedProtocolVersionError{Version: msg.metaVersion, Supported: mcp.LegacyProtocolVersions()}.JSONRPCError()
		return errorMessage(msg.id, unsupported.Error.Code, unsupported.Error.Message, unsupported.Error.Data)
	case method == mcp.MethodInitialize, method == mcp.MethodPing, s.Initialized():
		return nil
	default:
		return errorMessage(msg.id, mcp.INVALID_REQUEST, "the session is not initialized: send initialize and wait for its answer first", nil)
	}
}

// SessionID names the session.
func (s *sseSession) SessionID() string { return s.id }

// NotificationChannel takes what is to be sent to the client.
func (s *sseSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

// Initialize records that the handshake was answered.
func (s *sseSession) Initialize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initialized = true
}

// Initialized tells whether the handshake was answered.
func (s *sseSession) Initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized
}

// SetLogLevel sets the least level of log messages the client wants.
func (s *sseSession) SetLogLevel(level mcp.LoggingLevel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

// GetLogLevel returns the least level of log messages the client wants.
func (s *sseSession) GetLogLevel() mcp.LoggingLevel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// SetClientInfo records what the client is.
func (s *sseSession) SetClientInfo(info mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = info
}

// GetClientInfo returns what the client is.
func (s *sseSession) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// SetClientCapabilities records what the client can do.
func (s *sseSession) SetClientCapabilities(capabilities mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = capabilities
}

// GetClientCapabilities returns what the client can do.
func (s *sseSession) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

// SetProtocolVersion records the revision agreed on.
func (s *sseSession) SetProtocolVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// ProtocolVersion returns the revision agreed on.
func (s *sseSession) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}
