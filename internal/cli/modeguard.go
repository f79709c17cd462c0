package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// refuseWhilePlanning refuses to change files at or below the paths while planning mode is read-only, unless a person asks for it.
func (a *app) refuseWhilePlanning(ctx context.Context, ws *openWorkspace, what string, paths ...string) error {
	if a.caller().Actor.IsPresent() {
		return nil
	}
	for _, path := range paths {
		hold, err := a.holdOn(ctx, ws, path)
		if err != nil {
			return err
		}
		if hold.By != "" {
			return hold.Refuse("", what+" until a plan is approved", "")
		}
	}
	return nil
}

func (a *app) planningGuard(ws *openWorkspace) toolbox.Wall {
	return toolbox.Wall{Path: ws.place.Path,
		Changed: func(ctx context.Context) (<-chan struct{}, error) { return a.changes(ctx, ws) },
		Guard:   func(ctx context.Context, path string) (toolbox.Hold, error) { return a.holdOn(ctx, ws, path) }}
}

// holdOn returns the hold on a path: by the opened workspace, wherever the path leads, or by another above or below the path.
func (a *app) holdOn(ctx context.Context, ws *openWorkspace, path string) (toolbox.Hold, error) {
	closedHere, closedElsewhere, err := a.refreshCopies(ctx, ws.place, path)
	if err != nil {
		return toolbox.Hold{}, err
	}
	if hold, err := a.holdIn(ctx, ws, closedHere); err != nil || hold.By != "" {
		return hold, err
	}
	if closedElsewhere {
		return toolbox.Hold{By: toolbox.ServerAway}, nil
	}
	for _, other := range a.overlapping(ws.place, path) {
		if hold, err := a.holdOf(ctx, other); err != nil || hold.By != "" {
			return hold, err
		}
	}
	return toolbox.Hold{}, nil
}

// holdIn returns the hold on the session of a call, command or hook in the opened workspace: that of its track, that of any track if it
// is on none, or one that holds it wherever it is. isClosed: a copy of a team's track there is closed.
func (a *app) holdIn(ctx context.Context, ws *openWorkspace, isClosed bool) (toolbox.Hold, error) {
	session, isCall := mcpserver.SessionOf(ctx)
	if !isCall {
		session = ws.callingSession()
	}
	on := ws.place.TrackName()
	if ws.place.HasTracks() && !a.namesTrack() && (isCall || a.parent == nil) { // else the session is on the track of this app
		on = ws.presence.Bound(session).Track
	}
	if on == "" {
		restricting, err := a.restrictingTracks(ctx, ws.place)
		isPlanning := slices.ContainsFunc(restricting, func(t restrictingTrack) bool { return !t.isIdle })
		return ownHold(isPlanning, isClosed), err
	}
	track, err := a.openTrack(ctx, ws.place.On(on))
	if err != nil {
		return toolbox.Hold{}, err
	}
	isPlanning, err := track.verbs.Restricted(ctx)
	if isClosed = track.copied.IsClosed(); err != nil || isPlanning || isClosed {
		return ownHold(isPlanning, isClosed), err
	}
	by, err := a.holder(ctx, ws.place, ws.presence, session)
	return ownHold(by != nil, false), err
}

// ownHold returns the hold by the opened workspace. A closed copy says more: its plan cannot be submitted either.
func ownHold(isPlanning, isClosed bool) toolbox.Hold {
	switch {
	case isClosed:
		return toolbox.Hold{By: toolbox.ServerAway}
	case isPlanning:
		return toolbox.Hold{By: toolbox.PlanningMode}
	}
	return toolbox.Hold{}
}

// restrictingTrack is a track in planning mode.
type restrictingTrack struct {
	workspace.Workspace
	mode   plan.Mode
	isIdle bool // it holds only its own sessions
}

// restrictingTracks returns the tracks of the workspace in planning mode, according to the marks beside the logs. A mark is
// missing only until the next look at its log, if a process was killed between writing the two.
func (a *app) restrictingTracks(ctx context.Context, place workspace.Workspace) (all []restrictingTrack, err error) {
	for _, track := range place.MarkedTracks() {
		phase, mode, err := a.modeOf(ctx, track)
		if err != nil {
			return nil, fmt.Errorf("read the phase of track %s: %w", track.TrackName(), err)
		}
		if phase.IsRestricted() {
			all = append(all, restrictingTrack{track, mode, overviewOf(track).isIdle()})
		}
	}
	return all, nil
}

