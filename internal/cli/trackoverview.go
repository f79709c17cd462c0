package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// maxOpenTracks is how many tracks besides main may be in use at once.
const maxOpenTracks = 100

// idleAfter is how long a track counts as in use after its last sign of life.
const idleAfter = 7 * 24 * time.Hour

// trackOverview is what can be known about a track without opening its log.
type trackOverview struct {
	place        workspace.Workspace
	isOpen       bool      // an unfinished plan, a draft or planning mode; see plan.State
	known        bool      // isOpen is known
	lastActivity time.Time // the last change or sign of life
}

func overviewOf(place workspace.Workspace) trackOverview {
	isOpen, known, last := sqlite.Overview(place.StateDir)
	if seen := presence.LastLife(place.StateDir); seen.After(last) {
		last = seen
	}
	return trackOverview{place, isOpen, known, last}
}

// isIdle reports whether the track had no sign of life for a week.
func (t trackOverview) isIdle() bool { return time.Since(t.lastActivity) > idleAfter }

// refuseMoreTracks refuses another track while too many are in use.
func (a *app) refuseMoreTracks(ctx context.Context, place workspace.Workspace) error {
	open, err := a.openOverviews(ctx, place)
	used := slices.DeleteFunc(open, func(t trackOverview) bool { return t.place.Track == "" || t.isIdle() })
	if err != nil || len(used) < maxOpenTracks {
		return err
	}
	return plan.Refuse(plan.Conflict, "", "no further track can begin: "+strconv.Itoa(len(used))+" are open ("+boundedList(used)+")",
		"ask the user to close unused tracks: planloop plan close NAME")
}

// boundedList names a few of the tracks.
func boundedList(tracks []trackOverview) string {
	const shown = 10
	var names []string
	for _, track := range tracks[:min(len(tracks), shown)] {
		names = append(names, track.place.TrackName())
	}
	list := strings.Join(names, ", ")
	if more := len(tracks) - shown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// closedTracks returns the tracks that have a log and are not open, last used first.
func (a *app) closedTracks(opened workspace.Workspace, open []trackSummary) (closed []trackOverview) {
	if a.flags.ephemeral {
		return nil
	}
	for _, place := range opened.Tracks() {
		isOpen := slices.ContainsFunc(open, func(t trackSummary) bool { return t.place.Track == place.Track })
		if head := sqlite.CachedHead(place.StateDir); !isOpen && place.Track != opened.Track && head.Seq > 1 { // else empty or purged
			closed = append(closed, overviewOf(place))
		}
	}
	slices.SortStableFunc(closed, func(a, b trackOverview) int { return b.lastActivity.Compare(a.lastActivity) })
	return closed
}

// openOverviews returns the open tracks of a workspace: those in use with main first, then the idle ones.
func (a *app) openOverviews(ctx context.Context, place workspace.Workspace) (open []trackOverview, err error) {
	for _, one := range place.OpenTracks() {
		track, err := a.readOverview(ctx, one)
		if err != nil {
			return nil, err
		}
		if track.isOpen {
			open = append(open, track)
		}
	}
	inUse := slices.DeleteFunc(slices.Clone(open), trackOverview.isIdle)
	return append(inUse, slices.DeleteFunc(open, func(t trackOverview) bool { return !t.isIdle() })...), nil
}

// readOverview opens the log of a track only if nothing else says whether it is open.
func (a *app) readOverview(ctx context.Context, place workspace.Workspace) (trackOverview, error) {
	track := overviewOf(place)
	if track.known {
		return track, nil
	}
	ws, err := a.openTrack(ctx, place)
	if err != nil {
		return track, err
	}
	state, err := ws.verbs.State(ctx)
	track.isOpen = state.IsOpen()
	return track, err
}

// onlyOpenTrack returns the workspace on its only open track that is not idle, else on main.
func (a *app) onlyOpenTrack(ctx context.Context, place workspace.Workspace) (workspace.Workspace, error) {
	only, found := place.On(workspace.MainTrack), false
	for _, one := range place.OpenTracks() {
		track, err := a.readOverview(ctx, one)
		switch {
		case err != nil:
			return only, err
		case !track.isOpen || track.isIdle():
		case found: // there may be a hundred more
			return place.On(workspace.MainTrack), nil
		default:
			only, found = one, true
		}
	}
	return only, nil
}
