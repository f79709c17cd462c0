package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Problem is something wrong with a log.
type Problem struct {
	File   string
	Text   string
	Damage bool // the log itself is damaged, and Repair has something to do
}

// Report is what Check has found.
type Report struct {
	Exists   bool
	Head     store.Head // of the last record before which all are good
	Problems []Problem
	state    plan.State // folded up to Head
	chains   []string   // all that something in the folder names
	Newer    error      // not nil when a newer planloop wrote the log, which is no damage
}

// Damaged reports whether the log needs repair.
func (r Report) Damaged() bool {
	for _, p := range r.Problems {
		if p.Damage {
			return true
		}
	}
	return false
}

// Check examines a log whole: the database's own structure, the chain of
// hashes, that every record decodes and folds, what pins the log, and who can
// read and write the files. It changes nothing. The error says that it could
// not examine; what is wrong with the log stands in the report.
func Check(ctx context.Context, dir string) (Report, error) {
	l := New(dir, Options{AllowNetwork: true})
	defer l.Close()
	if !exists(dir) {
		return Report{}, nil
	}
	release, err := l.acquire(ctx)
	if err != nil && !errors.Is(err, store.ErrReadOnly) {
		return Report{}, err
	}
	if err == nil {
		defer release()
	}
	return l.check(ctx), nil
}

// check is Check with the lock held.
func (l *Log) check(ctx context.Context) Report {
	r := Report{}
	l.checkModes(&r)
	path := l.databasePath()
	found, err := l.find()
	if err != nil {
		r.damage(path, err)
	}
	if pin, ok := readPin(l.headPath()); ok {
		r.chains = append(r.chains, pin.Chain)
	}
	r.Exists = found
	if found && checkFile(path) == nil {
		l.checkDatabase(ctx, &r) // opening a file that is refused would make more of its kind
	}
	l.checkSnapshots(&r)
	return r
}

func (r *Report) damage(file string, err error) {
	if errors.Is(err, store.ErrNewer) {
		r.Newer = err
		r.note(file, err)
		return
	}
	r.Problems = append(r.Problems, Problem{File: file, Text: err.Error(), Damage: true})
}

func (r *Report) note(file string, err error) {
	r.Problems = append(r.Problems, Problem{File: file, Text: err.Error()})
}

func (l *Log) checkModes(r *Report) {
	if err := l.checkFolder(); err != nil {
		r.note(l.dir, err)
	}
	paths, err := l.snapshotPaths()
	if err != nil {
		r.note(l.dir, err)
	}
	for _, path := range append(paths, l.databasePath(), l.databasePath()+"-wal", l.databasePath()+"-shm", l.headPath()) {
		if err := checkFile(path); err != nil {
			r.note(path, err)
		} else if err := checkPrivate(path); err != nil {
			r.note(path, err)
		}
	}
}

func (l *Log) checkDatabase(ctx context.Context, r *Report) {
	db := &database{path: l.databasePath()}
	if err := db.openReaders(ctx); err != nil {
		r.damage(db.path, explain(db.path, err))
		return
	}
	defer db.close()
	version, err := db.reader.format(ctx)
	if err == nil && version == 0 {
		err = l.checkRemains("is empty")
	}
	if err != nil {
		r.damage(db.path, explain(db.path, err))
	}
	if version == 0 {
		return
	}
	if err := db.reader.integrity(ctx); err != nil {
		r.damage(db.path, explain(db.path, err))
	}
	if err := db.fold(ctx, r); err != nil {
		r.damage(db.path, explain(db.path, err))
	}
	if err := l.checkAllPins(ctx, db.reader); err != nil {
		r.damage(db.path, explain(db.path, err))
	}
}

// integrity asks SQLite about the structure of the database.
func (v *view) integrity(ctx context.Context) error {
	rows, err := v.conn.QueryContext(ctx, `PRAGMA integrity_check(5)`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var problems []error
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if text != "ok" {
			problems = append(problems, errors.New(text))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %w", errUnreadable, errors.Join(problems...))
	}
	return rows.Err()
}

// fold reads and folds all records, up to the first that is not good.
func (d *database) fold(ctx context.Context, r *Report) error {
	var chain string
	err := d.reader.conn.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'chain'`).Scan(&chain)
	if err == nil {
		r.chains = append(r.chains, chain)
	}
	rows, rowsErr := d.readers.QueryContext(ctx, `SELECT seq, phase, hash, body FROM record ORDER BY seq`)
	if rowsErr != nil {
		return errors.Join(err, rowsErr)
	}
	defer rows.Close()
	var forged []plan.Revision
	walkErr := walk(rows, link{}, 0, func(seq plan.Revision) { forged = append(forged, seq) }, func(rec plan.Record, hash store.Hash) bool {
		r.state = plan.Fold(r.state, rec)
		r.Head = store.Head{Chain: chain, Seq: rec.Seq, Hash: hash, Phase: rec.Phase}
		return true
	})
	if n := len(forged); n > 0 {
		r.damage(d.path, fmt.Errorf(
			"%d records have a phase beside them that is not their own, the first is %d: somebody has edited the database", n, forged[0]))
	}
	return errors.Join(err, walkErr)
}

// checkAllPins is checkPins for every snapshot and not only the newest.
func (l *Log) checkAllPins(ctx context.Context, v *view) error {
	errs := []error{l.checkPins(ctx, v)}
	headers, err := l.snapshotHeaders()
	for i, h := range headers {
		if i > 0 {
			errs = append(errs, v.checkPin(ctx, h.Head(), h.path))
		}
	}
	return errors.Join(append(errs, err)...)
}

func (l *Log) checkSnapshots(r *Report) {
	paths, err := l.snapshotPaths()
	if err != nil {
		r.note(l.dir, err)
	}
	for _, path := range paths {
		h, err := readHeader(path)
		if err == nil {
			r.chains = append(r.chains, h.Chain)
			if h.Fold == plan.FoldVersion {
				_, err = h.readState()
			}
		}
		if err != nil {
			r.note(path, fmt.Errorf("the snapshot cannot be read and is ignored: %w", err))
		}
	}
}

// checkPrivate reports a file that others can read.
func checkPrivate(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if perm := info.Mode().Perm(); !isPrivate(perm) {
		return fmt.Errorf("%s can be read by others (mode %04o): run chmod 600 on it", filepath.Base(path), perm)
	}
	return nil
}
