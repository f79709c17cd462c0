package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/lineage"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/memory"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/trouble"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
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
	quiet    bool              // no warnings: something else reads both outputs
	started  bool              // the command line was understood
	told     workspace.Lookup  // what a host tells a hook of where the agent is
	serving  bool              // standard error is a log

	troubles *trouble.Book // of a process that nobody watches; nil: it tells who started it

	launch func() *process.Launcher // the one that starts commands

	fixed  *workspace.Workspace // which it is for; nil: it is looked for
	beside *app                 // the command's, for which this one is another workspace; nil: it is the command's

	server func() presence.Server // tells of this process, which serves the program that started it; nil: it does not

	opening sync.Mutex
	opened  atomic.Pointer[opened] // written under opening, looked at from anywhere
	warning sync.Mutex             // guards warned
	warned  map[string]bool
}

// opened is one workspace in use.
type opened struct {
	place   workspace.Workspace
	config  workspace.Config
	session *session.Session
	rest    func() error // lets go of the files of the log until it is used again
	seen    *presence.Book
	verbs   *verbs.Service
	client  func() string // whose client the command is run by, as living servers tell; "" when none does
	served  func() bool   // some client's server runs
	beneath func() bool   // this process runs beneath the host of another client's server, but is not started by it
	notices notices
	others  *otherServers
}

// open finds the workspace, reads its configuration and prepares its log, once.
// Nothing is read from the log or created before a verb needs it. roots, which
// may be nil, asks an MCP client for its roots; it is used only when nothing
// nearer names the workspace.
func (a *app) open(ctx context.Context, roots mcpserver.Roots) (*opened, error) {
	a.opening.Lock()
	defer a.opening.Unlock()
	if opened := a.opened.Load(); opened != nil {
		return opened, nil
	}
	place, err := a.find(ctx, roots)
	if err != nil {
		return nil, err
	}
	a.troubles.In(place.StateDir, filepath.Dir(place.StateDir))
	config, err := a.configure(place)
	if err != nil {
		return nil, err
	}
	var log store.Log = memory.New()
	stateDir, rest := "", func() error { return nil }
	if !a.flags.ephemeral {
		if err := private.Folder(place.StateDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		a.describe(place)
		kept := sqlite.New(place.StateDir, sqlite.Options{
			Created: func() { a.describe(place) }, Warn: func(err error) { a.warn(err.Error()) },
		})
		log, stateDir, rest = kept, place.StateDir, kept.Rest
	}
	seen := presence.Open(stateDir, presence.Options{Logger: a.logger(), Server: a.server, Remote: a.serving && a.server == nil})
	s := session.New(log, session.Options{Limits: config.Limits(), Presence: seen, Logger: a.logger()})
	options := verbs.Options{
		Unicode: config.Text == workspace.Unicode, Presence: seen, Lease: config.Lease, Limits: config.Limits(),
		Gates: func(gate string) gates.Level {
			return config.Gates.Level(gate, gates.ByProfile(config.Gates.Profile, gate))
		},
		GateAll: config.Gates.Profile == gates.Strict, Unconfigured: !config.Gates.Asked,
	}
	if options.Workspace = safetext.EscapeLine(place.Path); place.Default {
		options.Workspace = "the workspace named default"
	}
	options.Doubt = place.Doubt
	options.Model = a.configuredModel(config.Model)
	others := &otherServers{app: a, place: place, section: config.Servers}
	if config.Servers.Given() {
		options.OtherTools = others.known
	}
	if !place.Default {
		options.Tree, options.Tools = newFiles(place.Path), func() []verbs.ToolInfo { return toolInfos(others) }
		options.StepTools = stepTools{sync.OnceValues(a.box), others}
		options.RuleBook = ruleBook{workspace: place.Path, file: config.AgentsFile}
	}
	options.Templates = a.templates(place)
	options.Engine = stepEngine{a}
	if staff, err := a.staff(place, config.Agents); err == nil && staff != nil { // a run says what is wrong
		options.Staff = staff
	}
	options.Hooks, options.HooksRequired = attested{seen}, config.Hooks == workspace.HooksRequired
	options.Crew = crew{stateDir, seen}
	told := a.notices(place, config.Notify)
	options.Notify = told.tell
	client := sync.OnceValue(func() string {
		client, some := seen.Client(a.chain, workspace.HostSession(a.getenv))
		if some {
			return cmp.Or(client, "agent") // one of several: which cannot be told
		}
		return ""
	})
	beneath := func() bool { return seen.Beneath(a.chain, workspace.HostSession(a.getenv)) }
	now := &opened{place, config, s, rest, seen, verbs.New(s, options), client, seen.Served, beneath, told, others}
	a.opened.Store(now)
	return now, nil
}

// state opens the workspace for a command and reads its state.
func (a *app) state(ctx context.Context) (*opened, plan.State, error) {
	opened, err := a.open(ctx, nil)
	if err != nil {
		return nil, plan.State{}, err
	}
	state, err := opened.verbs.State(ctx)
	return opened, state, err
}

// close ends the use of the workspace.
func (a *app) close() error {
	opened := a.opened.Load()
	if opened == nil {
		return nil
	}
	opened.notices.close(a)
	opened.others.close()
	return opened.session.Close()
}

// describe leaves a word in the state folder, once there is one, that tells people and
// other processes which directory it belongs to.
func (a *app) describe(place workspace.Workspace) {
	if info, err := os.Stat(place.StateDir); a.flags.ephemeral || place.Default || err != nil || !info.IsDir() {
		return
	}
	if err := place.WriteMarker(place.StateDir); err != nil {
		a.logger().Debug("the state folder was not labelled", "error", err)
	}
}

// find returns the workspace. The client's roots are asked for, which costs a
// round trip, only where the workspace would otherwise be a directory that
// nobody named and that is no work tree.
func (a *app) find(ctx context.Context, roots mcpserver.Roots) (workspace.Workspace, error) {
	if a.fixed != nil {
		return *a.fixed, nil
	}
	place, err := workspace.Find(a.lookup())
	if err == nil && roots != nil && place.From == workspace.FromDir {
		lookup := a.lookup()
		if lookup.Roots, err = roots(ctx); err == nil {
			place, err = workspace.Find(lookup)
		}
	}
	if err == nil && place.Doubt != "" {
		if a.server != nil && !place.Default { // its agent is told
			a.logger().Info(place.Doubt)
		} else {
			a.warn(place.Doubt)
		}
	}
	return place, err
}

// lookup is what the workspace is found by, before a client has told its roots.
func (a *app) lookup() workspace.Lookup {
	lookup := a.told
	lookup.Flag, lookup.Getenv, lookup.Hosted = a.flags.workspace, a.getenv, lookup.Hosted || a.server != nil
	return lookup
}

func (a *app) configure(place workspace.Workspace) (workspace.Config, error) {
	config, warnings, err := workspace.Load(workspace.Sources{Flags: a.settings, Getenv: a.getenv, Workspace: place, Gates: gates.Names()})
	for _, w := range warnings {
		a.warn(w.Error())
	}
	return config, err
}

// warn tells once what a person should know but did not ask for.
func (a *app) warn(text string) {
	if a.beside != nil {
		a.beside.warn(text)
		return
	}
	a.warning.Lock()
	defer a.warning.Unlock()
	if a.warned[text] {
		return
	}
	if a.warned == nil {
		a.warned = map[string]bool{}
	}
	a.warned[text] = true
	if a.serving || a.quiet {
		a.logger().Warn(text)
		return
	}
	fmt.Fprintln(a.err, "warning: "+safetext.EscapeLine(text))
}

// logger writes to standard error: standard output of a server is the protocol's.
func (a *app) logger() *slog.Logger {
	if a.quiet {
		return slog.New(slog.DiscardHandler)
	}
	level := slog.LevelWarn
	if a.flags.verbose {
		level = slog.LevelDebug
	}
	return slog.New(a.troubles.Handler(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level})))
}

