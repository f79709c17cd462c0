package mcpserver

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// caller identifies the caller, and marks its connection as alive on the service's track.
func (s *Server) caller(ctx context.Context, service *verbs.Service) verbs.Caller {
	actor, connection := s.actor(ctx)
	if connection != "" {
		s.connections.join(connection, actor, service)
	}
	return verbs.Caller{Actor: actor, Session: sessionOf(ctx), Face: Tools{s.opts.Toolsets, s.opts.User, s.opts.Servers}}
}

// actor identifies the caller by the client's name and its connection, as far as the protocol gives them.
func (s *Server) actor(ctx context.Context) (actor plan.Actor, connection string) {
	client := ""
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
	if known, ok := s.connections.actor(connection); ok {
		return known, connection
	}
	return s.opts.Actor(client, connection), connection
}

// connections maps live connections to their actors, so that claims lapse as soon as a connection ends.
type connections struct {
	mu     sync.Mutex
	actors map[string]joined
}

// joined is the actor of a connection, the service of its track, and the function to call when it ends or leaves the track.
type joined struct {
	actor   plan.Actor
	service *verbs.Service
	leave   func()
}

// actor returns the actor of a connection. It stays the same from the first call on, although a stateless request may leave out
// the client's name.
func (c *connections) actor(connection string) (plan.Actor, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.actors[connection]
	return known.actor, ok
}

// join marks a connection as alive on a track, until it ends or joins another.
func (c *connections) join(connection string, actor plan.Actor, service *verbs.Service) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.actors[connection]
	if ok && known.service == service {
		return
	}
	if ok {
		known.leave() // first: both announce the server in one place
	}
	c.actors[connection] = joined{actor, service, service.Join(actor.Name)}
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
