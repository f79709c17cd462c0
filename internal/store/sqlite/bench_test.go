package sqlite_test

import (
	"crypto/sha256"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// One change as a session makes it: lock, head, append.
func BenchmarkAppend(b *testing.B) {
	log := sqlite.New(filepath.Join(b.TempDir(), "log"), sqlite.Options{})
	defer log.Close()
	seq := plan.Revision(0)
	for b.Loop() {
		unlock := testenv.Must(log.Lock(b.Context()))(b)
		testenv.Must(log.Head(b.Context()))(b)
		seq++
		testenv.Must(log.Append(b.Context(), mark(seq, 1)))(b)
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
	testenv.Must(db.Exec(`CREATE TABLE record (seq INTEGER PRIMARY KEY, phase TEXT, hash BLOB, body BLOB)`))(b)
	insert := testenv.Must(db.Prepare(`INSERT INTO record VALUES (?, ?, ?, ?)`))(b)
	body := testenv.Must(store.EncodeRecord(mark(1000, 1)))(b)
	hash := sha256.Sum256(body)
	seq := 0
	for b.Loop() {
		seq++
		tx := testenv.Must(db.Begin())(b)
		testenv.Must(tx.Stmt(insert).Exec(seq, "", hash[:], body))(b)
		testenv.Check(b, tx.Commit())
	}
}

func BenchmarkHead(b *testing.B) {
	log := sqlite.New(filepath.Join(b.TempDir(), "log"), sqlite.Options{})
	defer log.Close()
	testenv.Must(log.Append(b.Context(), setUp(3)))(b)
	for b.Loop() {
		testenv.Must(log.Head(b.Context()))(b)
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
		testenv.Must(log.Head(b.Context()))(b)
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
		testenv.Check(b, log.Close())
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
	head := testenv.Must(log.Append(b.Context(), first))(b)
	state := plan.Fold(plan.State{}, first)
	db := testenv.Must(sql.Open("sqlite", filepath.Join(dir, "plan.db")))(b)
	defer db.Close()
	tx := testenv.Must(db.Begin())(b)
	pinned := store.Snapshot{}
	for head.Seq < records {
		r := mark(head.Seq+1, plan.StepID(head.Seq%10_000+1))
		body := testenv.Must(store.EncodeRecord(r))(b)
		head.Seq, head.Hash = r.Seq, head.Hash.Next(body)
		testenv.Must(tx.Exec(`INSERT INTO record VALUES (?, ?, ?, ?)`, head.Seq, string(r.Phase), head.Hash[:], body))(b)
		if head.Seq <= snapshot && head.Seq > snapshot-1000 {
			state = plan.Fold(state, r)
		}
		if head.Seq == snapshot {
			pinned = store.Snapshot{Head: head, State: state}
		}
	}
	testenv.Check(b, tx.Commit())
	testenv.Check(b, log.SaveSnapshot(b.Context(), pinned))
	testenv.Check(b, log.Close())
}
