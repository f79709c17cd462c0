package mcpserver

import (
	"cmp"
	"context"
	"slices"
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
	return service.As(verbs.Caller{Actor: actor, Session: s.session(ctx), Face: Tools{s.opts.Toolsets, s.opts.User, s.opts.Servers}})
}

// session returns the session that a request belongs to, also outside calls and reads, where none can be named.
func (s *Server) session(ctx context.Context) string {
	if session, isCall := SessionOf(ctx); isCall {
		return session
	}
	actor, connection := s.actor(ctx)
	return s.connections.session(connection, actor.Name, "")
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
	served map[string][]string // the sessions that each connection has served, as calls or hooks named them
}

// joined is the actor of a connection, and the functions to call when it ends, by the service of each track that it works on.
type joined struct {
	actor plan.Actor
	leave map[*verbs.Service]func()
}

// session returns the session of a request on a connection: the one named for it, else the connection's only one, else the actor if no
// request has named any; "" if there are several.
func (c *connections) session(connection, actor, named string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	served := c.served[connection]
	switch {
	case connection == "":
		return cmp.Or(named, actor)
	case named == actor || named == "" && len(served) == 0:
		return actor
	case named != "" && !slices.Contains(served, named) && len(served) < maxServed:
		c.served[connection] = append(served, named)
		return named
	case named == "" && len(served) == 1:
		return served[0]
	}
	return named
}

const maxServed = 100 // sessions remembered of a connection

// sessions returns the sessions of a request's connection, or the one that makes the request.
func (s *Server) sessions(ctx context.Context) []string {
	session := s.session(ctx)
	if session != "" {
		return []string{session}
	}
	_, connection := s.actor(ctx)
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	return slices.Clone(s.connections.served[connection])
}

// actor returns the actor of a connection. It stays the same from the first call on, although a stateless request may leave out
// the client's name.
func (c *connections) actor(connection string) (plan.Actor, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.actors[connection]
	return known.actor, ok
}

// join marks a connection as alive on a track, until it ends.
func (c *connections) join(connection string, actor plan.Actor, service *verbs.Service) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.actors[connection]
	if !ok {
		known = joined{actor, map[*verbs.Service]func(){}}
		c.actors[connection] = known
	}
	if known.leave[service] == nil {
		known.leave[service] = service.Join(actor.Name)
	}
}

func (j joined) leaveAll() {
	for _, leave := range j.leave {
		leave()
	}
}

func (c *connections) registerHooks(hooks *server.Hooks) {
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) {
		c.mu.Lock()
		gone := c.actors[session.SessionID()]
		delete(c.actors, session.SessionID())
		delete(c.served, session.SessionID())
		c.mu.Unlock()
		gone.leaveAll()
	})
}

func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for connection, gone := range c.actors {
		gone.leaveAll()
		delete(c.actors, connection)
	}
}
