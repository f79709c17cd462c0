package transport

import (
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// Client is what a session knows of its client. Sessions embed it; it is safe for
// concurrent use.
type Client struct {
	info         atomic.Pointer[mcp.Implementation]
	capabilities atomic.Pointer[mcp.ClientCapabilities]
	version      atomic.Pointer[string]
}

// GetClientInfo returns the client's name and version, zero before it gave them.
func (c *Client) GetClientInfo() mcp.Implementation { return Loaded(&c.info) }

// SetClientInfo records the client's name and version.
func (c *Client) SetClientInfo(info mcp.Implementation) { c.info.Store(&info) }

// GetClientCapabilities returns what the client declared last.
func (c *Client) GetClientCapabilities() mcp.ClientCapabilities { return Loaded(&c.capabilities) }

// SetClientCapabilities records what the client declared.
func (c *Client) SetClientCapabilities(capabilities mcp.ClientCapabilities) {
	c.capabilities.Store(&capabilities)
}

// ProtocolVersion returns the revision agreed in the handshake, "" without one.
func (c *Client) ProtocolVersion() string { return Loaded(&c.version) }

// SetProtocolVersion records the revision agreed in the handshake.
func (c *Client) SetProtocolVersion(version string) { c.version.Store(&version) }

// LogLevel is the least severe log message that a client wants. Sessions embed it;
// it is safe for concurrent use.
type LogLevel struct {
	level atomic.Pointer[mcp.LoggingLevel]
}

// SetLogLevel sets the level.
func (l *LogLevel) SetLogLevel(level mcp.LoggingLevel) { l.level.Store(&level) }

// GetLogLevel returns it; a client that has not said gets errors and worse, as
// from the library.
func (l *LogLevel) GetLogLevel() mcp.LoggingLevel {
	if level := Loaded(&l.level); level != "" {
		return level
	}
	return mcp.LoggingLevelError
}

// Loaded is what a pointer points to, the zero value when it points nowhere.
func Loaded[T any](p *atomic.Pointer[T]) T {
	if v := p.Load(); v != nil {
		return *v
	}
	var zero T
	return zero
}
