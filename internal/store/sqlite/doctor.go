package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	driver "modernc.org/sqlite"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Problem is a fault of a log or of its files.
type Problem struct {
	File   string `json:"file"`
	Text   string `json:"text"`
	Damage bool   `json:"damage"` // the log itself is damaged, and Repair can help
}

// Report is the result of Check.
type Report struct {
	Exists   bool
	Head     store.Head // of the last record before the first bad one
	Problems []Problem
	state    plan.State // folded up to Head
	chains   []string   // all chains named in the folder
	Newer    error      // not nil if a newer planloop wrote the log, which is not damage
	Fault    error      // not nil if the log could not be examined completely, which is not damage either

	IsInterrupted bool // in the middle of a repair or restoration, which Repair finishes
}

// Damaged reports whether the log needs repair.
func (r Report) Damaged() bool {
	return r.Fault == nil && slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Damage })
}

// Check examines a whole log: the database's own structure, the chain of hashes, that every record
// decodes and folds, the pins, and the permissions of the files. It changes nothing. The error
// means that it could not examine; problems of the log are in the report.
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

// check is Check with the lock held. Damage must be seen twice: one faulty read does not prove that
// the data on disk is bad.
func (l *Log) check(ctx context.Context) Report {
	first := l.examine(ctx)
	if !first.Damaged() {
		return first
	}
	second := l.examine(ctx)
	if second.Fault == nil && !slices.Equal(first.Problems, second.Problems) {
		second.addError(l.databasePath(), failing(l.databasePath(), "could not be read", errDisagree))
	}
	return second
}

var errDisagree = errors.New("two reads gave different results")

func (l *Log) examine(ctx context.Context) Report {
	r := Report{}
	l.checkModes(&r)
	path := l.databasePath()
	found, err := l.find()
	r.addError(path, err)
	if r.IsInterrupted = exists(l.exchangePath()); r.IsInterrupted {
		r.addError(path, damaged(path, errInterrupted))
		return r
	}
	if pin, ok := readPin(l.headPath()); ok {
		r.chains = append(r.chains, pin.Chain)
	}
	r.Exists = found
	if _, err := safefile.CheckFile(path); err != nil { // opening it would change it
		r.Fault = cmp.Or(r.Fault, err)
	} else if found {
		l.checkDatabase(ctx, &r)
	}
	l.checkSnapshots(&r)
	l.checkValues(ctx, &r)
	return r
}

// addError records an error about a file, possibly nil, in the report.
func (r *Report) addError(file string, err error) {
	if err = explain(file, err); err == nil {
		return
	}
	switch {
	case errors.Is(err, store.ErrNewer):
		r.Newer = err
	case isFault(err):
		r.Fault = cmp.Or(r.Fault, err)
	default:
		r.Problems = append(r.Problems, Problem{File: file, Text: strings.TrimSuffix(err.Error(), seeDoctor), Damage: true})
		return
	}
	r.addNote(file, err)
}

func (r *Report) addNote(file string, err error) {
	r.Problems = append(r.Problems, Problem{File: file, Text: err.Error()})
}

func (l *Log) checkModes(r *Report) {
	if err := l.checkFolder(); err != nil {
		r.addNote(l.dir, err)
	}
	paths, err := l.snapshotPaths()
	if err != nil {
		r.addNote(l.dir, err)
	}
	for _, path := range append(paths, l.databasePath(), l.databasePath()+"-wal", l.databasePath()+"-shm", l.headPath()) {
		if err := safefile.CheckUnread(path); err != nil {
			r.addNote(path, err)
		}
	}
}

func (l *Log) checkDatabase(ctx context.Context, r *Report) {
	path := l.databasePath()
	v, indexProblem, err := openCopy(ctx, path)
	r.addError(path, err)
	if err != nil {
		return
	}
	defer v.close()
	if indexProblem != nil {
		r.addNote(path, indexProblem)
	}
	version, err := v.format(ctx)
	if err == nil && version == 0 {
		err = l.checkRemains("is empty")
	}
	r.addError(path, err)
	if version == 0 {
		return
	}
	var problems string
	err = v.conn.QueryRowContext(ctx, `SELECT group_concat(integrity_check, char(10))
		FROM (SELECT integrity_check FROM pragma_integrity_check LIMIT 5)`).Scan(&problems)
	if err == nil && problems != "ok" {
		err = fmt.Errorf("%w: %s", errUnreadable, problems)
	}
	r.addError(path, err)
	v.fold(ctx, path, r)
	pins, err := l.pins()
	r.addError(path, err)
	for _, p := range pins {
		r.addError(path, v.checkPin(ctx, p))
	}
}

