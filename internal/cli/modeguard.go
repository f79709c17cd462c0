package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
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
	restricted, err := ws.verbs.Restricted(ctx)
	if err != nil || restricted {
		return toolbox.Hold{By: toolbox.PlanningMode}, err
	}
	for _, other := range a.overlapping(ws.place, path) {
		if hold, err := a.holdOf(ctx, other); err != nil || hold.By != "" {
			return hold, err
		}
	}
	return toolbox.Hold{}, nil
}

func (a *app) holdOf(ctx context.Context, other workspace.Workspace) (toolbox.Hold, error) {
	restricted, err := a.restricted(ctx, other)
	if err != nil {
		return toolbox.Hold{}, fmt.Errorf("read the phase of %s: %w", safetext.EscapeLine(cmp.Or(other.Path, other.Name)), err)
	}
	if !restricted {
		return toolbox.Hold{}, nil
	}
	where := safetext.EscapeLine(other.Path)
	if where == "" {
		where = "the workspace named " + other.Name
	}
	return toolbox.Hold{By: toolbox.PlanningMode + " in " + where}, nil
}

// overlapping returns the other workspaces with a planning mode that covers a path or anything below it.
func (a *app) overlapping(place workspace.Workspace, path string) []workspace.Workspace {
	if place.Default && path == place.Path {
		return nil // merely the directory where planloop was started
	}
	return slices.DeleteFunc(workspace.Lookup{Getenv: a.getenv}.FindOverlaps(path), func(other workspace.Workspace) bool {
		return other.StateDir == place.StateDir && !a.flags.ephemeral
	})
}

// changes receives when a hold on the opened workspace may have changed, until ctx ends. The goroutines end with ctx.
func (a *app) changes(ctx context.Context, ws *openWorkspace) (<-chan struct{}, error) {
	own, err := ws.verbs.Watch(ctx)
	others := a.overlapping(ws.place, ws.place.Path)
	if err != nil || len(others) == 0 {
		return own, err
	}
	merged := make(chan struct{}, 1)
	var running sync.WaitGroup
	forward := func(from <-chan struct{}) {
		for range from {
			select {
			case merged <- struct{}{}:
			default:
			}
		}
	}
	running.Go(func() { forward(own) })
	for _, other := range others {
		log := sqlite.New(other.StateDir, sqlite.Options{})
		theirs, err := log.Watch(ctx)
		if err != nil {
			a.logger().Warn("planning mode may be noticed late", "workspace", other.Path, "error", err)
			_ = log.Close()
			continue
		}
		running.Go(func() { forward(theirs); _ = log.Close() })
	}
	go func() { running.Wait(); close(merged) }()
	return merged, nil
}

// restricted reports whether planning mode restricts another workspace. It opens the log only if it must: the mode may have expired.
func (a *app) restricted(ctx context.Context, other workspace.Workspace) (bool, error) {
	config, _, err := workspace.Load(workspace.Sources{Getenv: a.getenv, Workspace: other})
	if err != nil {
		return false, err
	}
	s := session.New(sqlite.New(other.StateDir, sqlite.Options{}), session.Options{Limits: config.Limits(), Mark: other,
		Logger: a.logger()})
	defer func() { _ = s.Close() }()
	seen := presence.Open(other.StateDir, presence.Options{Logger: a.logger(), Shared: other.SharedDir()})
	phase, _, err := verbs.New(s, verbs.Options{Presence: seen, Limits: config.Limits()}).Phase(ctx)
	return phase.IsRestricted(), err
}
