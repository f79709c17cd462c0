package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/plan"
)

// lockWait bounds how long Lock waits.
const lockWait = 10 * time.Second

// Memory is a store.Log in memory. It encodes records as other stores do on disk, so that code that
// works here works there.
type Memory struct {
	lock  chan struct{} // holds a token while the lock is free
	grown broadcast.Hub

	mu        sync.Mutex
	closed    bool
	chain     string
	records   []entry
	snapshots []Snapshot // oldest first, at most two
	values    map[string][]byte
}

type entry struct {
	hash  Hash
	phase plan.Phase
	body  []byte
}

var _ Log = (*Memory)(nil)

// NewMemory returns an empty log.
func NewMemory() *Memory {
	l := &Memory{lock: make(chan struct{}, 1), chain: NewChain(), values: map[string][]byte{}}
	l.lock <- struct{}{}
	return l
}

// withLock calls f with mu held, unless the log is closed.
func (l *Memory) withLock(f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	return f()
}

func doNothing() error { return nil }

// Lock implements store.Log.
func (l *Memory) Lock(ctx context.Context) (func(), error) {
	if err := l.withLock(doNothing); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	select {
	case <-l.lock:
		return sync.OnceFunc(func() { l.lock <- struct{}{} }), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: try again: %w", ErrBusy, ctx.Err())
	}
}

// Append implements store.Log.
func (l *Memory) Append(ctx context.Context, r plan.Record) (Head, error) {
	if err := ctx.Err(); err != nil {
		return Head{}, err
	}
	return l.change(r, func() error {
		if last := plan.Revision(len(l.records)); r.Seq != last+1 {
			return fmt.Errorf("record %d after record %d: %w", r.Seq, last, ErrConflict)
		}
		return nil
	})
}

// change appends a record after prepare has run, and notifies watchers.
func (l *Memory) change(r plan.Record, prepare func() error) (head Head, err error) {
	body, err := EncodeRecord(r)
	if err != nil {
		return Head{}, err
	}
	err = l.withLock(func() error {
		if err := prepare(); err != nil {
			return err
		}
		l.records = append(l.records, entry{l.head().Hash.Next(body), r.Phase, body})
		head = l.head()
		return nil
	})
	if err == nil {
		l.grown.Notify()
	}
	return head, err
}

// Head implements store.Log.
func (l *Memory) Head(context.Context) (head Head, err error) {
	err = l.withLock(func() error {
		head = l.head()
		return nil
	})
	return head, err
}

// Since implements store.Log.
func (l *Memory) Since(ctx context.Context, _ Head) (Head, []plan.Record, error) {
	head, err := l.Head(ctx)
	return head, nil, err
}

// CachedHead implements store.Log.
func (l *Memory) CachedHead(ctx context.Context) (Head, error) { return l.Head(ctx) }

func (l *Memory) head() Head {
	n := len(l.records)
	if n == 0 {
		return Head{}
	}
	last := l.records[n-1]
	return Head{Chain: l.chain, Seq: plan.Revision(n), Hash: last.hash, Phase: last.phase}
}

// Read implements store.Log.
func (l *Memory) Read(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return func(yield func(plan.Record, error) bool) {
		var records []entry
		err := l.withLock(func() error {
			records = slices.Clip(l.records[min(max(int(after), 0), len(l.records)):])
			return nil
		})
		if err != nil {
			yield(plan.Record{}, err)
			return
		}
		for _, e := range records {
			r, err := DecodeRecord(e.body)
			if err = cmp.Or(err, ctx.Err()); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Snapshot implements store.Log.
func (l *Memory) Snapshot(_ context.Context, seq plan.Revision) (s *Snapshot, err error) {
	err = l.withLock(func() error {
		for _, kept := range l.snapshots {
			if seq == 0 || kept.Head.Seq <= seq {
				s = &kept
			}
		}
		return nil
	})
	return s, err
}

// SaveSnapshot implements store.Log.
func (l *Memory) SaveSnapshot(_ context.Context, s Snapshot) error {
	return l.withLock(func() error {
		if h := s.Head; h.Chain != l.chain || h.Seq < 1 || int(h.Seq) > len(l.records) || l.records[h.Seq-1].hash != h.Hash {
			return fmt.Errorf("a snapshot at record %d: %w", s.Head.Seq, ErrConflict)
		}
		i, found := slices.BinarySearchFunc(l.snapshots, s.Head.Seq, func(kept Snapshot, seq plan.Revision) int {
			return cmp.Compare(kept.Head.Seq, seq)
		})
		if !found {
			kept := slices.Insert(l.snapshots, i, s)
			l.snapshots = kept[max(0, len(kept)-2):]
		}
		return nil
	})
}

// Watch implements store.Log.
func (l *Memory) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := l.withLock(doNothing); err != nil {
		return nil, err
	}
	return l.grown.Listen(ctx), nil
}

// Purge implements store.Log.
func (l *Memory) Purge(_ context.Context, chain string, first plan.Record) (Head, error) {
	if first.Seq != 1 {
		return Head{}, fmt.Errorf("a chain begins with record 1, not %d: %w", first.Seq, ErrConflict)
	}
	return l.change(first, func() error {
		l.chain, l.snapshots, l.records = chain, nil, nil
		clear(l.values)
		return nil
	})
}

// PutValue implements store.Log.
func (l *Memory) PutValue(_ context.Context, value []byte) (name string, err error) {
	name = ValueName(value)
	return name, l.withLock(func() error {
		l.values[name] = slices.Clone(value)
		return nil
	})
}

// Value implements store.Log.
func (l *Memory) Value(_ context.Context, name string) (value []byte, err error) {
	err = l.withLock(func() error {
		kept, ok := l.values[name]
		if !ok {
			return ErrNoValue
		}
		value = slices.Clone(kept)
		return nil
	})
	return value, err
}

// Close implements store.Log.
func (l *Memory) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.grown.Close()
	return nil
}
