// Package memory keeps a log in memory, for as long as the process lives. It
// must not know what a record means.
package memory

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// lockWait bounds how long Lock waits.
const lockWait = 10 * time.Second

// Log is a store.Log in memory. It keeps records as they are written to disk
// elsewhere, so that what works here works there.
type Log struct {
	lock  chan struct{} // holds a token while nobody has the lock
	grown broadcast.Hub

	mu        sync.Mutex
	closed    bool
	chain     string
	records   []entry
	snapshots []store.Snapshot // oldest first, at most two
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

// Lock implements store.Log.
func (l *Log) Lock(ctx context.Context) (func(), error) {
	if err := l.open(); err != nil {
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
	body, err := store.EncodeRecord(r)
	if err != nil {
		return store.Head{}, err
	}
	head, err := l.append(r, body)
	if err == nil {
		l.grown.Notify()
	}
	return head, err
}

func (l *Log) append(r plan.Record, body []byte) (store.Head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.Head{}, store.ErrClosed
	}
	head := l.head()
	if r.Seq != head.Seq+1 {
		return store.Head{}, fmt.Errorf("record %d after record %d: %w", r.Seq, head.Seq, store.ErrConflict)
	}
	if l.chain == "" {
		l.chain = store.NewChain()
	}
	l.records = append(l.records, entry{head.Hash.Next(body), r.Phase, body})
	return l.head(), nil
}

// Head implements store.Log.
func (l *Log) Head(context.Context) (store.Head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.Head{}, store.ErrClosed
	}
	return l.head(), nil
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
		records, err := l.since(after)
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

func (l *Log) since(after plan.Revision) ([]entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, store.ErrClosed
	}
	from := min(max(int(after), 0), len(l.records))
	return l.records[from:len(l.records):len(l.records)], nil
}

// Snapshot implements store.Log.
func (l *Log) Snapshot(_ context.Context, seq plan.Revision) (*store.Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, store.ErrClosed
	}
	for i := len(l.snapshots) - 1; i >= 0; i-- {
		if s := l.snapshots[i]; seq == 0 || s.Head.Seq <= seq {
			return &s, nil
		}
	}
	return nil, nil
}

// SaveSnapshot implements store.Log.
func (l *Log) SaveSnapshot(_ context.Context, s store.Snapshot) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	if !l.contains(s.Head) {
		return fmt.Errorf("a snapshot at record %d: %w", s.Head.Seq, store.ErrConflict)
	}
	i := len(l.snapshots)
	for i > 0 && l.snapshots[i-1].Head.Seq > s.Head.Seq {
		i--
	}
	if i > 0 && l.snapshots[i-1].Head == s.Head {
		return nil
	}
	kept := append(append(append([]store.Snapshot(nil), l.snapshots[:i]...), s), l.snapshots[i:]...)
	l.snapshots = kept[max(0, len(kept)-2):]
	return nil
}

func (l *Log) contains(h store.Head) bool {
	return h.Chain == l.chain && h.Seq >= 1 && int(h.Seq) <= len(l.records) && l.records[h.Seq-1].hash == h.Hash
}

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := l.open(); err != nil {
		return nil, err
	}
	return l.grown.Listen(ctx), nil
}

// Purge implements store.Log.
func (l *Log) Purge(_ context.Context, first plan.Record) (store.Head, error) {
	if first.Seq != 1 {
		return store.Head{}, fmt.Errorf("a chain begins with record 1, not %d: %w", first.Seq, store.ErrConflict)
	}
	body, err := store.EncodeRecord(first)
	if err != nil {
		return store.Head{}, err
	}
	head, err := l.purge(first, body)
	if err == nil {
		l.grown.Notify()
	}
	return head, err
}

func (l *Log) purge(first plan.Record, body []byte) (store.Head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.Head{}, store.ErrClosed
	}
	l.chain, l.snapshots = store.NewChain(), nil
	l.records = []entry{{store.Hash{}.Next(body), first.Phase, body}}
	return l.head(), nil
}

// Close implements store.Log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.grown.Close()
	return nil
}

func (l *Log) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	return nil
}
