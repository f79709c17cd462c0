package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/internal/worktree"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// app holds the state that commands share: the global flags, and the workspace, opened on first use.
type app struct {
	environment
	flags struct {
		workspace, agent, track  string
		yes                      bool // an approved, unfinished plan may go
		json, ephemeral, verbose bool
	}
	shownTrack string            // what a command without --track shows beside other open tracks
	settings   map[string]string // configuration keys given as flags
	noWarnings bool              // no warnings: another program reads both outputs
	isParsed   bool              // the command line was understood
	hostLookup workspace.Lookup  // where the agent is, as its host tells a hook
	serving    bool              // standard error is a log
	detached   bool              // it serves the review page without a terminal

	isHook      bool   // a host's hook calls
	hookSession string // the host's session, as it tells a hook
	isCleared   bool   // that session continues a conversation that the user has cleared

	errorLog *errorLog // of an unattended process; nil: errors are only reported to the caller

	launch func() *process.Launcher // the launcher of all commands

	place  *workspace.Workspace // the workspace to use; nil: search for one
	parent *app                 // the command's own app if this one is for another workspace, else nil

	server func() presence.Server // describes this process as a stdio server; nil: it is not one

	tracksMu sync.Mutex
	tracks   map[string]*app // for the opened other tracks, also of other workspaces, by state folder; guarded by tracksMu

	stopFollowing func() // ends the follower of teams' tracks; nil: this process has none; guarded by tracksMu

	opening  sync.Mutex
	ws       atomic.Pointer[openWorkspace] // written under opening, read without a lock
	replaced []*openWorkspace              // calls may still use them; guarded by opening
	warned   sync.Map                      // the texts of the warnings
}

type openWorkspace struct {
	place            workspace.Workspace
	config           workspace.Config
	session          *session.Session
	release          func() error // closes the files of the log until its next use
	presence         *presence.Registry
	verbs            *verbs.Service
	client           func() string // the client that runs this command, according to running servers; "" if none
	callingSession   func() string // the session that runs this command or calls this hook; "" if unknown
	isServed         func() bool   // reports whether a client's server runs
	isUnderOtherHost func() bool   // reports whether this process descends from the host of another client's server, which did not start it
	notices          notices
	servers          *otherServers
	mirror           *mirror
	copied           *team.Copy
}

// open finds the workspace, reads its configuration and prepares its log, once. The log is neither read nor created until a verb needs it.
// roots, which may be nil, asks an MCP client for its roots; it is used only if nothing closer names the workspace.
func (a *app) open(ctx context.Context, roots mcpserver.Roots) (*openWorkspace, error) {
	a.opening.Lock()
	defer a.opening.Unlock()
	if ws := a.ws.Load(); ws != nil && !a.isReplaced(ws) {
		return ws, nil
	} else if ws != nil {
		a.replaced = append(a.replaced, ws)
	}
	place, err := a.find(ctx, roots)
	if err != nil {
		return nil, err
	}
	if place, err = a.onOwnTrack(ctx, place); err != nil {
		return nil, err
	}
	a.errorLog.setFolders(place.SharedDir(), place.StateHome())
	config, err := a.configure(place)
	if err != nil {
		return nil, err
	}
	copied := a.newMirror(place, config.Mirror)
	shared, err := a.copyIn(place.StateDir)
	if err != nil {
		return nil, err
	}
	s, seen, rest, err := a.openSession(ctx, place, shared,
		session.Options{Limits: config.Limits(), Changed: copied.changed, Logger: a.logger()})
	if err != nil {
		return nil, err
	}
	copied.session = s
	options := verbs.Options{
		Workspace: describePlace(place), Unicode: config.Unicode, Presence: signsOn(shared, seen), Actor: shared.Actor,
		Lease: config.Lease, Limits: config.Limits(),
		Gates: func(gate string) gates.Level {
			return config.Gates.Level(gate, gates.ByProfile(config.Gates.Profile, gate))
		},
		GateAll: config.Gates.Profile == gates.Strict, Unconfigured: !config.Gates.Asked,
		Doubt: place.Doubt, Stale: shared.Stale,
		Model: a.configuredModel(config.Model), Templates: a.templates(place), Engine: stepEngine{a},
		Hooks: hookReports{seen, a, place, shared}, HooksRequired: config.HooksRequired, Engines: engines{presence: seen, session: s},
	}
	if !a.flags.ephemeral {
		options.Detach = a.detachEngine
		options.Tracks, options.Engines = tracks{a, place, seen, shared}, engines{place.StateDir, signsOn(shared, seen), s, shared.Actor}
		options.LockHolder = func(lock string) string { return lockHolder(place, lock) }
	}
	others := &otherServers{app: a, place: place, section: config.Servers}
	if config.Servers.Given() {
		options.ServerTools = others.known
	}
	if !place.Default {
		if shared != nil {
			options.Commit = func(ctx context.Context) string { return worktree.Commit(ctx, place.Path) }
		}
		options.Tree = files{sync.OnceValues(func() (*tree.Tree, error) { return tree.Open(place.Path) })}
		options.Tools = func() []verbs.ToolInfo { return toolInfos(others) }
		options.StepTools = stepTools{sync.OnceValues(a.box), others}
		options.Verify, options.Commands = a.verify, installed
		options.RuleBook = ruleBook{workspace: place.Path, file: config.AgentsFile}
	}
	if staff, err := a.configuredAgents(place, config); err == nil && staff != nil { // the run reports the fault
		options.Agents = staff
	}
	answer := a.notices(place, config.Notify)
	options.Notify = answer.tell
	client := sync.OnceValue(func() string {
		client, some := seen.Client(a.ancestors, workspace.HostSession(a.getenv))
		if some {
			return cmp.Or(client, "agent") // one of several clients, unknown which
		}
		return ""
	})
	calling := sync.OnceValue(func() string { return a.sessionIn(seen) })
	now := &openWorkspace{place, config, s, rest, seen, verbs.New(s, options), client, calling, seen.Served,
		func() bool { return seen.IsNested(a.ancestors, workspace.HostSession(a.getenv)) }, answer, others, copied, shared}
	a.ws.Store(now)
	a.refresh(ctx, now)
	return now, nil
}

