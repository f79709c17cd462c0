package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// RepairReport is the result of Repair or Restore.
type RepairReport struct {
	Repaired bool
	Resumed  bool          // an interrupted exchange was finished, and nothing else done
	Folder   string        // holds the former files
	Records  plan.Revision // good records that the new log begins with
	Lost     plan.Revision // the last record known to have existed, if it is lost
	Restored plan.Revision // the revision of the snapshot that the plan was restored from, 0 if not needed or not available
	Problems []Problem     // before the repair
}

// Repair makes a new log from the good part of a damaged one: the records before the first bad one
// and, if the newest snapshot is ahead of them, its plan as a record of its own. The damaged files
// are kept in a folder next to it. A log that is not damaged, or cannot be examined, is left alone.
// Other processes notice the new log at their next access.
func Repair(ctx context.Context, dir string) (RepairReport, error) {
	if !exists(dir) {
		return RepairReport{}, nil
	}
	return locked(ctx, dir, "repair", func(l *Log) (RepairReport, error) {
		found := l.check(ctx)
		if err := cmp.Or(found.Newer, found.Fault); err != nil || !found.Damaged() {
			return RepairReport{}, err
		}
		return l.repair(ctx, found)
	})
}

// locked calls f with the lock of the log in dir. If an exchange was interrupted, it finishes that
// instead.
func locked(ctx context.Context, dir, what string, f func(*Log) (RepairReport, error)) (report RepairReport, err error) {
	l := New(dir, Options{AllowNetwork: true})
	defer l.Close()
	defer func() {
		state := "nothing was changed"
		if exists(l.exchangePath()) {
			state = errInterrupted.Error()
		}
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", what, explain(l.databasePath(), err), state)
		}
	}()
	if err := l.makeFolder(); err != nil {
		return report, err
	}
	release, err := l.acquire(ctx)
	if err != nil {
		return report, err
	}
	defer release()
	if err := l.sweepPrepared(); err != nil {
		return report, err
	}
	if !exists(l.exchangePath()) {
		return f(l)
	}
	if folders, _ := l.keptFolders(); len(folders) > 0 {
		report.Folder = folders[len(folders)-1]
	}
	if err := l.finishExchange(); err != nil {
		return report, err
	}
	report.Repaired, report.Resumed = true, true
	return report, nil
}

func (l *Log) repair(ctx context.Context, found Report) (RepairReport, error) {
	report := RepairReport{Records: found.Head.Seq, Problems: found.Problems}
	pins, err := l.pins()
	if err != nil {
		return report, err
	}
	for _, p := range pins {
		if p.Seq > found.Head.Seq {
			report.Lost = max(report.Lost, p.Seq)
		}
	}
	extra, restored, err := l.restorationRecord(found)
	if err != nil {
		return report, err
	}
	report.Restored = restored
	prepared, err := l.prepare()
	if err != nil {
		return report, err
	}
	defer os.RemoveAll(prepared.dir)
	if err := l.rebuild(ctx, prepared, found, extra); err != nil {
		return report, err
	}
	report.Folder, err = l.replace(prepared, damagedName)
	report.Repaired = err == nil
	return report, err
}

// Restore puts the files that Repair has put aside back into place, and puts the present files
// aside in turn. folder is one of those next to the log.
func Restore(ctx context.Context, dir, folder string) (RepairReport, error) {
	if !exists(dir) {
		return RepairReport{}, &NotKeptError{Folder: folder}
	}
	return locked(ctx, dir, "restore", func(l *Log) (report RepairReport, err error) {
		if err := l.checkUnused(ctx); err != nil {
			return report, err
		}
		prepared, err := l.prepare()
		if err != nil {
			return report, err
		}
		defer os.RemoveAll(prepared.dir)
		if err := l.copyFromKept(ctx, prepared, folder); err != nil {
			return report, err
		}
		report.Folder, err = l.replace(prepared, replacedName)
		report.Repaired = err == nil
		return report, err
	})
}

// checkUnused refuses a log that another process has open.
func (l *Log) checkUnused(ctx context.Context) error {
	v, err := openView(ctx, l.databasePath(), ownIndex+"mode=rw&_pragma=query_only(1)")
	if err == nil {
		return v.close()
	}
	if err = explain(l.databasePath(), err); errors.Is(err, store.ErrBusy) {
		return fmt.Errorf("end the servers of this workspace first: %w", err)
	}
	return nil // its faults do not prevent a restoration
}

const anySize = 1 << 40 // bytes; files put aside may have any size

// copyFromKept copies a folder put aside into a prepared folder, if it is of this log.
func (l *Log) copyFromKept(ctx context.Context, prepared *Log, folder string) error {
	folders, err := l.keptFolders()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(folders, func(path string) bool { return sameFile(path, folder) || filepath.Base(path) == folder })
	if i < 0 {
		return &NotKeptError{folder, folders}
	}
	from := New(folders[i], l.opts)
	files, err := from.files()
	if err := errors.Join(err, from.checkFolder()); err != nil {
		return err
	}
	if !slices.Contains(files, from.databasePath()) {
		return &NotKeptError{folder, slices.Delete(folders, i, i+1)}
	}
	for _, path := range files {
		data, err := safefile.Read(path, anySize)
		if err != nil {
			return err
		}
		to := filepath.Join(prepared.dir, filepath.Base(path))
		if err := safefile.WriteFile(to, data, safefile.Options{Mode: safefile.FileMode}); err != nil {
			return err
		}
	}
	if err := copyHead(prepared, from); err != nil {
		return err
	}
	theirs, ours := prepared.check(ctx), l.check(ctx)
	if err := cmp.Or(theirs.Newer, theirs.Fault, ours.Newer, ours.Fault); err != nil {
		return err
	}
	known := func(chain string) bool { return slices.Contains(ours.chains, chain) }
	if len(theirs.chains) == 0 || len(ours.chains) > 0 && !slices.ContainsFunc(theirs.chains, known) {
		return fmt.Errorf("%s does not hold a log of this workspace", folder)
	}
	return nil
}