// holder returns the track with the planning mode that holds a session wherever it calls, nil if none does: its own, that of a session
// above this process, since a child must not escape, main's for all, a person's for a session on no track yet, or any for a call of
// an unknown session, or of one with a damaged binding. A session without a binding may have lost it: it is also held by the mode that it
// entered according to the log, and by one on a track without sessions.
func (a *app) holder(ctx context.Context, place workspace.Workspace, seen *presence.Registry,
	session string) (*workspace.Workspace, error) {
	restricting, err := a.restrictingTracks(ctx, place)
	if err != nil || len(restricting) == 0 {
		return nil, err
	}
	own, above := seen.Bound(session).Track, a.sessionsAbove(seen)
	caller, isCall := mcpserver.SessionOf(ctx)
	isUnknown := isCall && caller == "" || seen.IsDamaged(session)
	for _, track := range restricting {
		name := track.TrackName()
		holds := func(s string) bool { on := seen.Bound(s).Track; return on == "" || on == name }
		isNew := own == "" && (track.mode.ByPerson || isUnknown || !seen.HasSession(name)) && !track.isIdle
		entered := own == "" && (track.mode.By == session || serves(seen, track.mode.By, session))
		if track.mode.All || own == name || isNew || entered || slices.ContainsFunc(above, holds) {
			return &track.Workspace, nil
		}
	}
	return nil, nil
}

// sessionsAbove returns the sessions of the hosts above this process, except those that a hook's own host or this server serves: each of
// these calls says which session it is of.
func (a *app) sessionsAbove(seen *presence.Registry) (all []string) {
	chain := a.ancestors()
	var own process.Ancestor
	if a.hookSession != "" {
		own = process.Starter(chain)
	}
	for _, s := range seen.Servers() {
		isAbove := slices.ContainsFunc(chain[min(1, len(chain)):], func(p process.Ancestor) bool { return p.Is(s.Host) && !p.Shared() })
		if isAbove && !s.Host.Is(own) && !s.Process.Is(chain[0]) {
			all = append(all, s.AllSessions()...)
		}
	}
	return all
}

func (a *app) holdOf(ctx context.Context, other workspace.Workspace) (toolbox.Hold, error) {
	phase, _, err := a.modeOf(ctx, other)
	if err != nil {
		return toolbox.Hold{}, fmt.Errorf("read the phase of %s: %w", safetext.EscapeLine(cmp.Or(other.Path, other.Name)), err)
	}
	if !phase.IsRestricted() {
		return toolbox.Hold{}, nil
	}
	return holdBy(other), nil
}

func holdBy(other workspace.Workspace) toolbox.Hold {
	where := safetext.EscapeLine(other.Path)
	if where == "" {
		where = "the workspace named " + other.Name
	}
	return toolbox.Hold{By: toolbox.PlanningMode + " in " + where}
}

// overlapping returns the other workspaces with a planning mode that covers a path or anything below it.
func (a *app) overlapping(place workspace.Workspace, path string) []workspace.Workspace {
	if place.Default && path == place.Path {
		return nil // merely the directory where planloop was started
	}
	return slices.DeleteFunc(workspace.Lookup{Getenv: a.getenv}.FindOverlaps(path), func(other workspace.Workspace) bool {
		return other.SharedDir() == place.SharedDir() && !a.flags.ephemeral
	})
}

// changes receives when a hold on the opened workspace may have changed, until ctx ends. The goroutines end with ctx.
func (a *app) changes(ctx context.Context, ws *openWorkspace) (<-chan struct{}, error) {
	own, err := ws.verbs.Watch(ctx)
	others := a.overlapping(ws.place, ws.place.Path)
	if err != nil || len(others) == 0 {
		return own, err
	}
	all := []<-chan struct{}{own}
	for _, other := range others {
		log := sqlite.New(other.StateDir, sqlite.Options{})
		context.AfterFunc(ctx, func() { _ = log.Close() })
		theirs, err := log.Watch(ctx)
		if err != nil {
			a.logger().Warn("planning mode may be noticed late", "workspace", other.Path, "error", err)
			continue
		}
		all = append(all, theirs)
	}
	return broadcast.Merge(all...), nil
}

// modeOf returns the planning mode of another workspace or track. It opens the log only if it must: the mode may have expired.
func (a *app) modeOf(ctx context.Context, other workspace.Workspace) (phase plan.Phase, mode plan.Mode, err error) {
	config, _, err := workspace.Load(workspace.Sources{Getenv: a.getenv, Workspace: other})
	if err != nil {
		return phase, mode, err
	}
	copied, err := a.copyIn(other.StateDir)
	if err != nil {
		return phase, mode, err
	}
	s, seen := a.look(other, copied, config.Limits())
	defer func() { _ = s.Close() }()
	service := verbs.New(s, verbs.Options{Presence: seen, Limits: config.Limits()})
	if phase, _, err = service.Phase(ctx); err != nil || !phase.IsRestricted() {
		return phase, mode, err
	}
	state, err := service.State(ctx)
	mode = state.ModeNow()
	mode.By = copied.LocalName(mode.By)
	return state.PhaseNow(), mode, err
}
