package postgres_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

func TestMain(m *testing.M) { os.Exit(testenv.Fixed{Tests: m}.Run()) }

// mark returns record seq, which sets the status of a step and adds a note.
func mark(seq plan.Revision, step plan.StepID) plan.Record {
	at := time.Date(2026, time.May, 4, 9, 0, int(seq), 0, time.UTC)
	return plan.Record{Seq: seq, Action: "mark_step", Actor: plan.Actor{Kind: plan.Agent, Name: "agent"}, Time: at,
		Phase: plan.PhaseInactive, Events: []plan.Event{plan.StepMarked{Step: step, Status: plan.Blocked, Note: fmt.Sprintf("note %d", seq),
			By: "agent", At: at}}}
}
