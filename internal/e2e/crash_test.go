package e2e_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// openingBound is the additional time a process may take to its first answer after another was killed: less than its wait for a stale lock.
const openingBound = 9 * time.Second

// TestKilledInMidWrite kills servers while a client marks as fast as it can, one call after the other or many calls ahead. Every
// acknowledged change is in the log exactly once and in order; beyond those, at most the pending calls are; the next process continues at
// once.
func TestKilledInMidWrite(t *testing.T) {
	rounds := crashRounds(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("%d rounds, seed %d", rounds, seed)
	p := newPlace(t)
	setUp(p, rounds)
	seen := plan.Revision(1)
	var first, slowest time.Duration
	var total, beyond int
	for round := range rounds {
		c := crash{p: p, random: rand.New(rand.NewPCG(seed, uint64(round))), step: plan.StepID(round + 1), ahead: 1}
		if round%2 == 1 {
			c.ahead = 32
		}
		if err := c.run(seen); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		records := p.records(seen)
		if err := c.judge(notes(records)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		seen += plan.Revision(len(records))
		if round == 0 { // no process was killed before
			first = c.opening
		}
		slowest = max(slowest, c.opening)
		total, beyond = total+len(c.acknowledged), beyond+len(records)-len(c.acknowledged)
	}
	if got := p.revision(); got != seen {
		t.Errorf("the log ends at %d, want %d", got, seen)
	}
	p.sound()
	t.Logf("%d changes acknowledged and kept, %d more kept without; slowest opening %v", total, beyond, slowest)
	if bound := 10*first + openingBound; slowest > bound {
		t.Errorf("a process took %v to open the log, want at most %v", slowest, bound)
	}
}

func crashRounds(t *testing.T) int {
	text := os.Getenv("PLANLOOP_E2E_CRASH_ROUNDS")
	if text == "" {
		return 20
	}
	rounds, err := strconv.Atoi(text)
	if err != nil || rounds < 1 || rounds > plan.DefaultMaxSteps {
		t.Fatalf("PLANLOOP_E2E_CRASH_ROUNDS is %q, want a number from 1 to %d", text, plan.DefaultMaxSteps)
	}
	return rounds
}

// crash is a server that gets killed.
type crash struct {
	p      *place
	random *rand.Rand
	step   plan.StepID
	ahead  int // calls sent before waiting for an answer

	opening      time.Duration // to the first answer
	sent         []string
	acknowledged []string
}

// run starts a server, marks, kills it at a random moment and reads its answers.
func (c *crash) run(seen plan.Revision) error {
	begin := time.Now()
	h, err := c.p.tryServe()
	if err != nil {
		return err
	}
	defer h.kill()
	if err := h.initialize(); err != nil {
		return err
	}
	first, err := h.tool("planning_read_plan", arguments{"from": c.step.String()})
	c.opening = time.Since(begin)
	if err != nil {
		return err
	}
	if first.refused {
		return errors.New(first.text)
	}
	// The moment is random, and no event marks it.
	after := c.random.IntN(8)
	moment := time.Duration(c.random.Int64N(int64(30 * time.Millisecond)))
	var pending []pending
	for n := 0; ; n++ {
		if n == after {
			defer time.AfterFunc(moment, func() { _ = h.cmd.Process.Kill() }).Stop()
		}
		note := fmt.Sprintf("%s, mark %d", c.step, n)
		call, err := h.askTool("planning_mark_step", arguments{"step_id": c.step.String(), "status": "in_progress", "note": note})
		if errors.Is(err, errGone) {
			break
		}
		if err != nil {
			return err
		}
		c.sent = append(c.sent, note)
		pending = append(pending, call)
		if len(pending) == c.ahead {
			gone, err := c.hear(pending[0])
			if err != nil {
				return err
			}
			if pending = pending[1:]; gone {
				break
			}
		}
	}
	h.kill()
	for _, call := range pending { // answers written before the kill
		if gone, err := c.hear(call); gone || err != nil {
			return err
		}
	}
	return nil
}

// hear records the answer of the oldest unanswered call.
func (c *crash) hear(call pending) (gone bool, err error) {
	f, err := call.wait()
	if errors.Is(err, errGone) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	got, err := f.asTool()
	if err != nil {
		return false, err
	}
	if got.refused {
		return false, errors.New(got.text)
	}
	c.acknowledged = append(c.acknowledged, c.sent[len(c.acknowledged)])
	return false, nil
}

// judge compares this round's records in the log with the calls sent and answered.
func (c *crash) judge(logged []string) error {
	switch {
	case len(logged) < len(c.acknowledged):
		return fmt.Errorf("%d changes were acknowledged and only %d are in the log", len(c.acknowledged), len(logged))
	case len(logged) > len(c.sent) || c.ahead == 1 && len(logged) > len(c.acknowledged)+1:
		return fmt.Errorf("%d changes are in the log, of %d sent and %d acknowledged", len(logged), len(c.sent), len(c.acknowledged))
	case !slices.Equal(logged, c.sent[:len(logged)]):
		return fmt.Errorf("the log has %s where %s was sent", strings.Join(logged, "; "), strings.Join(c.sent[:len(logged)], "; "))
	}
	return nil
}
