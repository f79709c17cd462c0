package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

const (
	servers       = 4
	ownSteps      = 10
	togetherRate  = 1_500 // marks a second, of all servers
	togetherDelay = 100 * time.Millisecond
)

// measureTogether lets several server processes mark steps of one plan at once.
func measureTogether(ctx context.Context, b *bench) ([]figure, error) {
	place, err := b.workspace(ctx, "together", servers*ownSteps, 1)
	if err != nil {
		return nil, err
	}
	ours, err := b.crowd(func(i int) (*marking, error) {
		c, err := b.serve(ctx, place.Path, fmt.Sprintf("bench-%d", i))
		return &marking{client: c, tool: markTool, first: i*ownSteps + 1, steps: ownSteps, stride: 1}, err
	})
	if err != nil {
		return nil, err
	}
	floor, err := b.crowd(func(int) (*marking, error) {
		c, err := b.floorServer(ctx, filepath.Join(b.dir, "floor-together.db"))
		return commits(c), err
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		{what: fmt.Sprintf("%d servers at once (floor: %d bare mcp-go and commit)", servers, servers),
			value: fmt.Sprintf("%.0f marks/s", ours.rate), floor: fmt.Sprintf("%.0f commits/s", floor.rate),
			limit: fmt.Sprintf(">= %d/s", togetherRate), state: judge(ours.rate >= togetherRate)},
		{what: "  refused", value: fmt.Sprint(ours.refused), floor: fmt.Sprint(floor.refused), limit: "0", state: judge(ours.refused == 0)},
		{what: "  longest wait", value: fmt.Sprintf("%s (%s)", milliseconds(ours.waits.quantile(1)), ours.waits), floor: milliseconds(floor.waits.quantile(1)),
			limit: "<= " + milliseconds(togetherDelay), state: judge(ours.waits.quantile(1) <= togetherDelay)},
	}, nil
}

// crowded is what several servers did at once.
type crowded struct {
	rate    float64 // calls a second
	refused int
	waits   samples
}

func (b *bench) crowd(join func(int) (*marking, error)) (crowded, error) {
	members := make([]*marking, servers)
	for i := range members {
		m, err := join(i)
		if err != nil {
			return crowded{}, err
		}
		defer m.client.close()
		if _, err := m.next(); err != nil { // opens the workspace
			return crowded{}, err
		}
		members[i] = m
	}
	return together(members, b.rounds(3_000))
}

// together has every member make so many calls, each as soon as the one before
// is answered. Only a lost connection is an error: a refusal is counted.
func together(members []*marking, calls int) (crowded, error) {
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		all   crowded
		fault error
	)
	begin := time.Now()
	for _, m := range members {
		group.Go(func() {
			waits := make(samples, 0, calls)
			refused := 0
			for range calls {
				took, err := m.next()
				if took == 0 {
					mu.Lock()
					fault = errors.Join(fault, err)
					mu.Unlock()
					return
				}
				if err != nil {
					refused++
				}
				waits = append(waits, took)
			}
			mu.Lock()
			defer mu.Unlock()
			all.refused += refused
			all.waits = append(all.waits, waits...)
		})
	}
	group.Wait()
	all.rate = float64(len(all.waits)) / time.Since(begin).Seconds()
	return all, fault
}
