package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/transport"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/web"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
)

type serveOptions struct {
	http, tokenFile, strategy, toolsets string

	origins []string
	rate    int
}

func newServeCommand(a *app) *cobra.Command {
	var o serveOptions
	cmd := newCommand("serve", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		a.recordErrors("serve")
		err := a.serve(cmd.Context(), o)
		if err != nil && cmd.Context().Err() == nil {
			a.errorLog.record(message(err))
		}
		return err
	})
	flags := cmd.Flags()
	flags.StringVar(&o.http, "http", "", "serve over HTTP on `ADDRESS`, such as 127.0.0.1:8137")
	flags.StringVar(&o.tokenFile, "token-file", "", "the `FILE` with the bearer token HTTP clients must send (or PLANLOOP_TOKEN)")
	flags.StringSliceVar(&o.origins, "allow-origin", nil, "allow web pages from `ORIGIN`, such as https://example.com")
	flags.IntVar(&o.rate, "rate", 100, "the `NUMBER` of HTTP requests a second for each client; 0 means unlimited")
	flags.StringVar(&o.strategy, "strategy", "", "the `STRATEGY`: react, plan_act_reflect or goal_decompose_route_synthesise")
	flags.StringVar(&o.toolsets, "toolsets", "", "the `TOOLSETS` to offer, comma-separated")
	return cmd
}

