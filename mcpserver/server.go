// Package mcpserver is the MCP face of planloop: tools bound to verbs,
// resources and prompts bound to their renderings, subscriptions, and the
// server's identity. It decodes, calls and prints; it decides nothing, and does
// not know how its messages travel.
package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/seal"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Options configures a Server.
type Options struct {
	Version  string
	Strategy prompts.Strategy
	Toolsets []string   // nil: all
	User     verbs.Face // how the user, who is asked for what no tool does, makes calls
	Logger   *slog.Logger

	// Service returns what carries out the calls. It is asked at each use, so that
	// nothing is opened before a client needs it.
	Service func(ctx context.Context, roots Roots) (*verbs.Service, error)
	// Box returns the tools on the workspace's files, which the toolset workspace
	// offers; nil where there are none.
	Box func(ctx context.Context) (*toolbox.Box, error)
	// Servers are other servers whose tools the toolsets servers and execution offer; nil: none.
	Servers Servers
	// Free begins what may change something beyond planloop's sight. It returns a context that
	// ends with the cause once nothing may be changed, and what ends its watch; where nothing may
	// be changed now, a refusal. Nil: everything may always be changed.
	Free func(ctx context.Context, cause error) (free context.Context, stop func(), err error)
	// Sheet returns the workspace as people look at it; nil: with nothing but what its service tells.
	Sheet func(ctx context.Context) (*review.Sheet, error)
	// Sealer returns what seals the state of a question while it travels through a
	// client; nil: clients of the stateless revision are not asked.
	Sealer func() (*seal.Sealer, error)
	// SamplingTimeout bounds the wait for one answer of a client's model; 0: two minutes.
	SamplingTimeout time.Duration
	// Yield lets a client's next call go on while the call of a context waits for
	// something long; nil where the transport runs calls side by side.
	Yield func(context.Context)
	// Unheard reports whether no user is heard through the server's clients: an agent's
	// shell started it, and its client is whatever the agent made one. Nil: they are.
	Unheard func(context.Context) bool
	// AppOnlyShows has the app decide nothing: any program that reaches the server, an agent's shell
	// too, could say that it shows apps.
	AppOnlyShows bool
	// Actor says who calls, from the client's name and its connection. A
	// connection is empty where the protocol has none.
	Actor func(client, connection string) plan.Actor
}

func (s *Server) yield(ctx context.Context) {
	if s.opts.Yield != nil {
		s.opts.Yield(ctx)
	}
}

// Server is an MCP server on one workspace. Serve its MCP field by any
// transport, then Close it.
type Server struct {
	MCP *server.MCPServer

	opts          Options
	connections   *connections
	subscriptions *subscriptions
	rounds        *seal.Sealer    // of calls in rounds, and of what apps showed; what waits for an answer ends with the process
	plansOnly     map[string]bool // the tools that pass in a read-only phase
	offered       []string        // the names of the tools that there are
	foreign       *foreign        // nil: no tools of other servers are offered
	rootsAsked    atomic.Int32
	close         func()

	background func(func(context.Context)) // has something go on until Close
	ended      func()                      // waits for what does
}

// New returns a server. Nothing is opened until a client asks for it.
func New(opts Options) (*Server, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	rounds, err := seal.New()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		opts:        opts,
		connections: &connections{alive: map[string]joined{}},
		rounds:      rounds,
		plansOnly:   plansOnly(verbs.Table(), toolbox.Table()),
		close:       sync.OnceFunc(cancel),
	}
	var running sync.WaitGroup
	s.background, s.ended = func(do func(context.Context)) { running.Go(func() { do(ctx) }) }, running.Wait
	s.subscriptions = newSubscriptions(ctx, s.service, opts.Logger)
	hooks := &server.Hooks{}
	s.subscriptions.hook(hooks)
	s.connections.hook(hooks)
	hooks.AddAfterListResources(s.listFormerPlans)
	hooks.AddAfterListTools(s.listByPhase)
	hooks.AddBeforeCallTool(s.route)
	s.MCP = server.NewMCPServer("planloop", opts.Version, append(identity(),
		server.WithInstructions(prompts.Instructions(opts.Strategy, opts.Toolsets)),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(false),
		server.WithLogging(),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completion{s}),
		server.WithResourceCompletionProvider(completion{s}),
		server.WithCacheHints(0, mcp.CacheScopePrivate),
		server.WithHooks(hooks),
		server.WithToolHandlerMiddleware(s.withRoots),
		server.WithToolHandlerMiddleware(s.heard),
	)...)
	if err := errors.Join(s.addTools(), s.addWorkspaceTools()); err != nil {
		cancel()
		return nil, err
	}
	s.addServerTools()
	s.addResources()
	s.addApp()
	s.addAppTools()
	s.addPrompts()
	s.subscriptions.notifyAll = s.MCP.SendNotificationToAllClients
	return s, nil
}

func (s *Server) service(ctx context.Context) (*verbs.Service, error) {
	return s.opts.Service(ctx, s.roots)
}

// Close ends all notifications. Clients are the transport's to end.
func (s *Server) Close() {
	s.close()
	s.ended()
	s.subscriptions.wait()
	s.connections.leaveAll()
}
