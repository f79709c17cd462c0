package transport

import (
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// Client is a session, with the data of its client. Sessions embed it; it is safe for concurrent use.
type Client struct {
	ID    string // of the session
	Notes chan mcp.JSONRPCNotification

	initialized  atomic.Bool
	info         atomic.Pointer[mcp.Implementation]
	capabilities atomic.Pointer[mcp.ClientCapabilities]
	version      atomic.Pointer[string]
}

// SessionID returns the id of the session.
func (c *Client) SessionID() string { return c.ID }

// NotificationChannel returns the queue of notifications to the client.
func (c *Client) NotificationChannel() chan<- mcp.JSONRPCNotification { return c.Notes }

// Initialize is called by the library at the handshake, and at every stateless request.
func (c *Client) Initialize() { c.initialized.Store(true) }

// Initialized reports whether the client may be sent notifications.
func (c *Client) Initialized() bool { return c.initialized.Load() }

// GetClientInfo returns the client's name and version, or zero before it gave them.
func (c *Client) GetClientInfo() mcp.Implementation { return Loaded(&c.info) }

// SetClientInfo records the client's name and version.
func (c *Client) SetClientInfo(info mcp.Implementation) { c.info.Store(&info) }

// GetClientCapabilities returns the capabilities that the client last declared.
func (c *Client) GetClientCapabilities() mcp.ClientCapabilities { return Loaded(&c.capabilities) }

// SetClientCapabilities records the client's declared capabilities.
func (c *Client) SetClientCapabilities(capabilities mcp.ClientCapabilities) {
	c.capabilities.Store(&capabilities)
}

// ProtocolVersion returns the revision agreed in the handshake, "" without one.
func (c *Client) ProtocolVersion() string { return Loaded(&c.version) }

// SetProtocolVersion records the revision agreed in the handshake.
func (c *Client) SetProtocolVersion(version string) { c.version.Store(&version) }

// LogLevel is the least severe log level that a client wants. Sessions embed it; it is safe for concurrent use.
type LogLevel struct {
	level atomic.Pointer[mcp.LoggingLevel]
}

// SetLogLevel sets the level.
func (l *LogLevel) SetLogLevel(level mcp.LoggingLevel) { l.level.Store(&level) }

// GetLogLevel returns the level. Its default is errors and worse, as in the library.
func (l *LogLevel) GetLogLevel() mcp.LoggingLevel {
	if level := Loaded(&l.level); level != "" {
		return level
	}
	return mcp.LoggingLevelError
}

// Loaded returns the value that a pointer points to, or the zero value for nil.
func Loaded[T any](p *atomic.Pointer[T]) T {
	if v := p.Load(); v != nil {
		return *v
	}
	var zero T
	return zero
}
