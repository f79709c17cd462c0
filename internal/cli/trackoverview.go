package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/safefile"
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
	workspace.Workspace
	isOpen       bool      // an unfinished plan, a draft or planning mode; see plan.State
	known        bool      // isOpen is known
	lastActivity time.Time // the last change or sign of life
	fault        error     // the track may be open, and cannot be read
}

func overviewOf(place workspace.Workspace) trackOverview {
	isOpen, known, last := sqlite.Overview(place.StateDir)
	if seen := presence.LastLife(place.StateDir); seen.After(last) {
		last = seen
	}
	return trackOverview{place, isOpen, known, last, nil}
}

// isIdle reports whether the track had no sign of life for a week.
func (t trackOverview) isIdle() bool { return t.fault == nil && time.Since(t.lastActivity) > idleAfter }

// isUnreadable reports whether the track cannot be read, and warns the user if so.
func (a *app) isUnreadable(t trackOverview) bool {
	if t.fault != nil {
		a.warn(t.fault.Error())
	}
	return t.fault != nil
}

// refuseMoreTracks refuses another track while too many are in use.
func (a *app) refuseMoreTracks(ctx context.Context, place workspace.Workspace) error {
	used := slices.DeleteFunc(a.openOverviews(ctx, place), func(t trackOverview) bool { return t.Track == "" || t.isIdle() })
	if len(used) < maxOpenTracks {
		return nil
	}
	return plan.Refuse(plan.Conflict, "", "no further track can begin: "+strconv.Itoa(len(used))+" are open ("+boundedList(used)+")",
		"ask the user to close unused tracks: planloop plan close NAME")
}

// boundedList names a few of the tracks.
func boundedList[T interface{ TrackName() string }](tracks []T) string {
	const shown = 10
	var names []string
	for _, track := range tracks[:min(len(tracks), shown)] {
		names = append(names, track.TrackName())
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
	for _, place := range tracksOf(opened) {
		isOpen := slices.ContainsFunc(open, func(t trackSummary) bool { return t.Track == place.Track })
		if head := sqlite.CachedHead(place.StateDir); !isOpen && place.Track != opened.Track && head.Seq > 1 { // else empty or purged
			closed = append(closed, overviewOf(place))
		}
	}
	slices.SortStableFunc(closed, func(a, b trackOverview) int { return b.lastActivity.Compare(a.lastActivity) })
	return closed
}

// openOverviews returns the open tracks of a workspace, and those that cannot be read: those in use with main first, then the idle ones.
func (a *app) openOverviews(ctx context.Context, place workspace.Workspace) (open []trackOverview) {
	for _, one := range place.OpenTracks() {
		if track := a.readOverview(ctx, one); track.isOpen || track.fault != nil {
			open = append(open, track)
		}
	}
	inUse := slices.DeleteFunc(slices.Clone(open), trackOverview.isIdle)
	return append(inUse, slices.DeleteFunc(open, func(t trackOverview) bool { return !t.isIdle() })...)
}

// readOverview opens the log of a track only if nothing else says whether it is open.
func (a *app) readOverview(ctx context.Context, place workspace.Workspace) trackOverview {
	track := overviewOf(place)
	if err := safefile.CheckFolder(place.StateDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		track.isOpen, track.fault = false, unreadable(place, err)
	} else if !track.known {
		_, state, err := a.readTrack(ctx, place)
		track.isOpen, track.fault = state.IsOpen(), err
	}
	return track
}

// readTrack opens a track and reads its state. The error names the track.
func (a *app) readTrack(ctx context.Context, place workspace.Workspace) (ws *openWorkspace, state plan.State, err error) {
	if ws, err = a.openTrack(ctx, place); err == nil {
		state, err = ws.verbs.State(ctx)
	}
	return ws, state, unreadable(place, err)
}

// unreadable returns the error, if any, with the name of the track and the command that examines it.
func unreadable(place workspace.Workspace, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("track %s cannot be read: %w; planloop doctor --track %s", place.TrackName(), err, place.TrackName())
}

// onlyOpenTrack returns the workspace on its only open track that is not idle, else on main.
func (a *app) onlyOpenTrack(ctx context.Context, place workspace.Workspace) workspace.Workspace {
	only, found := place.On(workspace.MainTrack), false
	for _, one := range place.OpenTracks() {
		track := a.readOverview(ctx, one)
		switch {
		case !track.isOpen || track.isIdle():
		case found: // there may be a hundred more
			return place.On(workspace.MainTrack)
		default:
			only, found = one, true
		}
	}
	return only
}