// unwatched has a process that nobody watches keep what goes wrong for doctor.
func (a *app) unwatched(who string) {
	if a.flags.ephemeral {
		return
	}
	a.troubles = trouble.New(who, version(), os.Environ())
	if home, err := workspace.StateHome(a.getenv, ""); err == nil {
		a.troubles.In(home)
	}
}

// caller is who runs a command: an agent that was started for a step, a named agent, the
// client of a server whose host runs the command as well, CI, or the user.
func (a *app) caller() verbs.Caller {
	if agent, is := a.startedFor(plan.ViaAgentShell); is {
		return verbs.Caller{Actor: agent, Face: terminal.CommandLine{}}
	}
	who := workspace.Caller{Agent: a.agentName(), Login: a.login(), CI: workspace.InCI(a.getenv), Terminal: a.inTerminal,
		Present: a.notPresent() == ""}
	if opened := a.opened.Load(); opened != nil && who.Agent == "" && !who.Present {
		who.Server = opened.client()
	}
	return verbs.Caller{Actor: who.Actor(), Face: terminal.CommandLine{}}
}

// tellOfMyself is what a server on standard input and output tells of itself.
func (a *app) tellOfMyself() presence.Server {
	chain := a.chain()
	server := presence.Server{Session: workspace.HostSession(a.getenv), Starter: lineage.Starter(chain), Version: version()}
	if len(chain) > 0 {
		server.Process = chain[0]
	}
	if len(chain) > 1 {
		server.Host = chain[1]
	}
	return server
}

// expectHooks makes the place where the hooks of the program that has started this server leave
// their signs of life. Without it they are not heard, and planning mode counts as advisory.
func (a *app) expectHooks() {
	home, err := workspace.StateHome(a.getenv, "")
	if err == nil && !a.flags.ephemeral {
		err = presence.Expect(home, lineage.Starter(a.chain()))
	}
	if err != nil {
		a.logger().Debug("hooks are not heard", "error", err)
	}
}

func (a *app) login() string {
	if name := workspace.Login(a.getenv); name != "" {
		return name
	}
	if me, err := user.Current(); err == nil {
		return me.Username
	}
	return ""
}

// client is who calls over MCP: an agent, even one that tells nothing of itself.
func (a *app) client(name, connection string) plan.Actor {
	if agent, is := a.startedFor(plan.ViaMCP); is {
		return agent
	}
	return workspace.Caller{Agent: a.agentName(), Client: cmp.Or(name, "client"), Connection: connection}.Actor()
}

func (a *app) agentName() string {
	if a.flags.agent != "" {
		return a.flags.agent
	}
	return a.getenv(workspace.EnvAgent)
}

// checkAgentName refuses a name that could not be kept as it is.
func (a *app) checkAgentName() error {
	rule := plan.Text{Field: "--agent", Max: workspace.LongestAgent}
	if a.flags.agent == "" {
		rule.Field = workspace.EnvAgent
	}
	name, err := rule.Clean(a.agentName())
	if err == nil && strings.Contains(name, "#") {
		err = plan.Refuse(plan.InvalidInput, rule.Field, "holds a #, which stands for a connection", "use another sign")
	}
	return err
}