// isReplaced reports whether a running server must open a track again: it has joined or left a team, or has the token of a new join.
func (a *app) isReplaced(ws *openWorkspace) bool {
	now, err := a.readCopy(ws.place.StateDir)
	return err == nil && !now.IsSame(ws.copied)
}

// checkNotShared refuses to record a change here on a track that has become a team's since it was opened.
func checkNotShared(stateDir string) error {
	if _, isCopy, err := team.PlaceOf(stateDir); isCopy || err != nil {
		return cmp.Or(err, error(plan.Refuse(plan.Conflict, "", "this track has just become a team's",
			"read the plan again, then repeat the change")))
	}
	return nil
}

// openSession opens the log of a track, and the signs of life beside it. release closes the log's files until their next use.
func (a *app) openSession(ctx context.Context, place workspace.Workspace, shared *team.Copy,
	o session.Options) (s *session.Session, seen *presence.Registry, release func() error, err error) {
	signs := presence.Options{Logger: a.logger(), Server: a.server, Remote: a.serving && a.server == nil, Shared: place.SharedDir()}
	if a.flags.ephemeral {
		signs.Shared = ""
		seen = presence.Open("", signs)
		o.Presence = seen
		return session.New(store.NewMemory(), o), seen, func() error { return nil }, nil
	}
	if err := safefile.CheckFolder(place.StateDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil, err
	}
	a.writeMarker(place)
	if place.Track != "" {
		main, err := a.openTrack(ctx, place.On(workspace.MainTrack))
		if err != nil {
			return nil, nil, nil, err
		}
		signs.First, o.Main = main.presence, main.session
	}
	log := sqlite.New(place.StateDir, sqlite.Options{
		Created: func() {
			a.writeMarker(place)
			if a.serving { // the hook of the next call must know it
				a.announce(ctx, place)
			}
		},
		Warn: func(err error) { a.warn(err.Error()) },
	})
	seen = presence.Open(place.StateDir, signs)
	o.Presence, o.Mark = signsOn(shared, seen), place
	if shared != nil {
		o.Decider = shared
	} else {
		o.Facts = func(*plan.Facts) error { return checkNotShared(place.StateDir) }
	}
	return session.New(log, o), seen, log.CloseFiles, nil
}

func (a *app) state(ctx context.Context) (*openWorkspace, plan.State, error) {
	ws, err := a.open(ctx, nil)
	if err != nil {
		return nil, plan.State{}, err
	}
	state, err := ws.verbs.State(ctx)
	return ws, state, err
}

