package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

const (
	statusTimes = 2.0 // what `planloop status --json` may cost, in starts of the program
	gatesLimit  = 100 * time.Millisecond
	gatedTasks  = 500
	gatedPaths  = 2_000
)

// measureStatus times `planloop status --json`, which agents and hooks run most,
// against the bare start of the program.
func measureStatus(ctx context.Context, b *bench) ([]figure, error) {
	few, err := b.synced(ctx, "status", fewSteps)
	if err != nil {
		return nil, err
	}
	some, err := b.synced(ctx, "status-long", someSteps)
	if err != nil {
		return nil, err
	}
	status := func(dir string) trial {
		return func() (time.Duration, error) {
			return elapsed(b.command(ctx, b.planloop, "status", "--json", "--workspace", dir))
		}
	}
	taken, err := inTurn(b.rounds(60), 2, status(few), status(some),
		func() (time.Duration, error) { return elapsed(b.command(ctx, b.planloop, "version")) })
	if err != nil {
		return nil, err
	}
	return []figure{
		within("planloop status --json, 10 steps (floor: planloop version)", taken[0], taken[2], statusTimes),
		{what: "  1,000 steps, which it lists", value: taken[1].String(), floor: taken[2].String(), state: recorded},
	}, nil
}

// synced makes a workspace with a plan whose rule book for agents is in order, and
// returns its directory.
func (b *bench) synced(ctx context.Context, name string, steps int) (string, error) {
	place, err := b.workspace(ctx, name, steps, 1)
	if err != nil {
		return "", err
	}
	return place.Path, succeed(b.command(ctx, b.planloop, "sync", "--workspace", place.Path))
}

// measureGates times the gates over a plan as large as they get, with files on the
// disk.
func measureGates(ctx context.Context, b *bench) ([]figure, error) {
	dir, err := os.MkdirTemp(b.dir, "gates-")
	if err != nil {
		return nil, err
	}
	candidate, err := gated(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	taken, err := inTurn(b.rounds(60), 2, func() (time.Duration, error) {
		begin := time.Now()
		report, err := gates.Check(ctx, candidate, gates.Options{Files: root.FS()})
		took := time.Since(begin)
		if err == nil && !report.OK() {
			err = fmt.Errorf("the plan is refused: %v", report.Details())
		}
		return took, err
	})
	if err := errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	return []figure{{what: fmt.Sprintf("gates over %d tasks with %d paths", gatedTasks, gatedPaths), value: taken[0].String(),
		limit: "p50 <= " + milliseconds(gatesLimit), state: judge(taken[0].p50() <= gatesLimit)}}, nil
}

// gated makes files, and tasks that name them all.
func gated(dir string) (gates.Candidate, error) {
	c := gates.Candidate{Objective: "Measure the gates"}
	for n := range gatedTasks {
		task := gates.Task{ID: plan.StepID(n + 1), Spec: plan.Spec{Title: fmt.Sprintf("Change handler %d of the package", n), Type: plan.Feature,
			Verify: "go test ./..."}}
		if n > 0 {
			task.DependsOn = []plan.StepID{plan.StepID(n)}
		}
		for i := range gatedPaths / gatedTasks {
			path := fmt.Sprintf("src/package%d/file%d_%d.go", n%50, n, i)
			full := filepath.Join(dir, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
				return c, err
			}
			if err := os.WriteFile(full, []byte("package p\n"), 0o600); err != nil {
				return c, err
			}
			task.RelevantFilePaths = append(task.RelevantFilePaths, path)
			task.ContextHints = append(task.ContextHints, "Read `"+path+"` for what the handler returns.")
		}
		c.New = append(c.New, task)
	}
	return c, nil
}

// measureWaiting times how another process's change reaches an agent that waits for
// news: from the call that makes it to the answer of planloop_status.
func measureWaiting(ctx context.Context, b *bench) ([]figure, error) {
	place, err := b.workspace(ctx, "waiting", fewSteps, 1)
	if err != nil {
		return nil, err
	}
	agent, err := b.serve(ctx, place.Path, "agent")
	if err != nil {
		return nil, err
	}
	defer agent.close()
	writer, err := b.serve(ctx, place.Path, "writer")
	if err != nil {
		return nil, err
	}
	defer writer.close()
	changes := marks(writer, fewSteps)
	var taken samples
	for range b.rounds(1_000) {
		took, err := heard(agent, changes)
		if err != nil {
			return nil, err
		}
		taken = append(taken, took)
	}
	return []figure{{what: "another process's change reaches an agent that waits in planloop_status", value: taken.String(),
		limit: "p50 <= " + milliseconds(noticeLimit), state: judge(taken.p50() <= noticeLimit)}}, nil
}

func heard(agent *client, changes *marking) (time.Duration, error) {
	if err := agent.await(agent.begin("planloop_status", nil)); err != nil {
		return 0, err
	}
	waiting, err := agent.begin("planloop_status", map[string]any{"wait": 60})
	if err != nil {
		return 0, err
	}
	// The calls of a connection begin in their order: once this one is answered, the
	// one before it waits.
	if err := agent.await(agent.begin("planning_read_plan", nil)); err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := changes.next(); err != nil {
		return 0, err
	}
	_, err = agent.answerTo(waiting)
	return time.Since(begin), err
}
