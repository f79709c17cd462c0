package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
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

// marking goes through steps of a plan and marks each in_progress, done and
// pending again, so that every call changes something and the plan never
// completes.
type marking struct {
	client *client
	tool   string
	first  int // number of the first step
	steps  int // how many
	stride int // distance from one step to the next
	n      int
}

func (m *marking) next() (time.Duration, error) {
	step := m.first + m.n/3*m.stride%m.steps
	status := []string{"in_progress", "done", "pending"}[m.n%3]
	m.n++
	return m.client.call(m.tool, map[string]any{"step_id": fmt.Sprintf("S%03d", step), "status": status})
}

const markTool = "planning_mark_step"

// marks visits all steps of a plan of that length, each far from the one before.
func marks(c *client, steps int) *marking {
	return &marking{client: c, tool: markTool, first: 1, steps: steps, stride: 7}
}

// commits requests the same from the floor server.
func commits(c *client) *marking {
	return &marking{client: c, tool: "commit", first: 1, steps: 10, stride: 7}
}

const (
	servers       = 4
	ownSteps      = 10
	togetherTimes = 0.7 // part of the calls that servers which only commit answer in the same time
	apartTimes    = 0.9 // the same, if each server has a plan and a database of its own
	togetherTurns = 3
	togetherDelay = 100 * time.Millisecond
)

// measureTogether lets several server processes mark steps at once: of one plan, and of a plan on a track each.
func measureTogether(ctx context.Context, b *bench) ([]figure, error) {
	place, err := b.workspace(ctx, "together", servers*ownSteps, 1)
	if err != nil {
		return nil, err
	}
	together, err := b.measureCrowd("at once", togetherTimes, func(_, i int) (*marking, error) {
		c, err := b.serve(ctx, place.Path, fmt.Sprintf("bench-%d", i))
		return &marking{client: c, tool: markTool, first: i*ownSteps + 1, steps: ownSteps, stride: 1}, err
	}, func(turn, _ int) (*marking, error) {
		c, err := b.floorServer(ctx, filepath.Join(b.dir, fmt.Sprintf("floor-together-%d.db", turn)))
		return commits(c), err
	})
	if err != nil {
		return nil, err
	}
	if place, err = b.place("apart"); err != nil {
		return nil, err
	}
	apart, err := b.measureCrowd("on a track each", apartTimes, func(turn, i int) (*marking, error) {
		c, err := b.serve(ctx, place.Path, fmt.Sprintf("bench-%d-%d", turn, i))
		if err != nil {
			return nil, err
		}
		steps := make([]map[string]string, ownSteps)
		for n := range steps {
			steps[n] = map[string]string{"title": fmt.Sprintf("Write part %d of text %d", n, i)}
		}
		_, err = c.call("planning_setup_plan", map[string]any{"objective": fmt.Sprintf("Write text %d", i), "initial_steps": steps})
		return &marking{client: c, tool: markTool, first: 1, steps: ownSteps, stride: 1}, err
	}, func(turn, i int) (*marking, error) {
		c, err := b.floorServer(ctx, filepath.Join(b.dir, fmt.Sprintf("floor-apart-%d-%d.db", turn, i)))
		return commits(c), err
	})
	return append(together, apart...), err
}

// measureCrowd compares several servers at work at once with as many bare ones, in turn. The arguments of a join are the turn and the
// server's number.
func (b *bench) measureCrowd(how string, times float64, join, joinFloor func(turn, i int) (*marking, error)) ([]figure, error) {
	var ours, floor crowded
	for turn := range togetherTurns {
		err := b.crowd(&ours, func(i int) (*marking, error) { return join(turn, i) })
		if err == nil {
			err = b.crowd(&floor, func(i int) (*marking, error) { return joinFloor(turn, i) })
		}
		if err != nil {
			return nil, err
		}
	}
	ratio := ours.rate() / floor.rate()
	return []figure{
		{what: fmt.Sprintf("%d servers %s (floor: %d bare mcp-go and commit)", servers, how, servers),
			value: fmt.Sprintf("%.0f marks/s = %.2f x", ours.rate(), ratio), floor: fmt.Sprintf("%.0f commits/s", floor.rate()),
			limit: fmt.Sprintf(">= %.1f x", times), state: judge(ratio >= times)},
		{what: "  refused", value: fmt.Sprint(ours.refused), floor: fmt.Sprint(floor.refused), limit: "0", state: judge(ours.refused == 0)},
		{what: "  longest wait", value: fmt.Sprintf("%s (%s)", milliseconds(ours.waits.quantile(1)), ours.waits),
			floor: milliseconds(floor.waits.quantile(1)),
			limit: "<= " + milliseconds(togetherDelay), state: judge(ours.waits.quantile(1) <= togetherDelay)},
	}, nil
}

// crowded is the result of several servers at work at once.
type crowded struct {
	took    time.Duration
	refused int
	waits   samples
}

// rate returns the calls answered per second.
func (c crowded) rate() float64 { return float64(len(c.waits)) / c.took.Seconds() }

// crowd starts servers with join, lets them work at once and adds their results to all.
func (b *bench) crowd(all *crowded, join func(int) (*marking, error)) error {
	members := make([]*marking, servers)
	for i := range members {
		m, err := join(i)
		if err != nil {
			return err
		}
		defer m.client.close()
		if _, err := m.next(); err != nil { // opens the workspace
			return err
		}
		members[i] = m
	}
	return all.together(members, b.rounds(3_000)/togetherTurns)
}

// together lets every member make calls, each as soon as the one before is
// answered. Only a lost connection is an error; refusals are counted.
func (c *crowded) together(members []*marking, calls int) error {
	var group errgroup.Group
	var mu sync.Mutex
	begin := time.Now()
	for _, m := range members {
		group.Go(func() error {
			waits := make(samples, 0, calls)
			refused := 0
			for range calls {
				took, err := m.next()
				if took == 0 {
					return err
				}
				if err != nil {
					refused++
				}
				waits = append(waits, took)
			}
			mu.Lock()
			defer mu.Unlock()
			c.refused += refused
			c.waits = append(c.waits, waits...)
			return nil
		})
	}
	err := group.Wait()
	c.took += time.Since(begin)
	return err
}
