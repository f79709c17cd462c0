package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// operation is a client's request with its response: an append of seq that won or lost, or a look
// at the head.
type operation struct {
	look bool
	seq  plan.Revision // requested, or seen by a look
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

// All clients try the same numbers without a lock: each number has one winner, and every loser is
// told.
func testConcurrent(t *testing.T, open opener) {
	const clients, rounds = 8, 20
	history := compete(t, open, clients, rounds)
	won := map[plan.Revision]int{}
	for _, op := range history {
		if o := op.Output.(operation); o.won {
			won[o.seq]++
		}
	}
	head := mustHead(t, open())
	if int(head.Seq) != len(won) {
		t.Errorf("%d winners, but the head is %d", len(won), head.Seq)
	}
	for seq, n := range won {
		if n != 1 {
			t.Errorf("record %d has %d winners", seq, n)
		}
	}
	if n := len(mustRead(t, open(), 0)); n != len(won) {
		t.Errorf("%d records, %d winners", n, len(won))
	}
}

func testLinearizable(t *testing.T, open opener) {
	history := compete(t, open, 4, 25)
	if result := porcupine.CheckOperationsTimeout(logModel, history, patience); result != porcupine.Ok {
		t.Errorf("the history of %d operations is not linearizable: %v", len(history), result)
	}
}

// compete lets clients append what each expects to be next, and returns the history.
func compete(t *testing.T, open opener, clients, rounds int) []porcupine.Operation {
	t.Helper()
	began := time.Now()
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		group   sync.WaitGroup
	)
	for client := range clients {
		log := open()
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
	_, err = log.Append(ctx, mark(head.Seq+1, 1))
	if errors.Is(err, store.ErrConflict) {
		return operation{seq: head.Seq + 1}, nil
	}
	return operation{seq: head.Seq + 1, won: true}, err
}

func testLockExcludes(t *testing.T, open opener) {
	const clients, rounds = 6, 25
	var inside, entered atomic.Int32
	var group sync.WaitGroup
	for range clients {
		log := open()
		group.Go(func() {
			for range rounds {
				unlock, err := log.Lock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				entered.Add(1)
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				inside.Add(-1)
				unlock()
			}
		})
	}
	group.Wait()
	if n := entered.Load(); n != clients*rounds {
		t.Errorf("the lock was taken %d times, want %d", n, clients*rounds)
	}
}

func testLockIsBounded(t *testing.T, open opener) {
	holder, waiter := open(), open()
	unlock := testenv.Must(holder.Lock(t.Context()))(t)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := waiter.Lock(short); !errors.Is(err, store.ErrBusy) {
		t.Errorf("a lock that is held: %v, want ErrBusy", err)
	}
	unlock()
	again, err := waiter.Lock(t.Context())
	if err != nil {
		t.Fatalf("after it was given back: %v", err)
	}
	again()
	again() // releasing twice equals releasing once
	if unlock, err = holder.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func testAppendUnderLock(t *testing.T, open opener) {
	log := open()
	unlock := testenv.Must(log.Lock(t.Context()))(t)
	defer unlock()
	head := fill(t, log, 2)
	testenv.Check(t, log.SaveSnapshot(t.Context(), store.Snapshot{Head: head}))
	if n := len(mustRead(t, log, 0)); n != 2 {
		t.Errorf("%d records under the lock", n)
	}
}

func testWatch(t *testing.T, open opener) {
	watcher, writer := open(), open()
	grown := mustWatch(t, t.Context(), watcher) // before there is anything
	mustAppend(t, writer, setUp(3))
	await(t, grown)
	mustAppend(t, watcher, mark(2, 1)) // its own append counts too
	await(t, grown)
	if head := mustHead(t, watcher); head.Seq != 2 {
		t.Errorf("told of growth, but the head is %+v", head)
	}
}

// Every append after Watch has returned is noticed, at every point of the watcher's own work.
func testNoLostWakeUp(t *testing.T, open opener) {
	watcher, writer := open(), open()
	grown := mustWatch(t, t.Context(), watcher)
	for seq := plan.Revision(1); seq <= 200; seq++ {
		mustAppend(t, writer, mark(seq, 1))
		for mustHead(t, watcher).Seq < seq {
			await(t, grown)
		}
		if seq%3 == 0 {
			await(t, grown) // each append is announced, even one already seen
		}
	drain:
		for {
			select {
			case <-grown:
			default:
				break drain
			}
		}
	}
}

func testWatchEnds(t *testing.T, open opener) {
	log := open()
	fill(t, log, 1)
	ctx, cancel := context.WithCancel(t.Context())
	one, other := mustWatch(t, ctx, log), mustWatch(t, t.Context(), log)
	cancel()
	awaitEnd(t, one)
	testenv.Check(t, log.Close())
	awaitEnd(t, other)
}

func mustWatch(t *testing.T, ctx context.Context, log store.Log) <-chan struct{} {
	t.Helper()
	grown := testenv.Must(log.Watch(ctx))(t)
	return grown
}

func await(t *testing.T, grown <-chan struct{}) {
	t.Helper()
	select {
	case _, ok := <-grown:
		if !ok {
			t.Fatal("the watching ended")
		}
	case <-time.After(patience):
		t.Fatal("the growth was not noticed")
	}
}

func awaitEnd(t *testing.T, grown <-chan struct{}) {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case _, ok := <-grown:
			if !ok {
				return
			}
		case <-limit:
			t.Fatal("the watching did not end")
		}
	}
}
