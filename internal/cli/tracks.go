package cli

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

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

// tracksOf returns the workspace on each of its tracks: main, then the others by name. It removes those that killed processes left empty.
func tracksOf(place workspace.Workspace) []workspace.Workspace {
	return slices.DeleteFunc(place.Tracks(), func(track workspace.Workspace) bool {
		isUnused := track.Track != "" && sqlite.RemoveUnused(track.StateDir)
		if isUnused {
			_ = track.ListOpen(false) // the list may name more tracks than are open
		}
		return isUnused
	})
}

// trackExists reports whether a workspace is on main, which needs no log, or on a track that has one.
func trackExists(place workspace.Workspace) bool {
	if !workspace.IsTrackName(place.Track) {
		return place.Track == ""
	}
	_, err := os.Stat(sqlite.DatabasePath(place.StateDir))
	return err == nil
}

// trackSummary is what a person needs to know about another track.
type trackSummary struct {
	trackOverview
	view    verbs.TrackView
	waiting int // items for people
}

// otherTracks returns the open tracks of the workspace besides the opened one, main first.
func (a *app) otherTracks(ctx context.Context, opened workspace.Workspace) []trackSummary {
	if a.flags.ephemeral {
		return nil
	}
	open := a.openOverviews(ctx, opened)
	return a.summarize(ctx, slices.DeleteFunc(open, func(t trackOverview) bool { return t.Track == opened.Track }))
}

// summarize opens the listed tracks. The fault of one that cannot be read is set.
func (a *app) summarize(ctx context.Context, listed []trackOverview) (open []trackSummary) {
	for _, track := range listed {
		one := trackSummary{trackOverview: track}
		ws, state, err := a.readTrack(ctx, track.Workspace)
		if err == nil {
			one.view = ws.verbs.TrackView(state)
			waiting, failed := review.WaitingIn(ctx, &review.Workspace{Place: placeOf(track.Workspace), Service: ws.verbs})
			one.waiting, err = len(waiting), unreadable(track.Workspace, failed)
		}
		if one.fault = err; err != nil {
			one.view = verbs.TrackView{Name: track.TrackName(), Problem: err.Error()}
		}
		one.view.IsIdle = track.isIdle()
		open = append(open, one)
	}
	return open
}

// line describes the track to a person, with what waits and a command.
func (t trackSummary) line() string {
	if t.fault != nil {
		return strings.TrimPrefix(t.fault.Error(), "track ")
	}
	text := t.TrackName()
	if t.view.Goal != "" {
		text += ": " + plan.Quote(plan.Shorten(t.view.Goal, 60)) + " of " + t.view.By
	}
	if t.view.Progress != "" {
		text += " (" + t.view.Progress + ")"
	}
	if t.waiting > 0 {
		text += ", " + plan.Pluralize(t.waiting, "item") + " waiting for you"
	}
	if t.isIdle() {
		text += ", idle"
	}
	return text + ": planloop --track " + t.TrackName() + " status"
}