func (a *app) close() error {
	a.tracksMu.Lock()
	tracks, stop := slices.Collect(maps.Values(a.tracks)), a.stopFollowing
	a.tracksMu.Unlock()
	if stop != nil {
		stop()
	}
	var failed error
	for _, other := range tracks {
		failed = errors.Join(failed, other.close())
	}
	ws := a.ws.Load()
	if ws == nil {
		return failed
	}
	for _, ws := range append(a.replaced, ws) {
		ws.notices.close(a)
		ws.servers.close()
		ws.mirror.close()
		failed = errors.Join(failed, ws.session.Close())
	}
	return failed
}

// writeMarker marks the state folder, if it exists, so that people and other processes know which directory it belongs to.
func (a *app) writeMarker(place workspace.Workspace) {
	if info, err := os.Stat(place.SharedDir()); a.flags.ephemeral || place.Default || err != nil || !info.IsDir() {
		return
	}
	if err := place.WriteMarker(place.SharedDir()); err != nil {
		a.logger().Debug("the state folder has no marker", "error", err)
	}
}

// find returns the workspace. It asks the client for its roots, a round trip, only instead of taking an unnamed directory.
func (a *app) find(ctx context.Context, roots mcpserver.Roots) (workspace.Workspace, error) {
	if a.place != nil {
		return *a.place, nil
	}
	place, err := a.findWorkspace()
	if err == nil && roots != nil && place.From == workspace.FromDir {
		lookup := a.lookup()
		if lookup.Roots, err = roots(ctx); err == nil {
			place, err = a.onTrack(workspace.Find(lookup))
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

// findWorkspace finds the workspace and its track, before a client has reported its roots.
func (a *app) findWorkspace() (workspace.Workspace, error) {
	return a.onTrack(workspace.Find(a.lookup()))
}

// onTrack returns the workspace on the track that the user named.
func (a *app) onTrack(place workspace.Workspace, err error) (workspace.Workspace, error) {
	source, track := "--track", a.flags.track
	if track == "" {
		source, track = workspace.EnvTrack, a.getenv(workspace.EnvTrack)
	}
	if err != nil || !a.namesTrack() {
		return place, err
	}
	return place.On(track), workspace.CheckTrackName(source, track)
}

// namesTrack reports whether the user named a track.
func (a *app) namesTrack() bool { return cmp.Or(a.flags.track, a.getenv(workspace.EnvTrack)) != "" }

// lookup returns the ways to find the workspace, before a client has reported its roots.
func (a *app) lookup() workspace.Lookup {
	lookup := a.hostLookup
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

func (a *app) recordErrors(who string) {
	if a.flags.ephemeral {
		return
	}
	a.errorLog = newErrorLog(who, version(), os.Environ())
	if home, err := workspace.StateHome(a.getenv, ""); err == nil {
		a.errorLog.setFolders(home)
	}
}

func (a *app) describeServer() presence.Server {
	chain := a.ancestors()
	server := presence.Server{Session: workspace.HostSession(a.getenv), Starter: process.Starter(chain), Version: version(),
		Space: process.Space()}
	if len(chain) > 0 {
		server.Process = chain[0]
	}
	if len(chain) > 1 {
		server.Host = chain[1]
	}
	return server
}

// announce tells hooks of this server: over HTTP those of all hosts in its workspace, else those of its host, which also get a folder
// where they record their calls. Without it planning mode refuses the server's calls, and counts as not enforced. A server that only
// reads creates nothing: until a change by any program has created the state home, it tries again, while ctx lasts.
func (a *app) announce(ctx context.Context, place workspace.Workspace) {
	home, err := workspace.StateHome(a.getenv, "")
	switch {
	case err != nil || a.flags.ephemeral:
	case a.server == nil:
		err = presence.AnnounceProgram(home, a.ancestors(), filepath.Base(place.SharedDir()))
	default:
		err = errors.Join(presence.AnnounceProgram(home, a.ancestors(), ""), presence.PrepareHooks(home, process.Starter(a.ancestors())))
	}
	if errors.Is(err, fs.ErrNotExist) {
		time.AfterFunc(announceInterval, func() {
			if ctx.Err() == nil {
				a.announce(ctx, place)
			}
		})
	} else if err != nil {
		a.logger().Debug("hooks do not know this server", "error", err)
	}
}

const announceInterval = 500 * time.Millisecond // between a server's tries to announce itself
