package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Purge implements store.Log.
func (l *Log) Purge(ctx context.Context, first plan.Record) (store.Head, error) {
	if first.Seq != 1 {
		return store.Head{}, fmt.Errorf("a chain begins with record 1, not %d: %w", first.Seq, store.ErrConflict)
	}
	body, err := store.EncodeRecord(first)
	if err != nil {
		return store.Head{}, err
	}
	head, err := l.purge(context.WithoutCancel(ctx), first, body)
	if err != nil {
		return store.Head{}, explain(l.databasePath(), err)
	}
	l.grown.Notify()
	return head, nil
}

func (l *Log) purge(ctx context.Context, first plan.Record, body []byte) (store.Head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	db, err := l.write(ctx)
	if err != nil {
		return store.Head{}, err
	}
	head := store.Head{Chain: store.NewChain(), Seq: 1, Hash: store.Hash{}.Next(body), Phase: first.Phase}
	if err := db.writer.purge(ctx, head, body); err != nil {
		return store.Head{}, err
	}
	return head, errors.Join(l.removeSnapshots(func(string) bool { return false }), l.removeRemains())
}

// removeRemains deletes what repairs have put aside: it holds plans too.
func (l *Log) removeRemains() error {
	folders, err := filepath.Glob(filepath.Join(l.dir, "damaged-*"))
	for _, folder := range folders {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// purge replaces all records. What was deleted is overwritten, also in the
// write-ahead log as soon as no reader needs it any more.
func (w *writer) purge(ctx context.Context, head store.Head, body []byte) error {
	conn := w.view.conn
	if _, err := conn.ExecContext(ctx, `PRAGMA secure_delete = 1`); err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, step := range []struct {
		text string
		args []any
	}{
		{`INSERT OR IGNORE INTO former SELECT value FROM meta WHERE key = 'chain'`, nil},
		{`UPDATE meta SET value = ? WHERE key = 'chain'`, []any{head.Chain}},
		{`DELETE FROM record`, nil},
		{`INSERT INTO record (seq, phase, hash, body) VALUES (1, ?, ?, ?)`, []any{string(head.Phase), head.Hash[:], body}},
	} {
		if _, err := tx.ExecContext(ctx, step.text, step.args...); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	w.view.knows(head)
	_ = w.growth.write(head)
	// The purge has taken place; shrinking may wait until readers let it.
	_, _ = conn.ExecContext(ctx, `VACUUM`)
	_, _ = conn.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return nil
}
