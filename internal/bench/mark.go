package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// measureMarks times durable marks over stdio on plans and logs of several
// sizes, in turn with each other and with the floor.
func measureMarks(ctx context.Context, b *bench) ([]figure, error) {
	floor, err := b.floorServer(ctx, filepath.Join(b.dir, "floor.db"))
	if err != nil {
		return nil, err
	}
	defer floor.close()
	trials := []trial{commits(floor).next}
	for _, size := range []struct {
		name           string
		steps, actions int
	}{
		{"few-steps", fewSteps, 1},
		{"many-steps", manySteps, 1},
		{"long-log", manySteps, b.long()},
	} {
		place, err := b.workspace(ctx, size.name, size.steps, size.actions)
		if err != nil {
			return nil, err
		}
		c, err := b.serve(ctx, place.Path, "bench")
		if err != nil {
			return nil, err
		}
		defer c.close()
		trials = append(trials, marks(c, size.steps).next)
	}
	taken, err := inTurn(b.rounds(6_000), 60, trials...)
	if err != nil {
		return nil, err
	}
	commit, few, many, long := taken[0], taken[1], taken[2], taken[3]
	return []figure{
		within(fmt.Sprintf("mark, %d steps (floor: bare mcp-go and one commit)", fewSteps), few, commit, 1.5),
		within(fmt.Sprintf("mark, %d steps (floor: %d steps)", manySteps, fewSteps), many, few, 1.5),
		within(fmt.Sprintf("mark, %d actions in the log (floor: short log)", b.long()), long, many, 1.2),
	}, nil
}
