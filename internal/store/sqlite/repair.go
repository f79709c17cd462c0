package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// RepairReport is what Repair has done.
type RepairReport struct {
	Repaired bool
	Folder   string        // where the damaged files are kept
	Records  plan.Revision // good records that the new log begins with
	Lost     plan.Revision // the last record that is known to have been there, when it is lost
	Restored plan.Revision // the revision of the snapshot that the plan was restored from, 0 when none was needed or left
	Problems []Problem     // what was wrong
}

// repairedName is a new database, complete, that waits for its place.
const (
	repairingName = "repairing.db"
	repairedName  = "repaired.db"
)

// Repair makes a new log of what is good in a damaged one: the records before
// the first bad one, and the plan of the newest snapshot when that is ahead of
// them, as a record of its own. The damaged files are kept in a folder beside
// it. A log that is not damaged is left alone. Other processes notice the new
// log when they next look.
func Repair(ctx context.Context, dir string) (RepairReport, error) {
	l := New(dir, Options{AllowNetwork: true})
	defer l.Close()
	if !exists(dir) {
		return RepairReport{}, nil
	}
	if err := l.makeFolder(); err != nil {
		return RepairReport{}, err
	}
	release, err := l.acquire(ctx)
	if err != nil {
		return RepairReport{}, err
	}
	defer release()
	found := l.check(ctx)
	if found.Newer != nil {
		return RepairReport{}, found.Newer
	}
	if !found.Damaged() {
		return RepairReport{}, nil
	}
	report, err := l.repair(ctx, found)
	if err != nil {
		return report, fmt.Errorf("repair %s: %w", dir, err)
	}
	return report, nil
}

func (l *Log) repair(ctx context.Context, found Report) (RepairReport, error) {
	report := RepairReport{Records: found.Head.Seq, Problems: found.Problems}
	repaired := filepath.Join(l.dir, repairedName)
	if !exists(repaired) { // else a repair was broken off before the exchange
		extra, restored := l.restoration(found)
		report.Restored = restored
		if err := l.rebuild(ctx, found, extra); err != nil {
			return report, err
		}
	}
	pins, _ := l.pins()
	for _, p := range pins {
		if p.Seq > found.Head.Seq {
			report.Lost = max(report.Lost, p.Seq)
		}
	}
	folder, err := l.putAside()
	if err != nil {
		return report, err
	}
	report.Folder = folder
	if err := os.Rename(repaired, l.databasePath()); err != nil {
		return report, err
	}
	if err := atomicfile.SyncFolder(l.dir); err != nil {
		return report, err
	}
	report.Repaired = true
	return report, l.pinAgain(ctx)
}

// restoration returns the record that brings back what a snapshot knows and the
// good records do not.
func (l *Log) restoration(found Report) (*plan.Record, plan.Revision) {
	headers, _ := l.snapshotHeaders()
	for _, h := range headers {
		if h.Seq <= found.Head.Seq {
			break
		}
		state, err := h.readState()
		if err != nil {
			continue
		}
		return &plan.Record{
			Seq: found.Head.Seq + 1, Action: "repair_log", Actor: plan.Actor{Kind: plan.Planloop, Name: "planloop"},
			Time: time.Now().UTC().Truncate(time.Millisecond), Phase: state.PhaseNow(), Events: restoring(found.state, state),
		}, h.Seq
	}
	return nil, 0
}

// restoring returns the events that make the plans and signals of one state those of another.
func restoring(from, to plan.State) []plan.Event {
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
	if to.Mode != nil || to.Asked > 0 || len(to.Comments) > 0 {
		events = append(events, plan.ModeRestored{Phase: to.PhaseNow(), Mode: to.Mode, Questions: to.Questions, Asked: to.Asked,
			Comments: to.Comments})
	}
	return events
}

// rebuild writes the new database. Its chain has a new name, so that nobody
// takes a place in it for the same place in the old one.
func (l *Log) rebuild(ctx context.Context, found Report, extra *plan.Record) error {
	path := filepath.Join(l.dir, repairingName)
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := createDatabase(ctx, path, store.NewChain()); err != nil {
		return err
	}
	if err := l.fillRepaired(ctx, path, found, extra); err != nil {
		return explain(path, err)
	}
	return os.Rename(path, filepath.Join(l.dir, repairedName))
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
		if err := addRecord(ctx, tx, found.Head, *extra); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	// Nothing may be left in a write-ahead log: only the database is renamed.
	_, err = pool.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

const copyQuery = `INSERT INTO record (seq, phase, hash, body) VALUES (?, ?, ?, ?)`

// copyRecords copies the good records as they are, each beside its own phase. It reads in order and stops
// at the last: what follows may be damaged, and so may the way to look it up.
func (l *Log) copyRecords(ctx context.Context, to *sql.Tx, last plan.Revision) error {
	if last == 0 {
		return nil
	}
	v, err := openReader(ctx, l.databasePath())
	if err != nil {
		return err
	}
	defer v.close()
	rows, err := v.pool.QueryContext(ctx, `SELECT seq, hash, body FROM record ORDER BY seq`)
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

func addRecord(ctx context.Context, tx *sql.Tx, before store.Head, r plan.Record) error {
	body, err := store.EncodeRecord(r)
	if err != nil {
		return err
	}
	hash := before.Hash.Next(body)
	_, err = tx.ExecContext(ctx, copyQuery, r.Seq, string(r.Phase), hash[:], body)
	return err
}

// putAside keeps the damaged files in a folder of their own. They get a second
// name there before they lose the first, so that they are never without one.
func (l *Log) putAside() (string, error) {
	folder, err := os.MkdirTemp(l.dir, "damaged-"+time.Now().UTC().Format("20060102T150405Z")+"-")
	if err != nil {
		return "", err
	}
	files := []string{l.databasePath() + "-wal", l.databasePath() + "-shm", l.databasePath()}
	snapshots, err := l.snapshotPaths()
	if err != nil {
		return folder, err
	}
	files = append(snapshots, files...)
	for _, path := range files {
		if err := os.Link(path, filepath.Join(folder, filepath.Base(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return folder, err
		}
	}
	if err := errors.Join(atomicfile.SyncFolder(folder), atomicfile.SyncFolder(l.dir)); err != nil {
		return folder, err
	}
	for _, path := range files {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return folder, err
		}
	}
	return folder, nil
}

// pinAgain makes the growth file say what the new log is, and tells who watches.
func (l *Log) pinAgain(ctx context.Context) error {
	v, err := openReader(ctx, l.databasePath())
	if err != nil {
		return err
	}
	defer v.close()
	head, err := v.queryHead(ctx)
	if err != nil {
		return err
	}
	growth, err := openGrowthFile(l.headPath())
	if err != nil {
		return err
	}
	if head.Seq == 0 {
		return errors.Join(growth.Truncate(0), growth.Close())
	}
	return errors.Join(writePin(growth, head), growth.Close())
}
