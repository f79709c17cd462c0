package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/transport"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// tracks implements verbs.Tracks for a workspace on one of its tracks.
type tracks struct {
	app    *app
	place  workspace.Workspace
	seen   *presence.Registry
	copied *team.Copy
}

func (t tracks) Name() string { return t.place.TrackName() }

func (t tracks) Begin(ctx context.Context, objective string) (*verbs.Service, func(), error) {
	if t.app.namesTrack() {
		return nil, nil, plan.Refuse(plan.Conflict, "", "track "+t.Name()+" has another session's unfinished plan",
			"name no track, so that this plan gets one of its own, or finish or clear the other plan")
	}
	if err := t.app.refuseMoreTracks(ctx, t.place); err != nil {
		return nil, nil, err
	}
	place, err := t.place.BeginTrack(objective, sqlite.RemoveUnused)
	if err != nil {
		return nil, nil, err
	}
	return t.begun(ctx, place)
}

// begun opens a track that was just made.
func (t tracks) begun(ctx context.Context, place workspace.Workspace) (*verbs.Service, func(), error) {
	ws, err := t.app.openTrack(ctx, place)
	if err != nil {
		return nil, nil, errors.Join(err, os.Remove(place.StateDir))
	}
	return ws.verbs, func() { _ = os.Remove(place.StateDir) }, nil // fails unless it is empty
}

func (t tracks) HasChosen(c verbs.Caller) bool {
	on := t.seen.Bound(c.Session).Track
	return !t.place.HasTracks() || t.app.namesTrack() || on != "" && trackExists(t.place.On(on))
}

func (t tracks) Open(ctx context.Context) ([]verbs.TrackView, error) {
	open := []verbs.TrackView{}
	for _, one := range t.app.summarize(ctx, t.app.openOverviews(ctx, t.place)) {
		open = append(open, one.view)
	}
	return open, nil
}

// Changed watches the list of open tracks and the heads of their logs. Its goroutine ends with ctx.
func (t tracks) Changed(ctx context.Context) <-chan struct{} {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		t.app.logger().Warn("other tracks are not watched", "error", err)
		return nil
	}
	var changed broadcast.Hub
	list := t.place.OpenFolder()
	watch := func() {
		_ = watcher.Add(list)
		for _, dir := range t.place.OpenDirs() {
			if _, err := os.Stat(dir); err != nil {
				continue
			}
			if growth, err := sqlite.MakeGrowthFolder(dir); err == nil {
				_ = watcher.Add(growth)
			}
		}
	}
	watch()
	heard := changed.Listen(ctx)
	go func() {
		defer watcher.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case event := <-watcher.Events:
				if filepath.Dir(event.Name) == list {
					watch()
				}
			case <-watcher.Errors:
				watch()
			}
			changed.Notify()
		}
	}()
	return heard
}

func (t tracks) Join(ctx context.Context, name string, create bool) (*verbs.Service, func(), error) {
	place := t.place.On(name)
	if invalid, is := errors.AsType[*workspace.ConfigError](workspace.CheckTrackName("track", name)); is {
		return nil, nil, plan.Refuse(plan.InvalidInput, "/track", plan.Quote(name)+" is not a track's name", invalid.Want)
	}
	switch exists := trackExists(place); {
	case exists:
		ws, err := t.app.openTrack(ctx, place)
		if err != nil {
			return nil, nil, err
		}
		return ws.verbs, func() {}, nil
	case !create:
		return nil, nil, plan.Refuse(plan.NotFound, "/track", "track "+plan.Quote(name)+" does not exist",
			"leave out track to see the others")
	}
	if err := t.app.refuseMoreTracks(ctx, t.place); err != nil {
		return nil, nil, err
	}
	if err := place.MakeTrack(); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, nil, err
	}
	return t.begun(ctx, place)
}

func (t tracks) HeldBy(ctx context.Context, c verbs.Caller) (string, error) {
	by, err := t.app.holder(ctx, t.place, t.seen, c.Session)
	if by == nil {
		return "", err
	}
	return by.TrackName(), err
}

