package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// operation is what a client asked and was told: an append of seq that won or
// lost, or a look at the head.
type operation struct {
	look bool
	seq  plan.Revision // asked for, or seen by a look
	won  bool
}

// logModel is a log reduced to its length.
var logModel = porcupine.Model{
	Init: func() any { return plan.Revision(0) },
	Step: func(state, _, output any) (bool, any) {
		length, op := state.(plan.Revision), output.(operation)
		switch {
		case op.look:
			return op.seq == length, length
		case op.won:
			return op.seq == length+1, length + 1
		}
		return op.seq != length+1, length
	},
}

// Everyone tries the same numbers without a lock: each number has one winner,
// and every loser is told.
func testConcurrent(t *testing.T, p place) {
	const clients, rounds = 8, 20
	history := compete(t, p, clients, rounds)
	won := map[plan.Revision]int{}
	for _, op := range history {
		if o := op.Output.(operation); o.won {
			won[o.seq]++
		}
	}
	head := mustHead(t, p.open())
	if int(head.Seq) != len(won) {
		t.Errorf("%d winners, but the head is %d", len(won), head.Seq)
	}
	for seq, n := range won {
		if n != 1 {
			t.Errorf("record %d has %d winners", seq, n)
		}
	}
	if n := len(mustRead(t, p.open(), 0)); n != len(won) {
		t.Errorf("%d records, %d winners", n, len(won))
	}
}

func testLinearizable(t *testing.T, p place) {
	history := compete(t, p, 4, 25)
	if result := porcupine.CheckOperationsTimeout(logModel, history, patience); result != porcupine.Ok {
		t.Errorf("the history of %d operations is not linearizable: %v", len(history), result)
	}
}

// compete lets clients append what each thinks comes next, and returns what
// happened.
func compete(t *testing.T, p place, clients, rounds int) []porcupine.Operation {
	t.Helper()
	began := time.Now()
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		group   sync.WaitGroup
	)
	for client := range clients {
		log := p.open()
		group.Go(func() {
			for range rounds {
				for _, act := range []func(context.Context, store.Log) (operation, error){look, tryNext} {
					call := time.Since(began)
					op, err := act(t.Context(), log)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: client, Output: op,
						Call: call.Nanoseconds(), Return: time.Since(began).Nanoseconds()})
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return history
}

func look(ctx context.Context, log store.Log) (operation, error) {
	head, err := log.Head(ctx)
	return operation{look: true, seq: head.Seq}, err
}

func tryNext(ctx context.Context, log store.Log) (operation, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return operation{}, err
	}
	_, err = log.Append(ctx, Mark(head.Seq+1, 1))
	if errors.Is(err, store.ErrConflict) {
		return operation{seq: head.Seq + 1}, nil
	}
	return operation{seq: head.Seq + 1, won: true}, err
}
