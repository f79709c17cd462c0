package main

import (
	"context"
	"fmt"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// snapshotEvery is the number of records between the snapshots of a session. A log
// that ends just before the next one is the costliest to open.
const snapshotEvery = 512

// actor is in the log of every plan made here.
func actor() plan.Actor { return plan.Actor{Kind: plan.Agent, Name: "bench"} }

// workspace makes a workspace with a plan of steps steps, and marks them until the
// log has at least actions records. It uses an existing workspace of that name again.
func (b *bench) workspace(ctx context.Context, name string, steps, actions int) (workspace.Workspace, error) {
	place, err := b.place(name)
	if err != nil {
		return place, err
	}
	s := open(place)
	state, err := s.State(ctx)
	if err == nil && state.Plan == nil {
		err = fill(ctx, s, steps, actions)
	}
	if closed := s.Close(); err == nil {
		err = closed
	}
	return place, err
}

func open(place workspace.Workspace) *session.Session {
	return session.New(sqlite.New(place.StateDir, sqlite.Options{}), session.Options{Limits: plan.Limits{MaxSteps: 100_000}})
}

func fill(ctx context.Context, s *session.Session, steps, actions int) error {
	setUp := plan.SetUp{Outline: plan.Outline{Objective: "Measure a plan"}}
	for n := range steps {
		setUp.Steps = append(setUp.Steps, plan.NewStep{Spec: plan.Spec{
			Title:   fmt.Sprintf("Step %d of the plan that is measured", n+1),
			Details: "As long as details often are: the change, its place, and the way to verify it.",
		}})
	}
	if _, err := s.Do(ctx, actor(), setUp, nil); err != nil {
		return err
	}
	if actions <= 1 {
		return nil
	}
	statuses := []plan.StepStatus{plan.InProgress, plan.Done, plan.Pending}
	for n := 0; ; n++ {
		mark := plan.MarkStep{Step: plan.StepID(n/3*7%steps + 1), Status: statuses[n%3]}
		outcome, err := s.Do(ctx, actor(), mark, nil)
		if err != nil {
			return err
		}
		if last := outcome.After.Revision; int(last) >= actions && last%snapshotEvery == snapshotEvery-1 {
			return nil
		}
	}
}

// long returns the length of a long log, in records.
func (b *bench) long() int {
	if b.quick {
		return 10_000
	}
	return 100_000
}

const (
	fewSteps  = 10
	someSteps = 1_000
	manySteps = 10_000
)
