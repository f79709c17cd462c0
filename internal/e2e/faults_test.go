package e2e_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // writes as other programs would

	"github.com/planloop/planloop/internal/testenv"
)

// TestDamage damages the files of a log in many ways. The next user learns what is wrong and what to do, over MCP and on the command line;
// the damage does not grow; `planloop doctor --repair` leads out and keeps the damaged files.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, c := range damages() {
		t.Run(name, func(t *testing.T) {
			p := settledPlace(t, 15)
			c.damage(t, p.database())
			before := fingerprint(t, p.database())

			p.faults(t, 1, "planloop doctor")
			if got := p.run("doctor"); got.code != 1 || !strings.Contains(got.out, "planloop doctor --repair") {
				t.Errorf("doctor: exit code %d\n%s%s", got.code, got.out, got.err)
			}
			if after := fingerprint(t, p.database()); after != before {
				t.Errorf("the damaged file was changed by those who only looked")
			}

			if got := p.run("doctor", "--repair"); got.code != 0 || !strings.Contains(got.out, "damaged-") {
				t.Fatalf("doctor --repair: exit code %d\n%s%s", got.code, got.out, got.err)
			}
			if before != "" && !strings.Contains(kept(t, p), before) {
				t.Error("the damaged file was not kept")
			}
			if records := p.records(0); len(records) < c.saved {
				t.Errorf("%d good records were saved, want %d", len(records), c.saved)
			}
			p.goesOn(t)
		})
	}
}

// damage is a kind of damage to a database, with the number of records that stay good and must be saved.
type damage struct {
	saved  int
	damage func(t *testing.T, path string)
}

func damages() map[string]damage {
	bytes := func(change func([]byte) []byte) damage {
		return damage{0, func(t *testing.T, path string) { rewrite(t, path, change) }}
	}
	statement := func(saved int, text string) damage {
		return damage{saved, func(t *testing.T, path string) { execute(t, path, text) }}
	}
	return map[string]damage{
		"empty file":     bytes(func([]byte) []byte { return nil }),
		"missing file":   {0, remove},
		"cut in half":    bytes(func(b []byte) []byte { return b[:len(b)/2] }),
		"cut to a page":  bytes(func(b []byte) []byte { return b[:4096] }),
		"cut to a word":  bytes(func(b []byte) []byte { return b[:20] }),
		"text":           bytes(func([]byte) []byte { return []byte(strings.Repeat("no database ", 1000)) }),
		"zeros":          bytes(func(b []byte) []byte { return make([]byte, len(b)) }),
		"header flipped": bytes(func(b []byte) []byte { b[3] ^= 1; return b }),
		"record altered": statement(6,
			`UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'mark 5', 'mark 6') AS BLOB) WHERE seq = 7`),
		"record deleted": statement(6, `DELETE FROM record WHERE seq = 7`),
		"tail deleted":   statement(7, `DELETE FROM record WHERE seq > 7`),
		"table dropped":  statement(0, `DROP TABLE record`),
		"another's": {0, func(t *testing.T, path string) {
			remove(t, path)
			execute(t, path, `CREATE TABLE bookmarks (url TEXT); PRAGMA application_id = 7; PRAGMA user_version = 3;`)
		}},
	}
}

