package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/spf13/cobra"
)

// tracks implements verbs.Tracks for a workspace on one of its tracks.
type tracks struct {
	app   *app
	place workspace.Workspace
	seen  *presence.Registry
}

func (t tracks) Name() string { return t.place.TrackName() }

func (t tracks) Stay(c verbs.Caller) error {
	return errors.Join(t.seen.SetTrack(c.Actor.Name, t.Name()), t.seen.SetTrack(c.Session, t.Name()))
}

func (t tracks) Has(agent string) bool { return t.seen.TrackOf(agent) == t.Name() }

func (t tracks) Begin(ctx context.Context, objective string) (*verbs.Service, func(), error) {
	place, err := t.place.BeginTrack(objective)
	if err != nil {
		return nil, nil, err
	}
	ws, err := t.app.openTrack(ctx, place)
	if err != nil {
		return nil, nil, errors.Join(err, os.Remove(place.StateDir))
	}
	return ws.verbs, func() { _ = os.Remove(place.StateDir) }, nil // fails unless it is empty
}

func (t tracks) Others(ctx context.Context, c verbs.Caller) (lines []string) {
	if !t.place.HasTracks() || t.app.namesTrack() || t.seen.TrackOf(c.Session, c.Actor.Name) != "" {
		return nil
	}
	others, err := t.app.otherTracks(ctx, t.place)
	if err != nil {
		t.app.logger().Warn("the other tracks are not listed", "error", err)
	}
	for _, other := range others {
		lines = append(lines, other.text())
	}
	return lines
}

func (t tracks) Join(ctx context.Context, c verbs.Caller, name string) (*verbs.Service, error) {
	place := t.place.On(name)
	if name != workspace.MainTrack && !hasLog(place) {
		return nil, plan.Refuse(plan.NotFound, "/track", "track "+plan.Quote(name)+" does not exist", "leave out track to see the others")
	}
	ws, err := t.app.openTrack(ctx, place)
	if err != nil {
		return nil, err
	}
	return ws.verbs, tracks{t.app, place, t.seen}.Stay(c)
}

// openTrack opens the workspace on another track, once.
func (a *app) openTrack(ctx context.Context, place workspace.Workspace) (*openWorkspace, error) {
	if a.parent != nil {
		return a.parent.openTrack(ctx, place)
	}
	if ws := a.ws.Load(); ws != nil && ws.place.Track == place.Track {
		return ws, nil
	}
	a.tracksMu.Lock()
	inner := a.tracks[place.Track]
	if inner == nil {
		inner = a.within(place)
		inner.settings, inner.serving, inner.server, inner.flags = a.settings, a.serving, a.server, a.flags
		if a.tracks == nil {
			a.tracks = map[string]*app{}
		}
		a.tracks[place.Track] = inner
	}
	a.tracksMu.Unlock()
	return inner.open(ctx, nil)
}

// openFor opens the workspace on the track that the first known of the names is on: main, or the one that the user named, unless the
// actor or its session has begun or joined another.
func (a *app) openFor(ctx context.Context, roots mcpserver.Roots, names ...string) (*openWorkspace, error) {
	ws, err := a.open(ctx, roots)
	if err != nil {
		return nil, err
	}
	track := ws.presence.TrackOf(names...)
	if track == "" || track == ws.place.TrackName() || a.namesTrack() || !hasLog(ws.place.On(track)) {
		return ws, nil
	}
	return a.openTrack(ctx, ws.place.On(track))
}

// describePlace names a workspace, and its track if that is not main, for agents and people.
func describePlace(place workspace.Workspace) string {
	text := safetext.EscapeLine(place.Path)
	if place.Default {
		text = "the workspace named default"
	}
	if place.Track != "" {
		text += ", track " + place.Track
	}
	return text
}

// hasLog reports whether a workspace is on a track other than main that has a log.
func hasLog(place workspace.Workspace) bool {
	_, err := os.Stat(sqlite.DatabasePath(place.StateDir))
	return workspace.IsTrackName(place.Track) && err == nil
}

