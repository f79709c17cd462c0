package sqlite_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// recordsOfVictim is the length of the log that the tests damage.
const recordsOfVictim = 300

var (
	flips = flag.Int("flips", 60, "how many bit flips are tried")
	cuts  = flag.Int("cuts", 20, "how many truncations are tried")
)

// A flipped bit anywhere in the database either does not matter or is noticed, and there is always
// a way out that loses nothing silently.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	original := victim(t)
	size := fileSize(t, filepath.Join(original, "plan.db"))
	for i := range testenv.Count(*flips/5, *flips, 10**flips) {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		offset, bit := random.Int64N(size), random.IntN(8)
		if i%6 == 0 {
			offset = random.Int64N(100) // the header decides most
		}
		what := fmt.Sprintf("bit %d of byte %d flipped", bit, offset)
		survive(t, original, what, func(dir string) { flip(t, filepath.Join(dir, "plan.db"), offset, bit) })
	}
}

func TestTruncations(t *testing.T) {
	t.Parallel()
	original := victim(t)
	size := fileSize(t, filepath.Join(original, "plan.db"))
	for i := range testenv.Count(*cuts/5, *cuts, 10**cuts) {
		to := rand.New(rand.NewPCG(2, uint64(i))).Int64N(size)
		if i == 0 {
			to = 0
		}
		survive(t, original, fmt.Sprintf("cut to %d bytes", to), func(dir string) {
			testenv.Check(t, os.Truncate(filepath.Join(dir, "plan.db"), to))
		})
	}
}

func TestForeignFile(t *testing.T) {
	t.Parallel()
	survive(t, victim(t), "foreign file", func(dir string) {
		write(t, filepath.Join(dir, "plan.db"), strings.Repeat("This is a letter. ", 1000))
	})
}

func TestMissingDatabase(t *testing.T) {
	t.Parallel()
	survive(t, victim(t), "missing database", func(dir string) {
		testenv.Check(t, os.Remove(filepath.Join(dir, "plan.db")))
	})
}

// The records since the last checkpoint are only in the write-ahead log.
func TestMissingWriteAheadLog(t *testing.T) {
	t.Parallel()
	original := filepath.Join(t.TempDir(), "log")
	log := sqlite.New(original, sqlite.Options{})
	defer log.Close()
	grow(t, log, recordsOfVictim)
	survive(t, original, "missing write-ahead log", func(dir string) {
		testenv.Check(t, os.Remove(filepath.Join(dir, "plan.db-wal")))
	})
}

// A torn or lost head file is not damage.
func TestTornHeadIsNoDamage(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\x00\x00\x00\x00", "torn"} {
		dir := copyLog(t, victim(t))
		write(t, filepath.Join(dir, "growth", "head"), content)
		if n, err := readAll(dir); err != nil || len(n) != recordsOfVictim {
			t.Errorf("%q: %d records, %v", content, len(n), err)
		}
	}
}

// Whether a log is open is unknown where its head file is torn, missing or written by an older version, which overwrites only the beginning
// of a newer one.
func TestOpenIsUnknown(t *testing.T) {
	t.Parallel()
	dir := victim(t)
	path := filepath.Join(dir, "growth", "head")
	whole := content(t, path)
	if isOpen, known, _ := sqlite.Overview(dir); isOpen || !known {
		t.Fatalf("%q: %t, %t", whole, isOpen, known)
	}
	text := whole[:strings.LastIndex(whole, " closed")]
	older := fmt.Sprintf("%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
	for name, head := range map[string]string{
		"older": older, "older over newer": older + whole[len(older):], "torn": strings.Replace(whole, "closed ", "open   ", 1),
		"empty": "",
	} {
		write(t, path, head)
		if _, known, _ := sqlite.Overview(dir); known {
			t.Errorf("%s: known", name)
		}
		if pinned := sqlite.CachedHead(dir).Seq > 0; pinned != strings.HasPrefix(name, "older") {
			t.Errorf("%s: pins a head: %t", name, pinned)
		}
	}
	testenv.Check(t, os.Remove(path))
	if _, known, _ := sqlite.Overview(dir); known {
		t.Error("known without a file")
	}
	if isOpen, known, _ := sqlite.Overview(t.TempDir()); isOpen || !known {
		t.Error("a missing log counts as open")
	}
}

// A log with its last records deleted is still well-formed.
func TestShortenedLogIsNoticed(t *testing.T) {
	t.Parallel()
	dir := copyLog(t, victim(t))
	execute(t, dir, `DELETE FROM record WHERE seq > 290`)
	if _, err := readAll(dir); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func TestAlteredRecordIsNoticed(t *testing.T) {
	t.Parallel()
	dir := copyLog(t, victim(t))
	execute(t, dir, `UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'agent', 'Agent') AS BLOB) WHERE seq = 7`)
	if _, err := readAll(dir); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "record 7") {
		t.Errorf("got %v", err)
	}
}

func TestUnreadableSnapshotIsIgnored(t *testing.T) {
	t.Parallel()
	dir := copyLog(t, victim(t))
	paths, _ := filepath.Glob(filepath.Join(dir, "snapshot-*.json"))
	if len(paths) != 2 {
		t.Fatalf("snapshots %v", paths)
	}
	newest := filepath.Join(dir, fmt.Sprintf("snapshot-%d.json", recordsOfVictim))
	flip(t, newest, fileSize(t, newest)-20, 1)
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	s, err := log.Snapshot(t.Context(), 0)
	if err != nil || s == nil || s.Head.Seq != 200 {
		t.Errorf("got %+v, %v, want the one before", s, err)
	}
	report, err := sqlite.Check(t.Context(), dir)
	if err != nil || report.Damaged() || len(report.Problems) != 1 {
		t.Errorf("check: %+v, %v", report.Problems, err)
	}
}

func TestRepairLeavesAHealthyLogAlone(t *testing.T) {
	t.Parallel()
	dir := copyLog(t, victim(t))
	report, err := sqlite.Repair(t.Context(), dir)
	if err != nil || report.Repaired {
		t.Errorf("got %+v, %v", report, err)
	}
	if n, err := readAll(dir); err != nil || len(n) != recordsOfVictim {
		t.Errorf("%d records, %v", len(n), err)
	}
}

// survive damages a copy of a log and follows a person's way out.
func survive(t *testing.T, original, what string, damage func(dir string)) {
	t.Helper()
	dir := copyLog(t, original)
	damage(dir)
	records, err := readAll(dir)
	if err == nil {
		if len(records) != recordsOfVictim {
			t.Errorf("%s: %d records and no error", what, len(records))
		}
		diffVictim(t, what, records)
		return
	}
	if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrNewer) {
		t.Errorf("%s: %v, want ErrDamaged", what, err)
	}
	if !strings.Contains(err.Error(), "plan.db") {
		t.Errorf("%s: the error does not name the file: %v", what, err)
	}
	if errors.Is(err, store.ErrNewer) {
		return // the error says what to do: update
	}
	before := content(t, filepath.Join(dir, "plan.db"))
	report, err := sqlite.Check(t.Context(), dir)
	if err != nil || !report.Damaged() {
		t.Errorf("%s: check found no damage: %+v, %v", what, report, err)
	}
	if content(t, filepath.Join(dir, "plan.db")) != before {
		t.Errorf("%s: the damaged file was changed by looking at it", what)
	}
	repairAndUse(t, what, dir, before)
}

