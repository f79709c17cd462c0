package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

const openLimit = 50 * time.Millisecond

// measureOpening times the first look at a workspace with many steps and a long log.
func measureOpening(ctx context.Context, b *bench) ([]figure, error) {
	place, err := b.longLog(ctx)
	if err != nil {
		return nil, err
	}
	parts, err := b.openingInProcess(ctx, place)
	if err != nil {
		return nil, err
	}
	whole, snapshot, tail := parts[0], parts[1], parts[2]
	first, err := inTurn(b.rounds(30), 1, func() (time.Duration, error) { return b.firstCall(ctx, place) })
	if err != nil {
		return nil, err
	}
	commands, err := b.openingCommands(ctx, place)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("open a workspace of %d steps and %d actions", manySteps, b.long())
	return []figure{
		{what: what, value: whole.String(), limit: "< " + milliseconds(openLimit), state: judge(whole.p50() < openLimit)},
		{what: "  of that: the snapshot", value: snapshot.String(), state: recorded},
		{what: "  of that: the tail behind it", value: tail.String(), state: recorded},
		{what: "  first call of a new server process", value: first[0].String(), state: recorded},
		{what: "  planloop show --json less planloop version", value: milliseconds(commands), state: recorded},
	}, nil
}

// openingInProcess returns the times of opening whole, of its snapshot and of
// its tail.
func (b *bench) openingInProcess(ctx context.Context, place workspace.Workspace) ([]samples, error) {
	return inTurn(b.rounds(50), 2,
		func() (time.Duration, error) {
			begin := time.Now()
			s := open(place)
			_, err := s.State(ctx)
			took := time.Since(begin)
			return took, errors.Join(err, s.Close())
		},
		func() (time.Duration, error) { snapshot, _, err := openParts(ctx, place); return snapshot, err },
		func() (time.Duration, error) { _, tail, err := openParts(ctx, place); return tail, err },
	)
}

// openParts does what a session does on opening, and times its parts.
func openParts(ctx context.Context, place workspace.Workspace) (snapshot, tail time.Duration, err error) {
	log := sqlite.New(place.StateDir, sqlite.Options{})
	defer func() { err = errors.Join(err, log.Close()) }()
	if _, err := log.Head(ctx); err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	found, err := log.Snapshot(ctx, 0)
	if err != nil {
		return 0, 0, err
	}
	if found == nil {
		return 0, 0, errors.New("there is no snapshot")
	}
	snapshot = time.Since(begin)
	state := found.State
	for record, err := range log.Read(ctx, state.Revision) {
		if err != nil {
			return 0, 0, err
		}
		state = plan.Fold(state, record)
	}
	return snapshot, time.Since(begin) - snapshot, nil
}

// firstCall starts a server and times its first call, which opens the
// workspace. It marks a step as it is marked already: the log stays as it is.
func (b *bench) firstCall(ctx context.Context, place workspace.Workspace) (time.Duration, error) {
	c, err := b.serve(ctx, place.Path, "bench")
	if err != nil {
		return 0, err
	}
	defer c.close()
	return c.call(markTool, map[string]any{"step_id": "S9999", "status": "pending"})
}

// openingCommands returns what reading and printing the workspace adds to a command.
func (b *bench) openingCommands(ctx context.Context, place workspace.Workspace) (time.Duration, error) {
	taken, err := inTurn(b.rounds(30), 1,
		func() (time.Duration, error) {
			return elapsed(b.command(ctx, b.planloop, "show", "--json", "--workspace", place.Path))
		},
		func() (time.Duration, error) { return elapsed(b.command(ctx, b.planloop, "version")) },
	)
	if err != nil {
		return 0, err
	}
	return taken[0].p50() - taken[1].p50(), nil
}