// NotKeptError says that a folder does not hold files put aside.
type NotKeptError struct {
	Folder string
	Kept   []string // folders that do
}

func (e *NotKeptError) Error() string {
	text := e.Folder + " is not a folder with a former log of this workspace"
	if len(e.Kept) == 0 {
		return text + "; no such folders exist"
	}
	return text + "; use one of " + strings.Join(e.Kept, ", ")
}

// restorationRecord returns the record that brings back the part of a snapshot that the good records
// lack.
func (l *Log) restorationRecord(found Report) (*plan.Record, plan.Revision, error) {
	headers, err := l.snapshotHeaders()
	for _, h := range headers {
		if h.Seq <= found.Head.Seq {
			break
		}
		state, err := h.readState()
		if isFault(err) {
			return nil, 0, err
		}
		if err != nil {
			continue
		}
		return &plan.Record{
			Seq: found.Head.Seq + 1, Action: "repair_log", Actor: plan.Actor{Kind: plan.Planloop, Name: "planloop"},
			Time: time.Now().UTC().Truncate(time.Millisecond), Phase: state.PhaseNow(), Events: restoreEvents(found.state, state),
		}, h.Seq, nil
	}
	return nil, 0, err
}

// restoreEvents returns the events that change the plans and signals of one state into those of another.
func restoreEvents(from, to plan.State) []plan.Event {
	var events []plan.Event
	for _, past := range to.Past {
		if known, ok := from.PastPlan(past.ID); !ok || known != past {
			events = append(events, plan.PlanArchived{Head: past})
		}
	}
	if to.Plan != nil {
		events = append(events, plan.PlanRestored{Plan: to.Plan.Body(), At: to.UpdatedAt})
	}
	if to.Draft != nil {
		events = append(events, plan.DraftMade{Plan: to.Draft.Body()})
	}
	for _, signal := range to.Signals {
		if !slices.Contains(from.Signals, signal) {
			events = append(events, plan.SignalRaised{Signal: signal})
		}
	}
	if to.Mode != nil || to.QuestionCount > 0 || to.CommentCount > 0 || len(to.Comments) > 0 {
		events = append(events, plan.ModeRestored{Phase: to.PhaseNow(), Mode: to.Mode, Questions: to.Questions,
			QuestionCount: to.QuestionCount,
			Comments:      to.Comments, CommentCount: to.CommentCount})
	}
	return events
}

// rebuild writes the new log. Its chain has a new name, so that a position in it cannot be confused
// with the same position in the old one.
func (l *Log) rebuild(ctx context.Context, prepared *Log, found Report, extra *plan.Record) error {
	path, want := prepared.databasePath(), found.Head.Seq
	if err := createDatabase(ctx, path, store.NewChain()); err != nil {
		return err
	}
	if err := l.fillRepaired(ctx, path, found, extra); err != nil {
		return explain(path, err)
	}
	if extra != nil {
		want++
	}
	made := prepared.check(ctx)
	if err := made.Fault; err != nil {
		return err
	}
	if made.Damaged() || made.Head.Seq != want {
		return fmt.Errorf("the new log has %d records instead of %d: try again", made.Head.Seq, want)
	}
	if want == 0 {
		return nil
	}
	growth, err := openGrowthFile(prepared.headPath())
	if err != nil {
		return err
	}
	return errors.Join(writePin(growth, made.Head, unknownWord), growth.Close())
}

func (l *Log) fillRepaired(ctx context.Context, path string, found Report, extra *plan.Record) error {
	pool, err := openPool(path, writable)
	if err != nil {
		return err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, chain := range found.chains {
		if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO former VALUES (?)`, chain); err != nil {
			return err
		}
	}
	if err := l.copyRecords(ctx, tx, found.Head.Seq); err != nil {
		return err
	}
	if extra != nil {
		body, err := store.EncodeRecord(*extra)
		if err != nil {
			return err
		}
		hash := found.Head.Hash.Next(body)
		if _, err := tx.ExecContext(ctx, copyQuery, extra.Seq, string(extra.Phase), hash[:], body); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	// Leave a database that is complete without its write-ahead log.
	_, err = pool.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

const copyQuery = `INSERT INTO record (seq, phase, hash, body) VALUES (?, ?, ?, ?)`

// copyRecords copies the good records, each with its own phase. It reads in order and stops at the
// last one: the rest may be damaged, and so may the index.
func (l *Log) copyRecords(ctx context.Context, to *sql.Tx, last plan.Revision) error {
	if last == 0 {
		return nil
	}
	v, _, err := openCopy(ctx, l.databasePath())
	if err != nil {
		return err
	}
	defer v.close()
	rows, err := v.conn.QueryContext(ctx, `SELECT seq, hash, body FROM record ORDER BY seq`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for seq := plan.Revision(0); seq < last && rows.Next(); {
		var hash, body []byte
		if err := rows.Scan(&seq, &hash, &body); err != nil {
			return err
		}
		r, err := decode(seq, body)
		if err != nil {
			return err
		}
		if _, err := to.ExecContext(ctx, copyQuery, seq, string(r.Phase), hash, body); err != nil {
			return err
		}
	}
	return rows.Err()
}
