package transport

import (
	"cmp"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

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

// load returns the value that a pointer points to, or the zero value for nil.
func load[T any](p *atomic.Pointer[T]) T {
	if v := p.Load(); v != nil {
		return *v
	}
	var zero T
	return zero
}
