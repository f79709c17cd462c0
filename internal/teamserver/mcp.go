package teamserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/build"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/transport"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// Bounds of the MCP servers that one process keeps.
const (
	mostMCP     = 256
	mostOfToken = 8                // tracks
	mcpIdle     = 30 * time.Minute // without a request
)

// mcpServers serve the tools of planloop to agents without a laptop, each for one token and track.
type mcpServers struct {
	mu   sync.Mutex
	open map[mcpKey]*mcpServer
}

type mcpKey struct{ token, track int64 }

type mcpServer struct {
	handler http.Handler
	close   func()
	uses    int // requests that are answered now
	last    time.Time
}

// mcp answers for a token at /w/{team}/{ws}/t/{track}/mcp.
func (s *Server) mcp() http.Handler {
	served := s.serve("/w/{team}/{ws}/t/{track}/mcp", s.serveMCP)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from := r.Header.Get("Origin"); from != "" && from != s.opts.Address {
			s.fail(w, r, wrong(teamwire.CodeForbidden, "requests from other web origins are refused", "call it from a program"))
			return
		}
		r.Header.Set(teamwire.FormatHeader, strconv.Itoa(teamwire.Format)) // MCP clients read no records
		served.ServeHTTP(w, r)
	})
}

func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	if r.PathValue("team") != c.teamName {
		return nil, wrong(teamwire.CodeNotFound, "the token is not for a team of this name", "check the address")
	}
	limited, stopLooking := context.WithTimeout(r.Context(), answerWithin) // tools may take longer
	defer stopLooking()
	t, release, err := s.useTrack(limited, c, r.PathValue("ws"), r.PathValue("track"), false)
	if err != nil {
		return nil, err
	}
	m, err := s.useMCP(limited, c, t, release)
	if err != nil {
		return nil, err
	}
	defer func() {
		s.mcps.mu.Lock()
		defer s.mcps.mu.Unlock()
		m.uses--
	}()
	ctx, cancel := s.untilEnd(r.Context())
	defer cancel()
	go s.endWithRights(ctx, cancel, s.byToken(r))
	r = r.WithContext(withRights(ctx, c, s.byToken(r)))
	path := *r.URL
	path.Path = "/mcp"
	r.URL = &path
	m.handler.ServeHTTP(w, r)
	return nil, nil
}

// useMCP returns the MCP server of a token and a track, which it keeps open from the first time on. It keeps or releases the track.
func (s *Server) useMCP(ctx context.Context, c *caller, t *track, release func()) (*mcpServer, error) {
	rules, err := s.readRules(ctx, t, "")
	if err != nil {
		release()
		return nil, err
	}
	s.mcps.mu.Lock()
	defer s.mcps.mu.Unlock()
	key, own := mcpKey{c.token, t.ID}, 0
	for other, old := range s.mcps.open {
		if other != key && old.uses == 0 && time.Since(old.last) > mcpIdle {
			old.close()
			delete(s.mcps.open, other)
		} else if other.token == key.token {
			own++
		}
	}
	m := s.mcps.open[key]
	switch {
	case m != nil:
		release() // m holds the track already
	case len(s.mcps.open) >= mostMCP || own >= mostOfToken:
		release()
		return nil, wrong(teamwire.CodeTooMany, "the server has too many connected agents", "try again later")
	default:
		if m, err = s.newMCP(c, t, rules.settings.limits(), release); err != nil {
			release()
			return nil, err
		}
		s.mcps.open[key] = m
	}
	m.uses++
	m.last = time.Now()
	return m, nil
}

// newMCP returns a server with the tools of planloop without a file tree, for the token's agents.
func (s *Server) newMCP(c *caller, t *track, limits plan.Limits, release func()) (*mcpServer, error) {
	agents := mcpPresence{presence{s, t}}
	service := verbs.New(t.session, verbs.Options{Workspace: "track " + t.Name + " of the team " + c.teamName, Now: s.clock.now,
		Presence: agents, Hooks: agents, Lease: limits.Lease, Limits: limits})
	server, err := mcpserver.New(mcpserver.Options{Version: build.Version, User: review.Face{}, Logger: s.log,
		Toolsets:        []string{verbs.Loop, verbs.Mode},
		AgentControlled: func(context.Context) bool { return true }, AppViewOnly: true,
		Actor: func(client, _ string) plan.Actor {
			by, _ := c.actor(teamwire.Label(client), "", nil) // a label is a valid name
			return by
		},
		Service: func(context.Context, mcpserver.Roots, string) (*verbs.Service, error) { return service, nil },
	})
	if err != nil {
		return nil, err
	}
	http, err := transport.NewHTTPServer(server.MCP, transport.HTTPOptions{Logger: s.log, MaxBody: teamwire.MaxBody})
	if err != nil {
		server.Close()
		return nil, err
	}
	stop := context.AfterFunc(s.ending, http.Close)
	return &mcpServer{handler: http.Routes(), close: func() { stop(); http.Close(); server.Close(); release() }}, nil
}

func (all *mcpServers) close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, m := range all.open {
		m.close()
	}
}

// mcpPresence notes the calls of agents as their signs of life.
type mcpPresence struct{ presence }

// Touch implements verbs.Presence.
func (p mcpPresence) Touch(name string) {
	if !take(&p.server.rates, fmt.Sprint("seen ", p.track.Workspace, " ", name), 0.1) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), presenceWait)
	defer cancel()
	seen := map[string]time.Time{name: p.server.clock.now()}
	if err := p.server.see(ctx, p.track.Team, p.track.Workspace, seen, false); err != nil {
		p.server.log.Warn("a sign of life was not noted", "error", err)
	}
}
