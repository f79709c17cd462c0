package e2e_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/planloop/planloop/plan"
)

// TestOneWinsTheClaim has processes claim one step at the same time: one gets it, the others learn the owner. When the winner is killed the
// claim lapses at once, until the last process has it.
func TestOneWinsTheClaim(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	var hosts []*host
	for range writers {
		hosts = append(hosts, p.open())
	}
	for len(hosts) > 0 {
		winner := claimAtOnce(t, p, hosts)
		hosts[winner].kill()
		hosts = append(hosts[:winner:winner], hosts[winner+1:]...)
	}
	if records := p.records(1); len(records) != writers {
		t.Errorf("%d claims were recorded, want %d", len(records), writers)
	}
	p.sound()
}

// claimAtOnce returns the index of the host that got the step.
func claimAtOnce(t *testing.T, p *place, hosts []*host) int {
	t.Helper()
	replies := make([]reply, len(hosts))
	errs := make([]error, len(hosts))
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() {
			<-start
			replies[i], errs[i] = h.tool("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
		})
	}
	close(start)
	all.Wait()
	owner := lastActor(t, p)
	winner := -1
	for i, got := range replies {
		switch {
		case errs[i] != nil:
			t.Fatal(errs[i])
		case !got.refused && winner >= 0:
			t.Fatalf("%d and %d of %d both got the step", winner, i, len(hosts))
		case !got.refused:
			winner = i
		case !strings.Contains(got.text, owner):
			t.Errorf("%s has the step, and another was told: %s", owner, got.text)
		}
	}
	if winner < 0 {
		t.Fatalf("nobody of %d got the step: %s", len(hosts), replies[0].text)
	}
	return winner
}

func lastActor(t testing.TB, p *place) string {
	t.Helper()
	records := p.records(1)
	if len(records) == 0 {
		t.Fatal("no claim was recorded")
	}
	last := records[len(records)-1]
	if _, ok := last.Events[0].(plan.StepMarked); !ok {
		t.Fatalf("the last event is a %T", last.Events[0])
	}
	return last.Actor.Name
}
