package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store"
)

func testLockExcludes(t *testing.T, p place) {
	const clients, rounds = 6, 25
	var inside, entered atomic.Int32
	var group sync.WaitGroup
	for range clients {
		log := p.open()
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

func testLockIsBounded(t *testing.T, p place) {
	holder, waiter := p.open(), p.open()
	unlock, err := holder.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
	again() // giving back twice is giving back once
	if unlock, err = holder.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func testAppendUnderLock(t *testing.T, p place) {
	log := p.open()
	unlock, err := log.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	head := fill(t, log, 2)
	if err := log.SaveSnapshot(t.Context(), store.Snapshot{Head: head}); err != nil {
		t.Fatal(err)
	}
	if n := len(mustRead(t, log, 0)); n != 2 {
		t.Errorf("%d records under the lock", n)
	}
}
