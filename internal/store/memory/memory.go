// Package memory keeps a log in memory, for as long as the process lives. It must not know the
// meaning of a record.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// lockWait bounds how long Lock waits.
const lockWait = 10 * time.Second

// Log is a store.Log in memory. It encodes records as other stores do on disk, so that code that
// works here works there.
type Log struct {
	lock  chan struct{} // holds a token while the lock is free
	grown broadcast.Hub

	mu        sync.Mutex
	closed    bool
	chain     string
	records   []entry
	snapshots []store.Snapshot // oldest first, at most two
	values    map[string][]byte
}

type entry struct {
	hash  store.Hash
	phase plan.Phase
	body  []byte
}

var _ store.Log = (*Log)(nil)

// New returns an empty log.
func New() *Log {
	l := &Log{lock: make(chan struct{}, 1)}
	l.lock <- struct{}{}
	return l
}

// use calls f with mu held, unless the log is closed.
func (l *Log) use(f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	return f()
}

// usable does nothing: use then only checks that the log is open.
func usable() error { return nil }

// Lock implements store.Log.
func (l *Log) Lock(ctx context.Context) (func(), error) {
	if err := l.use(usable); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	select {
	case <-l.lock:
		return sync.OnceFunc(func() { l.lock <- struct{}{} }), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: try again: %w", store.ErrBusy, ctx.Err())
	}
}

// Append implements store.Log.
func (l *Log) Append(ctx context.Context, r plan.Record) (store.Head, error) {
	if err := ctx.Err(); err != nil {
		return store.Head{}, err
	}
	return l.change(r, func() error {
		if last := plan.Revision(len(l.records)); r.Seq != last+1 {
			return fmt.Errorf("record %d after record %d: %w", r.Seq, last, store.ErrConflict)
		}
		if l.chain == "" {
			l.chain = store.NewChain()
		}
		return nil
	})
}

// change appends a record after prepare has run, and notifies watchers.
func (l *Log) change(r plan.Record, prepare func() error) (head store.Head, err error) {
	body, err := store.EncodeRecord(r)
	if err != nil {
		return store.Head{}, err
	}
	err = l.use(func() error {
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
func (l *Log) Head(context.Context) (head store.Head, err error) {
	err = l.use(func() error {
		head = l.head()
		return nil
	})
	return head, err
}

// Since implements store.Log.
func (l *Log) Since(ctx context.Context, _ store.Head) (store.Head, []plan.Record, error) {
	head, err := l.Head(ctx)
	return head, nil, err
}

// Glance implements store.Log.
func (l *Log) Glance(ctx context.Context) (store.Head, error) { return l.Head(ctx) }

func (l *Log) head() store.Head {
	n := len(l.records)
	if n == 0 {
		return store.Head{}
	}
	last := l.records[n-1]
	return store.Head{Chain: l.chain, Seq: plan.Revision(n), Hash: last.hash, Phase: last.phase}
}

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return func(yield func(plan.Record, error) bool) {
		var records []entry
		err := l.use(func() error {
			records = slices.Clip(l.records[min(max(int(after), 0), len(l.records)):])
			return nil
		})
		if err != nil {
			yield(plan.Record{}, err)
			return
		}
		for _, e := range records {
			r, err := store.DecodeRecord(e.body)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(plan.Record{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Snapshot implements store.Log.
func (l *Log) Snapshot(_ context.Context, seq plan.Revision) (s *store.Snapshot, err error) {
	err = l.use(func() error {
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
func (l *Log) SaveSnapshot(_ context.Context, s store.Snapshot) error {
	return l.use(func() error {
		if !l.contains(s.Head) {
			return fmt.Errorf("a snapshot at record %d: %w", s.Head.Seq, store.ErrConflict)
		}
		i, found := slices.BinarySearchFunc(l.snapshots, s.Head.Seq, func(kept store.Snapshot, seq plan.Revision) int {
			return cmp.Compare(kept.Head.Seq, seq)
		})
		if !found {
			kept := slices.Insert(l.snapshots, i, s)
			l.snapshots = kept[max(0, len(kept)-2):]
		}
		return nil
	})
}

func (l *Log) contains(h store.Head) bool {
	return h.Chain == l.chain && h.Seq >= 1 && int(h.Seq) <= len(l.records) && l.records[h.Seq-1].hash == h.Hash
}

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := l.use(usable); err != nil {
		return nil, err
	}
	return l.grown.Listen(ctx), nil
}

// Purge implements store.Log.
func (l *Log) Purge(_ context.Context, first plan.Record) (store.Head, error) {
	if first.Seq != 1 {
		return store.Head{}, fmt.Errorf("a chain begins with record 1, not %d: %w", first.Seq, store.ErrConflict)
	}
	return l.change(first, func() error {
		l.chain, l.snapshots, l.records, l.values = store.NewChain(), nil, nil, nil
		return nil
	})
}

// PutValue implements store.Log.
func (l *Log) PutValue(_ context.Context, value []byte) (name string, err error) {
	name = store.ValueName(value)
	return name, l.use(func() error {
		if l.values == nil {
			l.values = map[string][]byte{}
		}
		l.values[name] = slices.Clone(value)
		return nil
	})
}

// Value implements store.Log.
func (l *Log) Value(_ context.Context, name string) (value []byte, err error) {
	err = l.use(func() error {
		kept, ok := l.values[name]
		if !ok {
			return store.ErrNoValue
		}
		value = slices.Clone(kept)
		return nil
	})
	return value, err
}

// Close implements store.Log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.grown.Close()
	return nil
}
