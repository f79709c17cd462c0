// Package mcpserver is the MCP interface of planloop: tools bound to verbs, resources and prompts bound to
// their renderings, subscriptions, and the server's identity. It decodes, calls and prints. It makes no
// decisions, and does not know the transport.
package mcpserver

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/review"
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
	User     verbs.Face // how the user makes the calls that tools cannot make
	Logger   *slog.Logger

	// Service returns the service of the track that a session is on. It is asked at each use, so that nothing is opened before a
	// client needs it.
	Service func(ctx context.Context, roots Roots, session string) (*verbs.Service, error)
	// Reported records a call, to be matched with the reports of the host's hooks, and returns the session that a report or the call
	// itself names, "" if none does. Nil: calls are not recorded.
	Reported func(ctx context.Context, roots Roots, call Call) (session string)
	// Box returns the file tools for the toolset workspace; nil: none.
	Box func(ctx context.Context) (*toolbox.Box, error)
	// Servers are other servers; the toolsets servers and execution offer their tools. Nil: none.
	Servers Servers
	// GuardChange starts work that planloop cannot supervise and that may change something. Its context ends with
	// cause once changes are forbidden; stop ends the watch for that. It returns a refusal if changes
	// are not allowed now. Nil: changes are always allowed.
	GuardChange func(ctx context.Context, cause error) (free context.Context, stop func(), err error)
	// Workspace returns the workspace as people see it, on a session's track; nil: only the data of its service.
	Workspace func(ctx context.Context, session string) (*review.Workspace, error)
	// Sealer returns the sealer for the state of a question while it travels through a client; nil: clients
	// of the stateless revision are not asked.
	Sealer func() (*Sealer, error)
	// Yield lets the client's next call start while this call waits for something slow; nil if the transport
	// runs calls concurrently.
	Yield func(context.Context)
	// AgentControlled reports whether answers from the clients' users do not count, because an agent's shell started
	// the server and the agent controls the client. Nil: they count.
	AgentControlled func(context.Context) bool
	// AppViewOnly makes the app view only: any program that reaches the server, even an agent's shell, could
	// claim to show apps.
	AppViewOnly bool
	// Actor identifies the caller by the client's name and its connection. The connection is empty if the
	// protocol has none.
	Actor func(client, connection string) plan.Actor
}

// Server is an MCP server for one workspace. Serve its MCP field over any transport, then Close it.
type Server struct {
	MCP *server.MCPServer

	opts          Options
	connections   *connections
	subscriptions *subscriptions
	sealer        *Sealer         // for other servers' questions and the app's views; its key ends with the process
	readOnlyTools map[string]bool // tools allowed in a read-only phase
	offered       []string        // names of the offered tools
	otherTools    *otherTools     // nil: no tools of other servers are offered
	pending       pendingCalls
	rootsAsked    atomic.Int32
	close         func()

	background        func(func(context.Context)) // runs a function until Close
	waitForBackground func()                      // waits for those functions
}

// New returns a server. It opens nothing until a client needs it.
func New(opts Options) (*Server, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Yield == nil {
		opts.Yield = func(context.Context) {}
	}
	if opts.Reported == nil {
		opts.Reported = func(_ context.Context, _ Roots, call Call) string { return call.Session }
	}
	sealer, err := NewSealer()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		opts:          opts,
		connections:   &connections{actors: map[string]joined{}, served: map[string][]string{}},
		sealer:        sealer,
		readOnlyTools: readOnlyTools(),
		close:         sync.OnceFunc(cancel),
	}
	var running sync.WaitGroup
	s.background, s.waitForBackground = func(do func(context.Context)) { running.Go(func() { do(ctx) }) }, running.Wait
	s.subscriptions = &subscriptions{ctx: ctx, service: s.service, log: opts.Logger,
		sessions: map[string]server.ClientSession{}, subscribers: map[string]*subscriber{}, tracks: map[*verbs.Service]*watchedTrack{}}
	hooks := &server.Hooks{}
	s.subscriptions.registerHooks(hooks)
	s.connections.registerHooks(hooks)
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
		server.WithToolHandlerMiddleware(s.withSession),
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
	return s.opts.Service(ctx, s.roots, s.session(ctx))
}

// Close ends all background work and releases the connections' claims. The transport disconnects the clients.
func (s *Server) Close() {
	s.close()
	s.waitForBackground()
	s.subscriptions.running.Wait()
	s.connections.closeAll()
}

//go:embed icon.svg
var icon []byte

// identity returns the server's metadata that a host may show to people.
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
