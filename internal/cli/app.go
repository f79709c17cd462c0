package cli

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
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// app holds the state that commands share: the global flags, and the workspace, opened on first use.
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
	quiet    bool              // no warnings: another program reads both outputs
	started  bool              // the command line was understood
	told     workspace.Lookup  // where the agent is, as its host tells a hook
	serving  bool              // standard error is a log

	troubles *troubleBook // of an unattended process; nil: errors are only reported to the caller

	launch func() *process.Launcher // the launcher of all commands

	fixed  *workspace.Workspace // the workspace to use; nil: search for one
	beside *app                 // the command's own app if this one is for another workspace, else nil

	server func() presence.Server // describes this process as a stdio server; nil: it is not one

	opening sync.Mutex
	opened  atomic.Pointer[opened] // written under opening, read without a lock
	warning sync.Mutex             // guards warned
	warned  map[string]bool
}

// opened is one workspace in use.
type opened struct {
	place   workspace.Workspace
	config  workspace.Config
	session *session.Session
	rest    func() error // closes the files of the log until its next use
	seen    *presence.Registry
	verbs   *verbs.Service
	client  func() string // the client that runs this command, according to running servers; "" if none
	served  func() bool   // reports whether a client's server runs
	beneath func() bool   // reports whether this process descends from the host of another client's server, which did not start it
	notices notices
	others  *otherServers
}

// open finds the workspace, reads its configuration and prepares its log, once. The log is neither read nor created until a verb needs it.
// roots, which may be nil, asks an MCP client for its roots; it is used only if nothing closer names the workspace.
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
	var log store.Log = store.NewMemory()
	stateDir, rest := "", func() error { return nil }
	if !a.flags.ephemeral {
		if err := safefile.CheckFolder(place.StateDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		a.describe(place)
		kept := sqlite.New(place.StateDir, sqlite.Options{
			Created: func() { a.describe(place) }, Warn: func(err error) { a.warn(err.Error()) },
		})
		log, stateDir, rest = kept, place.StateDir, kept.CloseFiles
	}
	seen := presence.Open(stateDir, presence.Options{Logger: a.logger(), Server: a.server, Remote: a.serving && a.server == nil})
	s := session.New(log, session.Options{Limits: config.Limits(), Presence: seen, Logger: a.logger()})
	options := verbs.Options{
		Unicode: config.Unicode, Presence: seen, Lease: config.Lease, Limits: config.Limits(),
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
		options.ServerTools = others.known
	}
	if !place.Default {
		options.Tree, options.Tools = newFiles(place.Path), func() []verbs.ToolInfo { return toolInfos(others) }
		options.StepTools = stepTools{sync.OnceValues(a.box), others}
		options.RuleBook = ruleBook{workspace: place.Path, file: config.AgentsFile}
	}
	options.Templates = a.templates(place)
	options.Engine = stepEngine{a}
	if staff, err := a.staff(place, config.Agents); err == nil && staff != nil { // the run reports the fault
		options.Agents = staff
	}
	options.Hooks, options.HooksRequired = attested{seen}, config.HooksRequired
	options.Engines = crew{stateDir, seen}
	told := a.notices(place, config.Notify)
	options.Notify = told.tell
	client := sync.OnceValue(func() string {
		client, some := seen.Client(a.chain, workspace.HostSession(a.getenv))
		if some {
			return cmp.Or(client, "agent") // one of several clients, unknown which
		}
		return ""
	})
	beneath := func() bool { return seen.IsNested(a.chain, workspace.HostSession(a.getenv)) }
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

// close closes the workspace, if it was opened.
func (a *app) close() error {
	opened := a.opened.Load()
	if opened == nil {
		return nil
	}
	opened.notices.close(a)
	opened.others.close()
	return opened.session.Close()
}

// describe writes a marker into the state folder, if the folder exists. It tells people and other processes which directory the folder
// belongs to.
func (a *app) describe(place workspace.Workspace) {
	if info, err := os.Stat(place.StateDir); a.flags.ephemeral || place.Default || err != nil || !info.IsDir() {
		return
	}
	if err := place.WriteMarker(place.StateDir); err != nil {
		a.logger().Debug("the state folder was not labelled", "error", err)
	}
}

// find returns the workspace. Asking the client for its roots costs a round trip, so that happens only if the workspace would otherwise be
// an unnamed directory outside any work tree.
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
		if a.server != nil && !place.Default { // the server tells its agent
			a.logger().Info(place.Doubt)
		} else {
			a.warn(place.Doubt)
		}
	}
	return place, err
}

// lookup returns the ways to find the workspace, before a client has reported its roots.
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

// warn prints a warning for the user, once per text.
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

// logger returns a logger on standard error: standard output of a server belongs to the protocol.
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

// unwatched has an unattended process record its errors for doctor.
func (a *app) unwatched(who string) {
	if a.flags.ephemeral {
		return
	}
	a.troubles = newTroubleBook(who, version(), os.Environ())
	if home, err := workspace.StateHome(a.getenv, ""); err == nil {
		a.troubles.In(home)
	}
}

// caller returns the caller of a command: an agent started for a step, a named agent, the client of a server with the same host, CI,
// or the user.
func (a *app) caller() verbs.Caller {
	if agent, is := a.startedFor(plan.ChannelAgentShell); is {
		return verbs.Caller{Actor: agent, Face: terminal.CommandLine{}}
	}
	who := workspace.Caller{Agent: a.agentName(), Login: a.login(), CI: workspace.InCI(a.getenv), Terminal: a.inTerminal,
		Present: a.notPresent() == ""}
	if opened := a.opened.Load(); opened != nil && who.Agent == "" && !who.Present {
		who.Server = opened.client()
	}
	return verbs.Caller{Actor: who.Actor(), Face: terminal.CommandLine{}}
}

// tellOfMyself describes this process as a server on standard input and output.
func (a *app) tellOfMyself() presence.Server {
	chain := a.chain()
	server := presence.Server{Session: workspace.HostSession(a.getenv), Starter: process.Starter(chain), Version: version()}
	if len(chain) > 0 {
		server.Process = chain[0]
	}
	if len(chain) > 1 {
		server.Host = chain[1]
	}
	return server
}

// expectHooks creates the folder where the hooks of the program that started this server record their calls. Without it they are not
// noticed, and planning mode counts as not enforced.
func (a *app) expectHooks() {
	home, err := workspace.StateHome(a.getenv, "")
	if err == nil && !a.flags.ephemeral {
		err = presence.PrepareHooks(home, process.Starter(a.chain()))
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

// client returns the caller over MCP: an agent, even if it does not name itself.
func (a *app) client(name, connection string) plan.Actor {
	if agent, is := a.startedFor(plan.ChannelMCP); is {
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

// checkAgentName refuses a name that could not be stored unchanged.
func (a *app) checkAgentName() error {
	rule := plan.Text{Field: "--agent", Max: workspace.MaxAgentName}
	if a.flags.agent == "" {
		rule.Field = workspace.EnvAgent
	}
	name, err := rule.Clean(a.agentName())
	if err == nil && strings.Contains(name, "#") {
		err = plan.Refuse(plan.InvalidInput, rule.Field, "holds a #, which stands for a connection", "use another sign")
	}
	return err
}
