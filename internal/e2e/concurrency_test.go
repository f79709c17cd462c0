package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// toolCaller is a client of either kind.
type toolCaller interface {
	tool(tool string, args any) (reply, error)
}

const (
	writers = 8   // servers
	marks   = 200 // by each of them
	byHand  = 20  // command lines, each a process
)

// TestManyProcessesWrite has servers over stdio and HTTP and a command line mark steps of one plan at the same time: every acknowledged
// change is in the log exactly once, and no client sees an error.
func TestManyProcessesWrite(t *testing.T) {
	p := newBusyPlace(t)
	setUp(p, writers+1)
	clients := make([]toolCaller, writers)
	for i := range clients {
		if i%3 == 2 {
			clients[i] = connect(t, p.transport("http"), []string{handshake, stateless}[i/3%2], nil)
		} else {
			clients[i] = p.open()
		}
	}
	acknowledged := make([][]string, writers+1)
	begin := time.Now()
	var group errgroup.Group
	for i, client := range clients {
		group.Go(func() (err error) {
			acknowledged[i], err = keepMarking(client, plan.StepID(i+1), marks)
			return err
		})
	}
	group.Go(func() (err error) {
		acknowledged[writers], err = markByHand(p, plan.StepID(writers+1))
		return err
	})
	testenv.Check(t, group.Wait())
	t.Logf("%d changes by %d servers and %d command lines in %v", writers*marks+byHand, writers, byHand, time.Since(begin))

	records := p.records(0)
	if want := 1 + writers*marks + byHand; len(records) != want {
		t.Errorf("%d records, want %d", len(records), want)
	}
	exactlyOnce(t, notes(records), slices.Concat(acknowledged...))
	if got := p.revision(); got != plan.Revision(len(records)) {
		t.Errorf("the command line sees %d records of %d", got, len(records))
	}
	p.sound()
}

// setUp creates a plan with the steps S001 to the given number.
func setUp(p *place, steps int) {
	p.t.Helper()
	args := []string{"start", "Many hands"}
	for i := range steps {
		args = append(args, "--step", fmt.Sprintf("Step number %d", i+1))
	}
	p.must(args...)
}

// keepMarking marks a step repeatedly, each time with a different note, and returns the acknowledged notes.
func keepMarking(client toolCaller, step plan.StepID, times int) ([]string, error) {
	var done []string
	for n := range times {
		note := fmt.Sprintf("%s, mark %d", step, n)
		status := []string{"in_progress", "blocked", "pending"}[n%3]
		got, err := client.tool("planning_mark_step", arguments{"step_id": step.String(), "status": status, "note": note})
		if err != nil {
			return done, fmt.Errorf("%s: %w", note, err)
		}
		if got.refused {
			return done, fmt.Errorf("%s: %s", note, got.text)
		}
		done = append(done, note)
	}
	return done, nil
}

func markByHand(p *place, step plan.StepID) ([]string, error) {
	var done []string
	for n := range byHand {
		note := fmt.Sprintf("by hand, mark %d", n)
		// A name of its own: without one a command acts as the client of a server with the same parent,
		// but only while there is just one such client.
		got, err := p.try("", "step", "mark", step.String(), []string{"in_progress", "pending"}[n%2], "--note", note, "--agent", "hand")
		if err != nil {
			return done, err
		}
		if got.code != 0 || got.err != "" {
			return done, errors.New(note + ": " + got.err)
		}
		done = append(done, note)
	}
	return done, nil
}

// exactlyOnce fails unless the log contains every acknowledged note once.
func exactlyOnce(t testing.TB, logged, acknowledged []string) {
	t.Helper()
	times := map[string]int{}
	for _, note := range logged {
		times[note]++
	}
	for _, note := range acknowledged {
		if times[note] != 1 {
			t.Errorf("%q was acknowledged and stands in the log %d times", note, times[note])
		}
	}
}
