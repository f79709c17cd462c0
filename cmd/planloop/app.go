package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"sync"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/memory"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// app holds what the commands share: the global flags, and what is opened when a
// command first needs it.
type app struct {
	world
	flags struct {
		workspace string
		agent     string
		json      bool
		ephemeral bool
		verbose   bool
	}
	settings map[string]string // configuration keys given as flags

	opening sync.Mutex
	opened  *opened
}

// opened is one workspace in use.
type opened struct {
	place   workspace.Workspace
	config  workspace.Config
	session *session.Session
	verbs   *verbs.Service
}

// open finds the workspace, reads its configuration and prepares its log, once.
// Nothing is read from the log or created before a verb needs it. roots, which
// may be nil, asks an MCP client for its roots; it is used only when nothing
// nearer names the workspace.
func (a *app) open(ctx context.Context, roots func(context.Context) []string) (*opened, error) {
	a.opening.Lock()
	defer a.opening.Unlock()
	if a.opened != nil {
		return a.opened, nil
	}
	place, err := a.find(ctx, roots)
	if err != nil {
		return nil, err
	}
	config, err := a.configure(place)
	if err != nil {
		return nil, err
	}
	var log store.Log = memory.New()
	seen := presence.Open("")
	if !a.flags.ephemeral {
		log, seen = sqlite.New(place.StateDir, sqlite.Options{Logger: a.logger()}), presence.Open(place.StateDir)
	}
	s := session.New(log, session.Options{Limits: config.Limits(), Presence: seen, Logger: a.logger()})
	a.opened = &opened{place, config, s, verbs.New(s, verbs.Options{
		Unicode: config.Text == workspace.Unicode, Presence: seen, Lease: config.Lease,
	})}
	return a.opened, nil
}

func (a *app) close() error {
	if a.opened == nil {
		return nil
	}
	return a.opened.session.Close()
}

// find returns the workspace. The client's roots are asked for only where
// nothing nearer than the current directory names one.
func (a *app) find(ctx context.Context, roots func(context.Context) []string) (workspace.Workspace, error) {
	lookup := workspace.Lookup{Flag: a.flags.workspace, Getenv: a.getenv}
	if roots != nil && !lookup.Named() {
		lookup.Roots = roots(ctx)
	}
	place, err := workspace.Find(lookup)
	if err == nil && place.Notice != "" {
		a.logger().Warn(place.Notice)
	}
	return place, err
}

func (a *app) configure(place workspace.Workspace) (workspace.Config, error) {
	config, warnings, err := workspace.Load(workspace.Sources{Flags: a.settings, Getenv: a.getenv, Workspace: place.Path})
	for _, w := range warnings {
		a.logger().Warn(w.String())
	}
	return config, err
}

// logger writes to standard error: standard output of a server is the protocol's.
func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.flags.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
}

// person is who runs a command: a named agent, CI, or the user.
func (a *app) caller() verbs.Caller {
	login := "user"
	if u, err := user.Current(); err == nil {
		login = u.Username
	}
	actor := workspace.ActorName(workspace.Identity{
		Agent: a.agentName(), Login: login, CI: a.getenv("CI") == "true" && !a.inTerminal,
	})
	return verbs.Caller{Actor: actor, Face: verbs.Command}
}

// client is who calls over MCP.
func (a *app) client(name, connection string) plan.Actor {
	return workspace.ActorName(workspace.Identity{Agent: a.agentName(), Client: name, Connection: connection})
}

func (a *app) agentName() string {
	if a.flags.agent != "" {
		return a.flags.agent
	}
	return a.getenv("PLANLOOP_AGENT")
}