func (a *app) serve(ctx context.Context, o serveOptions) error {
	if err := process.Hide(); err != nil { // the environment may hold keys, and the server runs an agent's commands
		a.logger().Warn("other programs of this user can read the server's environment", "error", err)
	}
	a.settings, a.serving = map[string]string{}, true
	for key, value := range map[string]string{"strategy": o.strategy, "toolsets": o.toolsets} {
		if value != "" {
			a.settings[key] = value
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.http == "" {
		a.server = a.describeServer
	}
	var beginning sync.WaitGroup // system calls, in parallel with the computation
	beginning.Go(func() {
		a.agentVariable() // now: the parent process may end, and could not be found later
		if o.http == "" {
			a.announce(ctx, workspace.Workspace{}) // not found yet
		}
	})
	defer beginning.Wait()
	place, err := a.findWorkspace() // without the client's roots: it needs texts and tools before it reports them
	if err != nil {
		return err
	}
	if o.http != "" {
		a.announce(ctx, place)
	}
	config, err := a.configure(place) // its warnings are not repeated when the workspace is opened
	if err != nil {
		return err
	}
	box := sync.OnceValues(a.box)
	var others mcpserver.Servers
	if config.Servers.Given() {
		others = offeredServers{a}
	}
	server, err := mcpserver.New(mcpserver.Options{
		Sealer:  sync.OnceValues(a.sealer),
		Servers: others, GuardChange: a.free,
		Box:     func(context.Context) (*toolbox.Box, error) { return box() },
		Version: version(), Strategy: config.Strategy, Toolsets: toolsets(config), User: terminal.CommandLine{}, Yield: transport.Yield,
		Logger: a.logger(), Actor: a.client, AgentControlled: a.isAgentStarted, AppViewOnly: o.http != "",
		Service: a.serviceFor(o.http != ""), Reported: a.reportedSession,
		// It cannot start a run, which would end with the host.
		Workspace: func(ctx context.Context, session string) (*review.Workspace, error) {
			ws, err := a.openFor(ctx, nil, session)
			if err != nil {
				return nil, err
			}
			return &review.Workspace{Place: placeOf(ws.place), Service: ws.verbs, Fresh: ws.servers.refreshFor}, nil
		},
	})
	if err != nil {
		return err
	}
	defer server.Close()
	beginning.Wait()
	settle()
	if o.http != "" {
		return a.serveHTTP(ctx, server, o)
	}
	if a.inIsTerminal {
		fmt.Fprintln(a.err, "planloop: waiting for MCP messages on standard input. A host usually starts this command. "+
			"Ctrl-C ends it. To connect a host: planloop init")
	}
	signal.Ignore(syscall.SIGPIPE) // a host that closes the pipe is not an error
	a.flags.json = false           // from here on standard output carries only messages
	return transport.ServeStdio(ctx, server.MCP, a.in, a.out, transport.StdioOptions{Logger: a.logger()})
}

// serviceFor returns a function that finds the service of a session's track.
func (a *app) serviceFor(http bool) func(context.Context, mcpserver.Roots, string) (*verbs.Service, error) {
	return func(ctx context.Context, roots mcpserver.Roots, session string) (*verbs.Service, error) {
		if http {
			roots = nil // one of many clients, perhaps on another machine, must not decide for all
		}
		ws, err := a.openFor(ctx, roots, session)
		if err != nil {
			return nil, err
		}
		return ws.verbs, nil
	}
}

// reportedSession records a call in the workspace, and returns the session that a hook of the host has reported for it.
func (a *app) reportedSession(ctx context.Context, roots mcpserver.Roots, call mcpserver.Call) (session string) {
	ws, err := a.open(ctx, roots)
	if err != nil {
		return "" // the call itself gets the error
	}
	reported := ws.presence.Called(call.Tool, presence.CallID{Use: call.Use, Arguments: call.Arguments})
	if session = cmp.Or(call.Session, reported); session == "" {
		return ""
	}
	ws.presence.Serve(call.Actor, session)
	if on := ws.presence.Bound(call.Actor); on.Track != "" && ws.presence.Bound(session).Track == "" {
		// An earlier call of this or another session was not reported.
		held, err := a.holder(ctx, ws.place, ws.presence, session)
		if err != nil || held != nil && held.TrackName() != on.Track {
			return session
		}
		if err := ws.presence.Bind(session, presence.Binding{Track: on.Track, Saw: on.Saw}); err != nil {
			a.logger().Debug("the session's track is not recorded", "error", err)
		}
	}
	return session
}

func toolsets(config workspace.Config) []string {
	names := make([]string, len(config.Toolsets))
	for i, t := range config.Toolsets {
		names[i] = string(t)
	}
	return names
}

// sealer seals requests with the workspace's key, which all its servers share.
func (a *app) sealer() (*mcpserver.Sealer, error) {
	ws, err := a.open(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	if a.flags.ephemeral {
		return mcpserver.NewSealer()
	}
	return mcpserver.OpenSealer(ws.place.SharedDir())
}

func (a *app) serveHTTP(ctx context.Context, server *mcpserver.Server, o serveOptions) error {
	token, err := a.token(ctx, o.tokenFile)
	if err != nil {
		return err
	}
	place, err := a.find(ctx, nil)
	if err != nil {
		return err
	}
	working, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	runs := pageRuns{working: working, drained: ctx.Done(), going: &sync.WaitGroup{}}
	d := a.newReviewWorkspaces(place, true, runs)
	defer d.close()
	page, err := a.newPage(d, web.ViewAccess{Token: token, Anyone: token == ""}, "")
	if err != nil {
		return err
	}
	defer page.close()
	http, err := transport.NewHTTPServer(server.MCP, transport.HTTPOptions{
		Addr: o.http, Token: token, AllowOrigins: o.origins, Rate: o.rate,
		Logger: a.logger(), Page: page.server, HasTrack: func(name string) bool {
			return !a.flags.ephemeral && name != "" && trackExists(place.On(name))
		}})
	if errors.Is(err, transport.ErrTokenRequired) {
		return usageError{fmt.Errorf("%w: write one into a file and name it with --token-file", err)}
	}
	if err != nil {
		return usageError{err}
	}
	listener, err := transport.Listen(ctx, o.http)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "planloop: serving MCP at http://%s/mcp\n", listener.Addr())
	page.announce(ctx, listener.Addr())
	context.AfterFunc(ctx, page.server.Close) // its open streams would delay the end
	err = http.Serve(ctx, web.WithPolicy(listener))
	a.drain(ctx, runs, kill)
	return err
}

func (a *app) token(ctx context.Context, file string) (string, error) {
	if file == "" {
		return a.getenv("PLANLOOP_TOKEN"), nil
	}
	data, err := a.readToken(ctx, file)
	if err != nil {
		return "", usageError{fmt.Errorf("token file: %w", err)}
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", usageError{fmt.Errorf("the token is empty; give it on standard input or with --token-file FILE")}
	}
	return token, nil
}