// TestRandomDamage flips bits anywhere in the database: a process either works as if unaffected, or reports a damaged log and the way out.
func TestRandomDamage(t *testing.T) {
	t.Parallel()
	flips := testenv.Count(5, 10, 25)
	p := settledPlace(t, 300)
	want := p.must("log", "--json", "-n", "0")
	original, err := os.ReadFile(p.database())
	testenv.Check(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	noticed := 0
	for range flips {
		at, bit := random.IntN(len(original)), random.IntN(8)
		where := fmt.Sprintf("bit %d of byte %d of %d", bit, at, len(original))
		rewrite(t, p.database(), func([]byte) []byte {
			altered := append([]byte{}, original...)
			altered[at] ^= 1 << bit
			return altered
		})
		_, _ = os.Remove(p.database()+"-wal"), os.Remove(p.database()+"-shm")
		got := p.run("log", "--json", "-n", "0")
		switch {
		case got.code == 0 && got.out == want:
		case got.code == 1 && strings.Contains(got.out+got.err, "doctor") || got.code == 1 && strings.Contains(got.out+got.err, "newer"):
			noticed++
		default:
			t.Errorf("%s: exit code %d\n%.500s\n%s", where, got.code, got.out, got.err)
		}
		if strings.Contains(got.err, "panic") || strings.Contains(got.err, "goroutine ") {
			t.Errorf("%s: %s", where, got.err)
		}
		if doctor := p.run("doctor"); doctor.code != 0 && doctor.code != 1 {
			t.Errorf("%s: doctor: exit code %d\n%s%s", where, doctor.code, doctor.out, doctor.err)
		}
	}
	t.Logf("%d of %d flips are noticed by those who read the log", noticed, flips)
}

// TestNewerFormat has a log of a newer planloop: no command changes it, not even doctor.
func TestNewerFormat(t *testing.T) {
	t.Parallel()
	p := settledPlace(t, 15)
	execute(t, p.database(), `PRAGMA user_version = 2`)
	before := fingerprint(t, p.database())
	p.faults(t, 1, "newer", "update planloop")
	for _, args := range [][]string{{"doctor"}, {"doctor", "--repair"}} {
		got := p.run(args...)
		if got.code != 1 || !strings.Contains(got.out+got.err, "update planloop") {
			t.Errorf("%v: exit code %d\n%s%s", args, got.code, got.out, got.err)
		}
		if strings.Contains(got.out+got.err, "doctor --repair") {
			t.Errorf("%v advises a repair that will be refused:\n%s%s", args, got.out, got.err)
		}
	}
	if after := fingerprint(t, p.database()); after != before {
		t.Error("the file was changed")
	}
	execute(t, p.database(), `PRAGMA user_version = 1`)
	p.goesOn(t)
}

// TestDamageUnderARunningServer damages the log while a server has it open.
func TestDamageUnderARunningServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 2)
	h := p.open()
	h.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
	for _, name := range []string{"plan.db", "plan.db-wal", "plan.db-shm"} {
		_ = os.Remove(filepath.Join(p.stateDir(), name))
	}
	if text := h.refusal("planning_mark_step", arguments{"step_id": "S001", "status": "done"}); !strings.Contains(text, "planloop doctor") {
		t.Errorf("after the log was deleted: %s", text)
	}
	if got := p.run("doctor", "--repair"); got.code != 0 {
		t.Fatalf("doctor --repair: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	// The same server continues with the new log.
	h.do("planning_setup_plan", arguments{"objective": "After the flood", "initial_steps": []arguments{{"title": "Begin"}}})
	p.sound()
}

// settledPlace returns a place with a log of some marks, all in the database and none in a write-ahead log.
func settledPlace(t *testing.T, marks int) *place {
	t.Helper()
	p := newBusyPlace(t)
	setUp(p, 3)
	h := p.open()
	if _, err := keepMarking(h, 1, marks); err != nil {
		t.Fatal(err)
	}
	h.leave()
	execute(t, p.database(), `PRAGMA wal_checkpoint(TRUNCATE)`)
	return p
}

// faults checks the errors for an unusable log: over MCP, which has the words, and on the command line.
func (p *place) faults(t *testing.T, code int, words ...string) {
	t.Helper()
	h := p.open()
	for tool, args := range map[string]arguments{"planning_mark_step": {"step_id": "S002", "status": "done"},
		"planning_setup_plan": {"objective": "x"}, "planning_read_plan": {}} {
		if text := h.refusal(tool, args); !containsAny(text, words) || leaks(text, p) {
			t.Errorf("%s says: %s", tool, text)
		}
	}
	if f, err := h.request("resources/read", arguments{"uri": "plan://current"}); err != nil || f.Error == nil ||
		!containsAny(f.Error.Message, words) {
		t.Errorf("plan://current: %v, %+v %s", err, f.Error, f.Result)
	}
	if status := h.leave(); status != 0 {
		t.Errorf("the server ended with exit code %d", status)
	}
	for _, args := range [][]string{{"step", "mark", "S002", "done"}, {"start", "x", "--step", "y"}, {"show"}, {"log"}} {
		got := p.run(args...)
		if got.code != code || got.out != "" || !containsAny(got.err, words) || strings.Contains(got.err, "goroutine ") {
			t.Errorf("%v: exit code %d, want %d\n%s%s", args, got.code, code, got.out, got.err)
		}
		got = p.run(append(args, "--json")...)
		var report struct {
			Status  string `json:"status"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != code || report.Status != "error" ||
			!containsAny(report.Message, words) {
			t.Errorf("%v --json: exit code %d, want %d, %v\n%s%s", args, got.code, code, err, got.out, got.err)
		}
	}
}

func containsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// leaks reports whether a text for a model reveals file paths.
func leaks(text string, p *place) bool { return strings.Contains(text, p.home) }

// goesOn checks that the log works normally.
func (p *place) goesOn(t *testing.T) {
	t.Helper()
	h := p.open()
	h.do("planning_setup_plan", arguments{"objective": "Go on", "initial_steps": []arguments{{"title": "As before"}}})
	h.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
	h.leave()
	p.must("step", "mark", "S001", "done", "--note", "goes on")
	if got := p.run("doctor"); got.code != 0 {
		t.Errorf("doctor: exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	testenv.Check(t, err)
	testenv.Check(t, os.WriteFile(path, change(data), 0o600))
}

func remove(t *testing.T, path string) {
	t.Helper()
	testenv.Check(t, os.Remove(path))
}

// execute runs SQL on a database as any program could, and leaves no write-ahead log.
func execute(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	testenv.Check(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range []string{statements, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Check(t, os.Chmod(path, 0o600))
}

// fingerprint identifies a file's content; "" without a file.
func fingerprint(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// kept returns the fingerprints of all files that repairs have put aside.
func kept(t *testing.T, p *place) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(p.stateDir(), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.Contains(path, "damaged-") {
			found = append(found, fingerprint(t, path))
		}
		return err
	})
	testenv.Check(t, err)
	return strings.Join(found, "\n")
}