func (t tracks) Binding(c verbs.Caller) verbs.Binding {
	on := t.seen.Bound(c.Session)
	if t.app.namesTrack() && on.Track != t.Name() {
		on = presence.Binding{Track: t.Name()}
	}
	return verbs.Binding(on)
}

func (t tracks) Bind(c verbs.Caller, from, to verbs.Binding) {
	if to == from && (!t.app.namesTrack() || to == verbs.Binding(t.seen.Bound(c.Session))) { // a named track may not be recorded yet
		return
	}
	if err := t.seen.Bind(c.Session, presence.Binding(to)); err != nil {
		t.app.logger().Warn("the session's track is not recorded", "track", to.Track, "error", err)
	}
}

func (t tracks) IsAgent(name string) bool {
	name = t.copied.LocalName(name)
	return strings.Contains(name, "#") || t.seen.Bound(name).Track != "" ||
		slices.ContainsFunc(t.seen.Servers(), func(s presence.Server) bool { return s.Client == name })
}

func (t tracks) Title(agent string) string {
	host, _ := hosts.OfClient(t.copied.LocalName(agent))
	return host.Title
}

func (t tracks) Serves(agent string, c verbs.Caller) bool {
	return serves(t.seen, t.copied.LocalName(agent), c.Session)
}

func serves(seen *presence.Registry, agent, session string) bool {
	return session != "" && slices.ContainsFunc(seen.Servers(), func(s presence.Server) bool {
		return s.Client == agent && slices.Contains(s.AllSessions(), session)
	})
}

// openTrack opens a track of this or another workspace, once.
func (a *app) openTrack(ctx context.Context, place workspace.Workspace) (*openWorkspace, error) {
	if a.parent != nil {
		return a.parent.openTrack(ctx, place)
	}
	if ws := a.ws.Load(); ws != nil && ws.place.StateDir == place.StateDir {
		if a.isReplaced(ws) {
			return a.open(ctx, nil)
		}
		return ws, nil
	}
	a.tracksMu.Lock()
	inner := a.tracks[place.StateDir]
	if inner == nil {
		inner = a.within(place)
		inner.settings, inner.serving, inner.server, inner.flags = a.settings, a.serving, a.server, a.flags
		inner.hookSession, inner.isHook = a.hookSession, a.isHook
		if a.tracks == nil {
			a.tracks = map[string]*app{}
		}
		a.tracks[place.StateDir] = inner
	}
	a.tracksMu.Unlock()
	return inner.open(ctx, nil)
}

// openFor opens the workspace on the track that a session is on.
func (a *app) openFor(ctx context.Context, roots mcpserver.Roots, session string) (*openWorkspace, error) {
	ws, err := a.open(ctx, roots)
	if err != nil || a.flags.ephemeral || a.namesTrack() {
		return ws, err
	}
	if name := transport.TrackOf(ctx); name != "" {
		isHeld, err := a.bindTo(ctx, ws, session, name)
		if err != nil {
			return nil, err
		}
		if !isHeld { // the binding says another track by now if a client of the same name calls at another address
			return a.openTrack(ctx, ws.place.On(name))
		}
	}
	place, err := a.trackFor(ctx, ws.place, ws.presence, session)
	if err != nil {
		return nil, err
	}
	return a.openTrack(ctx, place)
}

// bindTo puts a session on the track of an address, unless planning mode on another one holds it.
func (a *app) bindTo(ctx context.Context, ws *openWorkspace, session, track string) (isHeld bool, err error) {
	if ws.presence.Bound(session).Track == track {
		return false, nil
	}
	held, err := a.holder(ctx, ws.place, ws.presence, session)
	if held != nil || err != nil {
		return true, err
	}
	return false, ws.presence.Bind(session, presence.Binding{Track: track})
}

// trackFor returns the workspace on the track that a session is bound to, else on the only open one, else on main.
func (a *app) trackFor(ctx context.Context, place workspace.Workspace, seen *presence.Registry,
	session string) (workspace.Workspace, error) {
	if !place.HasTracks() {
		return place.On(workspace.MainTrack), nil
	}
	if bound := seen.Bound(session).Track; bound != "" && trackExists(place.On(bound)) {
		return place.On(bound), nil
	}
	only := a.onlyOpenTrack(ctx, place)
	if a.serving && only.Track != "" {
		if _, _, err := a.readTrack(ctx, only); err != nil {
			only = place.On(workspace.MainTrack) // where a new plan can begin
		}
	}
	return only, nil
}

