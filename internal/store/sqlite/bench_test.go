package sqlite_test

import (
	"crypto/sha256"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/plan"
)

// One change as a session makes it: lock, head, append.
func BenchmarkAppend(b *testing.B) {
	log := sqlite.New(filepath.Join(b.TempDir(), "log"), sqlite.Options{})
	defer log.Close()
	seq := plan.Revision(0)
	for b.Loop() {
		unlock, err := log.Lock(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := log.Head(b.Context()); err != nil {
			b.Fatal(err)
		}
		seq++
		if _, err := log.Append(b.Context(), mark(seq, 1)); err != nil {
			b.Fatal(err)
		}
		unlock()
	}
}

// The floor: the same bytes inserted and committed by the driver alone.
func BenchmarkAppendFloor(b *testing.B) {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(b.TempDir(), "floor.db"))+
		"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE record (seq INTEGER PRIMARY KEY, phase TEXT, hash BLOB, body BLOB)`); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare(`INSERT INTO record VALUES (?, ?, ?, ?)`)
	if err != nil {
		b.Fatal(err)
	}
	body, err := store.EncodeRecord(mark(1000, 1))
	if err != nil {
		b.Fatal(err)
	}
	hash := sha256.Sum256(body)
	seq := 0
	for b.Loop() {
		seq++
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tx.Stmt(insert).Exec(seq, "", hash[:], body); err != nil {
			b.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHead(b *testing.B) {
	log := sqlite.New(filepath.Join(b.TempDir(), "log"), sqlite.Options{})
	defer log.Close()
	if _, err := log.Append(b.Context(), setUp(3)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := log.Head(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// The load of a session: 100,000 records, a plan of 10,000 steps, and a tail of 999 records after
// the newest snapshot.
func BenchmarkOpen(b *testing.B) {
	const records, tail = 100_000, 999
	dir := filepath.Join(b.TempDir(), "log")
	fillLong(b, dir, records, records-tail)
	var opening, snapshot, reading time.Duration
	n := 0
	for b.Loop() {
		n++
		began := time.Now()
		log := sqlite.New(dir, sqlite.Options{})
		if _, err := log.Head(b.Context()); err != nil {
			b.Fatal(err)
		}
		opened := time.Now()
		s, err := log.Snapshot(b.Context(), 0)
		if err != nil || s == nil {
			b.Fatal(err)
		}
		decoded := time.Now()
		state := s.State
		for r, err := range log.Read(b.Context(), s.Head.Seq) {
			if err != nil {
				b.Fatal(err)
			}
			state = plan.Fold(state, r)
		}
		if state.Revision != records {
			b.Fatalf("folded to %d", state.Revision)
		}
		opening += opened.Sub(began)
		snapshot += decoded.Sub(opened)
		reading += time.Since(decoded)
		if err := log.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for name, d := range map[string]time.Duration{"open-ms": opening, "snapshot-ms": snapshot, "tail-ms": reading} {
		b.ReportMetric(float64(d.Microseconds())/1000/float64(n), name)
	}
}

// fillLong writes the records in one transaction, unlike an append.
func fillLong(b *testing.B, dir string, records, snapshot plan.Revision) {
	b.Helper()
	log := sqlite.New(dir, sqlite.Options{})
	first := setUp(10_000)
	head, err := log.Append(b.Context(), first)
	if err != nil {
		b.Fatal(err)
	}
	state := plan.Fold(plan.State{}, first)
	db, err := sql.Open("sqlite", filepath.Join(dir, "plan.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	pinned := store.Snapshot{}
	for head.Seq < records {
		r := mark(head.Seq+1, plan.StepID(head.Seq%10_000+1))
		body, err := store.EncodeRecord(r)
		if err != nil {
			b.Fatal(err)
		}
		head.Seq, head.Hash = r.Seq, head.Hash.Next(body)
		if _, err := tx.Exec(`INSERT INTO record VALUES (?, ?, ?, ?)`, head.Seq, string(r.Phase), head.Hash[:], body); err != nil {
			b.Fatal(err)
		}
		if head.Seq <= snapshot && head.Seq > snapshot-1000 {
			state = plan.Fold(state, r)
		}
		if head.Seq == snapshot {
			pinned = store.Snapshot{Head: head, State: state}
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	if err := log.SaveSnapshot(b.Context(), pinned); err != nil {
		b.Fatal(err)
	}
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
}
