package mcpserver

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/verbs"
)

// caller says who calls: the client's name and its connection, as far as the
// protocol tells.
func (s *Server) caller(ctx context.Context, service *verbs.Service) verbs.Caller {
	client, connection := "", ""
	session := server.ClientSessionFromContext(ctx)
	if session != nil {
		connection = session.SessionID()
	}
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientInfo != nil {
			client = info.ClientInfo.Name
		}
	} else if known, ok := session.(server.SessionWithClientInfo); ok {
		client = known.GetClientInfo().Name
	}
	actor := s.opts.Actor(client, connection)
	s.connections.arrived(connection, actor.Name, service.Join)
	return verbs.Caller{Actor: actor, Face: verbs.Tool}
}

// connections notes which connections live, so that the claims of one that has
// gone pass over at once.
type connections struct {
	mu   sync.Mutex
	left map[string]func() // connection → what to call when it ends
}

// arrived notes a connection at its first call.
func (c *connections) arrived(connection, name string, join func(string) func()) {
	if connection == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.left[connection]; !known {
		c.left[connection] = join(name)
	}
}

func (c *connections) hook(hooks *server.Hooks) {
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) {
		c.mu.Lock()
		leave := c.left[session.SessionID()]
		delete(c.left, session.SessionID())
		c.mu.Unlock()
		if leave != nil {
			leave()
		}
	})
}

func (c *connections) leaveAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for connection, leave := range c.left {
		leave()
		delete(c.left, connection)
	}
}