func repairAndUse(t *testing.T, what, dir, before string) {
	t.Helper()
	repaired, err := sqlite.Repair(t.Context(), dir)
	if err != nil || !repaired.Repaired {
		t.Errorf("%s: repair: %+v, %v", what, repaired, err)
		return
	}
	if kept := content(t, filepath.Join(repaired.Folder, "plan.db")); kept != before {
		t.Errorf("%s: the damaged file was not kept as it was", what)
	}
	records, err := readAll(dir)
	if err != nil {
		t.Errorf("%s: after repair: %v", what, err)
		return
	}
	good := int(repaired.Records)
	if len(records) < good || good > recordsOfVictim {
		t.Errorf("%s: %d records after a repair that kept %d", what, len(records), good)
		return
	}
	diffVictim(t, what, records[:good])
	if state := foldAll(records); good < 200 && (state.Plan == nil || state.Plan.Steps.Len() != 3) {
		t.Errorf("%s: the plan was not restored: %+v", what, repaired)
	}
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	if _, err := log.Append(t.Context(), mark(plan.Revision(len(records)+1), 1)); err != nil {
		t.Errorf("%s: append after repair: %v", what, err)
	}
	if report, err := sqlite.Check(t.Context(), dir); err != nil || report.Damaged() {
		t.Errorf("%s: check after repair: %+v, %v", what, report.Problems, err)
	}
}

// victim makes a log with two snapshots, closed in order.
func victim(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	log := sqlite.New(dir, sqlite.Options{})
	grow(t, log, recordsOfVictim)
	testenv.Check(t, log.Close())
	return dir
}

func victimRecord(seq plan.Revision) plan.Record {
	if seq == 1 {
		return setUp(3)
	}
	return mark(seq, plan.StepID(seq%3+1))
}

func grow(t *testing.T, log *sqlite.Log, n plan.Revision) {
	t.Helper()
	var state plan.State
	for seq := plan.Revision(1); seq <= n; seq++ {
		r := victimRecord(seq)
		head := testenv.Must(log.Append(t.Context(), r))(t)
		state = plan.Fold(state, r)
		if seq == 200 || seq == 300 {
			testenv.Check(t, log.SaveSnapshot(t.Context(), store.Snapshot{Head: head, State: state}))
		}
	}
}

func diffVictim(t *testing.T, what string, records []plan.Record) {
	t.Helper()
	for i, r := range records {
		if diff := cmp.Diff(victimRecord(plan.Revision(i+1)), r, cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(plan.Steps{})); diff != "" {
			t.Errorf("%s: record %d: %s", what, i+1, diff)
		}
	}
}

func readAll(dir string) ([]plan.Record, error) {
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	var records []plan.Record
	for r, err := range log.Read(noContext, 0) {
		if err != nil {
			return records, err
		}
		records = append(records, r)
	}
	return records, nil
}

func foldAll(records []plan.Record) plan.State {
	var s plan.State
	for _, r := range records {
		s = plan.Fold(s, r)
	}
	return s
}
