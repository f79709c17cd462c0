package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Append implements store.Log.
func (l *Log) Append(ctx context.Context, r plan.Record) (store.Head, error) {
	if err := ctx.Err(); err != nil {
		return store.Head{}, err
	}
	body, err := store.EncodeRecord(r)
	if err != nil {
		return store.Head{}, err
	}
	head, err := l.append(context.WithoutCancel(ctx), r, body)
	if err != nil {
		return store.Head{}, explain(l.databasePath(), err)
	}
	l.grown.Notify()
	return head, nil
}

// append writes a record to the end. It is not broken off half-way: the caller
// would not know whether it took place.
func (l *Log) append(ctx context.Context, r plan.Record, body []byte) (store.Head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refuseEarly(ctx, r); err != nil {
		return store.Head{}, err
	}
	db, err := l.write(ctx)
	if err != nil {
		return store.Head{}, err
	}
	w := db.writer
	if w.view.current && r.Seq == w.view.head.Seq+1 {
		// The head as it was last seen will do: the statement checks it.
		if head, err := w.append(ctx, w.view.head, r, body); !errors.Is(err, store.ErrConflict) {
			return head, err
		}
	}
	before, err := w.view.readHead(ctx)
	if err != nil {
		return store.Head{}, err
	}
	if r.Seq != before.Seq+1 {
		return store.Head{}, conflict(r.Seq, before.Seq)
	}
	return w.append(ctx, before, r, body)
}

// refuseEarly spares a log that does not exist from being created for nothing.
func (l *Log) refuseEarly(ctx context.Context, r plan.Record) error {
	if r.Seq == 1 || l.db != nil {
		return nil
	}
	db, err := l.access(ctx)
	if err == nil && db == nil {
		return conflict(r.Seq, 0)
	}
	return err
}

func (w *writer) append(ctx context.Context, before store.Head, r plan.Record, body []byte) (store.Head, error) {
	head := store.Head{Chain: before.Chain, Seq: r.Seq, Hash: before.Hash.Next(body), Phase: r.Phase}
	var previous any
	if before.Seq > 0 {
		previous = before.Hash[:]
	}
	result, err := w.insert.ExecContext(ctx, r.Seq, string(r.Phase), head.Hash[:], body, previous)
	if err != nil {
		return store.Head{}, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		if err != nil {
			return store.Head{}, err
		}
		return store.Head{}, conflict(r.Seq, before.Seq)
	}
	if before.Seq == 0 {
		// The name of the chain is not known before it has a record.
		if head, err = w.view.queryHead(ctx); err != nil {
			return store.Head{}, err
		}
	}
	w.view.knows(head)
	_ = w.growth.write(head) // the record is kept already; the next append tells too
	return head, nil
}

func conflict(seq, head plan.Revision) error {
	return fmt.Errorf("record %d where the log ends with %d: %w: read what was added and decide again", seq, head, store.ErrConflict)
}

// Head implements store.Log.
func (l *Log) Head(ctx context.Context) (store.Head, error) {
	if err := ctx.Err(); err != nil {
		return store.Head{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	db, err := l.access(ctx)
	if err != nil || db == nil {
		return store.Head{}, err
	}
	head, err := db.look().readHead(context.WithoutCancel(ctx))
	if err != nil {
		return store.Head{}, explain(l.databasePath(), err)
	}
	return head, nil
}

// Glance implements store.Log. Who has the database open is told by it.
func (l *Log) Glance(ctx context.Context) (store.Head, error) {
	l.mu.Lock()
	opened := l.db != nil || l.closed
	l.mu.Unlock()
	if !opened {
		if pin, ok := readPin(l.headPath()); ok {
			return pin, nil
		}
	}
	return l.Head(ctx)
}
