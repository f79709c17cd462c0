package mcpserver

import (
	"context"
	_ "embed"
	"encoding/base64"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
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
	if connection != "" {
		actor = s.connections.arrived(connection, actor, service.Join)
	}
	return verbs.Caller{Actor: actor, Face: Tools{s.opts.Toolsets, s.opts.User, s.opts.Servers}}
}

// connections knows who calls by the connections that live, so that the claims of
// one that has gone lapse at once.
type connections struct {
	mu    sync.Mutex
	alive map[string]joined
}

// joined is the actor that a connection stands for, and what to call when it ends.
type joined struct {
	actor plan.Actor
	leave func()
}

// arrived notes a connection at its first call, and returns the actor it stands for
// from then on: a stateless request may name its client or not, and is the same
// actor's.
func (c *connections) arrived(connection string, actor plan.Actor, join func(string) func()) plan.Actor {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.alive[connection]
	if !ok {
		known = joined{actor, join(actor.Name)}
		c.alive[connection] = known
	}
	return known.actor
}

func (c *connections) hook(hooks *server.Hooks) {
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) {
		c.mu.Lock()
		gone, ok := c.alive[session.SessionID()]
		delete(c.alive, session.SessionID())
		c.mu.Unlock()
		if ok {
			gone.leave()
		}
	})
}

func (c *connections) leaveAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for connection, gone := range c.alive {
		gone.leave()
		delete(c.alive, connection)
	}
}

//go:embed icon.svg
var icon []byte

// identity is what a host may show of the server to a person.
func identity() []server.ServerOption {
	return []server.ServerOption{
		server.WithTitle("planloop"),
		server.WithDescription("Keeps the plan an agent works by: on disk, checked, and shared with people."),
		server.WithWebsiteURL("https://github.com/planloop/planloop"),
		server.WithIcons(mcp.Icon{
			Src:      "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(icon),
			MIMEType: "image/svg+xml",
			Sizes:    []string{"any"},
		}),
	}
}

// What of a client's roots is looked at.
const (
	maxRoots = 100
	maxRoot  = 4 << 10 // bytes of one
)

// rootsBound ends the wait for a client that declares roots and never answers.
const rootsBound = 2 * time.Second

// roots asks the client for its roots, if it declared any. The stateless
// revision has no such request.
func (s *Server) roots(ctx context.Context) []string {
	session := server.ClientSessionFromContext(ctx)
	known, ok := session.(server.SessionWithClientInfo)
	if !ok || server.IsModernRequest(ctx) || known.GetClientCapabilities().Roots == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsBound)
	defer cancel()
	result, err := s.MCP.RequestRoots(ctx, mcp.ListRootsRequest{})
	if err != nil {
		s.opts.Logger.Warn("the client did not list its roots", "error", err)
		return nil
	}
	var uris []string
	for _, root := range result.Roots[:min(len(result.Roots), maxRoots)] {
		if len(root.URI) <= maxRoot {
			uris = append(uris, root.URI)
		}
	}
	return uris
}