// onOwnTrack returns the workspace on the track that the calling agent is on, if the user named none. A server serves agents on
// several tracks and asks for each call.
func (a *app) onOwnTrack(place workspace.Workspace) workspace.Workspace {
	if a.serving || a.place != nil || a.flags.ephemeral || a.namesTrack() || !place.HasTracks() {
		return place
	}
	seen, agent, session := presence.Open(place.SharedDir(), presence.Options{}), a.agentName(), workspace.HostSession(a.getenv)
	if agent == "" {
		agent, _ = seen.Client(a.ancestors, session)
	}
	session = cmp.Or(a.hookSession, session)
	track := seen.TrackOf(session, agent)
	if a.hookSession != "" && track != "" {
		// A host that resumes a session starts another server, with another name, and its hooks keep the session's.
		if err := errors.Join(seen.SetTrack(session, track), seen.SetTrack(agent, track)); err != nil {
			a.logger().Debug("the session's track is not recorded", "error", err)
		}
	}
	if on := place.On(track); hasLog(on) {
		return on
	}
	return place
}

// trackSummary is what a person needs to know about another track.
type trackSummary struct {
	place   workspace.Workspace
	state   plan.State
	waiting int // items for people
}

// otherTracks returns the open tracks of the workspace besides the opened one, main first.
func (a *app) otherTracks(ctx context.Context, opened workspace.Workspace) ([]trackSummary, error) {
	if a.flags.ephemeral {
		return nil, nil
	}
	return a.openTracks(ctx, opened, func(w workspace.Workspace) bool { return w.Track != opened.Track })
}

// openTracks returns the chosen open tracks of a workspace.
func (a *app) openTracks(ctx context.Context, place workspace.Workspace, chosen func(workspace.Workspace) bool) ([]trackSummary, error) {
	listed, err := a.openOverviews(ctx, place)
	var open []trackSummary
	for _, track := range listed {
		if !chosen(track.place) {
			continue
		}
		ws, err := a.openTrack(ctx, track.place)
		if err != nil {
			return nil, err
		}
		one := trackSummary{place: track.place}
		if one.state, err = ws.verbs.State(ctx); err != nil {
			return nil, fmt.Errorf("track %s: %w", track.place.TrackName(), err)
		}
		waiting, err := review.WaitingIn(ctx, &review.Workspace{Place: placeOf(track.place), Service: ws.verbs})
		if err != nil {
			return nil, err
		}
		one.waiting = len(waiting)
		open = append(open, one)
	}
	return open, err
}

// text describes the track: its plan, whose it is, and how far.
func (t trackSummary) text() string {
	text, p := t.place.TrackName(), cmp.Or(t.state.Plan, t.state.Draft)
	if p != nil {
		text += ": " + plan.Quote(plan.Shorten(p.Objective, 60)) + " of " + p.CreatedBy +
			fmt.Sprintf(" (%d/%d done)", p.Steps.Count(plan.Done), p.Steps.Len())
	}
	return text
}

// line describes the track to a person, with what waits and a command.
func (t trackSummary) line() string {
	text := t.text()
	if t.waiting > 0 {
		text += ", " + plan.Pluralize(t.waiting, "item") + " waiting for you"
	}
	return text + ": planloop --track " + t.place.TrackName() + " status"
}

// onWaitingTrack makes a decision of a person that names no track one on the only track where something waits.
func (a *app) onWaitingTrack(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		place, err := a.find(cmd.Context(), nil)
		if err != nil || a.flags.ephemeral || a.namesTrack() || !place.HasTracks() || a.agentName() != "" {
			return run(cmd, args)
		}
		others, err := a.openTracks(cmd.Context(), place, func(workspace.Workspace) bool { return true })
		if err != nil {
			return err
		}
		others = slices.DeleteFunc(others, func(t trackSummary) bool { return t.waiting == 0 })
		switch {
		case len(others) == 1:
			a.flags.track = others[0].place.TrackName()
		case len(others) > 1:
			var lines strings.Builder
			for _, other := range others {
				lines.WriteString("\n  " + safetext.EscapeLine(other.line()))
			}
			return usageError{fmt.Errorf("something waits on %d tracks; choose one with --track NAME:%s", len(others), lines.String())}
		}
		return run(cmd, args)
	}
}