// fold reads and folds all records before the first bad one.
func (v *view) fold(ctx context.Context, path string, r *Report) {
	var chain, former string
	err := v.conn.QueryRowContext(ctx, `SELECT value, (SELECT coalesce(group_concat(chain, ' '), '') FROM former)
		FROM meta WHERE key = 'chain'`).Scan(&chain, &former)
	if err == nil {
		r.chains = append(append(r.chains, chain), strings.Fields(former)...)
	}
	r.addError(path, err)
	rows, err := v.conn.QueryContext(ctx, `SELECT seq, phase, hash, body FROM record ORDER BY seq`)
	if err != nil {
		r.addError(path, err)
		return
	}
	defer rows.Close()
	var forged []plan.Revision
	var last chainPosition
	walkErr := walk(rows, &last, 0, func(seq plan.Revision) { forged = append(forged, seq) }, func(rec plan.Record) bool {
		r.state = plan.Fold(r.state, rec)
		r.Head = store.Head{Chain: chain, Seq: rec.Seq, Hash: last.hash, Phase: rec.Phase}
		return true
	})
	if n := len(forged); n > 0 {
		r.addError(path, fmt.Errorf(
			"%d records are stored with a phase other than their own, the first is %d: the database was edited by hand", n, forged[0]))
	}
	r.addError(path, walkErr)
}

// checkValues reports missing values of the current plan. The log is complete without them, but
// steps that refer to them fail.
func (l *Log) checkValues(ctx context.Context, r *Report) {
	if r.state.Plan == nil {
		return
	}
	for step := range r.state.Plan.Steps.All() {
		if step.Result == nil || step.Result.StoredName == "" {
			continue
		}
		if _, err := l.Value(ctx, step.Result.StoredName); err != nil {
			r.addNote(l.valuesPath(), fmt.Errorf("the value of %s is missing; steps that refer to it will fail: %w", step.ID, err))
		}
	}
}

func (l *Log) checkSnapshots(r *Report) {
	paths, _ := l.snapshotPaths() // checkModes notes the error
	for _, path := range paths {
		h, err := readHeader(path)
		if err == nil {
			r.chains = append(r.chains, h.Chain)
			if h.Fold == plan.FoldVersion {
				_, err = h.readState()
			}
		}
		if err != nil {
			r.addNote(path, fmt.Errorf("the snapshot cannot be read and is ignored: %w", err))
		}
	}
}

// openCopy reads a whole database, with its write-ahead log, into memory and opens the copy.
// Queries report a page that the disk fails to return as damaged; copying pages reports the
// difference. A fault in the copy is a fault in the database, whatever the disk does later.
func openCopy(ctx context.Context, path string) (v *view, indexProblem, err error) {
	pool, err := sql.Open("sqlite", "file::memory:?_pragma=trusted_schema(0)&_pragma=cell_size_check(1)")
	if err != nil {
		return nil, nil, err
	}
	pool.SetMaxOpenConns(1)
	v = &view{pool: pool, statements: map[string]*sql.Stmt{}}
	if v.conn, err = pool.Conn(ctx); err == nil {
		// The settings of other connections would make queries read the file.
		const settings = "_pragma=busy_timeout(5000)&_pragma=mmap_size(0)&_pragma=query_only(1)&mode="
		indexProblem, err = openWithFallback(path, settings, func(query string) error {
			return v.conn.Raw(func(conn any) error { return restore(conn, address(path, query)) })
		})
	}
	if err != nil {
		_ = v.close()
		return nil, nil, err
	}
	return v, indexProblem, nil
}

// restore copies the database at an address into that of a connection.
func restore(conn any, from string) error {
	into, ok := conn.(interface {
		NewRestore(string) (*driver.Backup, error)
	})
	if !ok {
		return fmt.Errorf("a connection of type %T cannot copy a database", conn)
	}
	backup, err := into.NewRestore(from)
	if err != nil {
		return err
	}
	const all = -1
	_, err = backup.Step(all)
	return cmp.Or(backup.Finish(), err)
}

// confirmDamage returns err, an error of this log, unless it reports damage that a copy does not have: then
// the disk failed.
func (l *Log) confirmDamage(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	second := l.examine(context.WithoutCancel(ctx))
	if second.Fault == nil && (second.Damaged() || second.Newer != nil) {
		return err
	}
	return cmp.Or(second.Fault, failing(l.databasePath(), "could not be read", errDisagree))
}