// onOwnTrack returns the workspace on the track of the agent behind this command or hook call, if the user named
// none. A server serves sessions on several tracks, and finds the track for each call.
func (a *app) onOwnTrack(ctx context.Context, place workspace.Workspace) (workspace.Workspace, error) {
	if a.serving || a.place != nil || a.flags.ephemeral || a.namesTrack() || !place.HasTracks() && !a.isCleared {
		return place, nil
	}
	seen := presence.Open(place.SharedDir(), presence.Options{})
	session := a.sessionIn(seen)
	if session == "" && a.hookSession == "" {
		return place, nil // of a person or a script
	}
	if a.isCleared {
		if err := a.inheritTrack(ctx, place, seen, session); err != nil {
			return place, err
		}
	}
	return a.trackFor(ctx, place, seen, session)
}

// inheritTrack puts a session on the track of the one that its host's server has served last, or on that of any in planning mode: the
// session may continue that one.
func (a *app) inheritTrack(ctx context.Context, place workspace.Workspace, seen *presence.Registry, session string) error {
	restricting, err := a.restrictingTracks(ctx, place)
	if err != nil || seen.Bound(session).Track != "" {
		return err
	}
	host, to := process.Starter(a.ancestors()), presence.Binding{}
	for _, s := range seen.Servers() {
		for _, former := range s.AllSessions() {
			on := seen.Bound(former)
			isHeld := slices.ContainsFunc(restricting, func(t restrictingTrack) bool { return t.TrackName() == to.Track })
			if s.Starter.Is(host) && on.Track != "" && !isHeld {
				to = on
			}
		}
	}
	if to.Track == "" {
		return nil
	}
	return seen.Bind(session, to)
}

// onSignalTrack makes a signal of a person or CI, if no track was named, one of the workspace, a record of main; with a task, one of the
// only open track. That of an agent whose session is unknown is one of the only open track, too.
func (a *app) onSignalTrack(ctx context.Context, task string) (plan.Reach, error) {
	place, err := a.find(ctx, nil)
	if err != nil || a.flags.ephemeral || a.namesTrack() || a.sessionIn(presence.Open(place.SharedDir(), presence.Options{})) != "" {
		return plan.ReachTrack, err
	}
	sign := ""
	if !workspace.InCI(a.getenv) {
		sign = a.agentSign()
	}
	if task == "" && sign == "" {
		if place.HasTracks() {
			a.flags.track = workspace.MainTrack
		}
		return plan.ReachWorkspace, nil
	}
	if !place.HasTracks() {
		return plan.ReachTrack, nil
	}
	a.flags.track = workspace.MainTrack
	open := slices.DeleteFunc(a.openOverviews(ctx, place), a.isUnreadable)
	switch {
	case len(open) == 1:
		a.flags.track = open[0].TrackName()
	case len(open) < 2:
	case sign != "":
		err = usageError{fmt.Errorf("%s, and its session is unknown; name its track with --track: %s", sign, boundedList(open))}
	default:
		err = usageError{fmt.Errorf("task %s exists on each of %d tracks; name one with --track: %s", task, len(open), boundedList(open))}
	}
	return plan.ReachTrack, err
}

// sessionIn identifies the session that runs this command: the one that a hook reports, that of the server beside this shell, the one
// that the environment names, or a named agent. It is "" for people and scripts, and for a shell beside a server of several sessions.
func (a *app) sessionIn(seen *presence.Registry) string {
	if a.hookSession != "" {
		return a.hookSession
	}
	named := workspace.NamedSession(a.getenv)
	var beside []string
	for _, s := range seen.Beside(a.ancestors, workspace.HostSession(a.getenv)) {
		beside = append(beside, s.AllSessions()...)
	}
	slices.Sort(beside)
	beside = slices.Compact(beside)
	switch {
	case len(beside) == 1:
		return beside[0]
	case len(beside) == 0:
		return cmp.Or(named, a.agentName())
	case slices.Contains(beside, named):
		return named
	}
	return ""
}
