package mcpserver

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// caller identifies the caller by the client's name and its connection, as far as the protocol gives them.
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
	if connection != "" {
		actor = s.connections.register(connection, actor, service.Join)
	}
	return verbs.Caller{Actor: actor, Face: Tools{s.opts.Toolsets, s.opts.User, s.opts.Servers}}
}

// connections maps live connections to their actors, so that claims lapse as soon as a connection ends.
type connections struct {
	mu     sync.Mutex
	actors map[string]joined
}

// joined is the actor of a connection, and the function to call when it ends.
type joined struct {
	actor plan.Actor
	leave func()
}

// register registers a connection at its first call and returns its actor. The actor stays the same from then
// on, although a stateless request may leave out the client's name.
func (c *connections) register(connection string, actor plan.Actor, join func(string) func()) plan.Actor {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.actors[connection]
	if !ok {
		known = joined{actor, join(actor.Name)}
		c.actors[connection] = known
	}
	return known.actor
}

func (c *connections) registerHooks(hooks *server.Hooks) {
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) {
		c.mu.Lock()
		gone, ok := c.actors[session.SessionID()]
		delete(c.actors, session.SessionID())
		c.mu.Unlock()
		if ok {
			gone.leave()
		}
	})
}

func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for connection, gone := range c.actors {
		gone.leave()
		delete(c.actors, connection)
	}
}
