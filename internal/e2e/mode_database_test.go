package e2e_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// otherConnection opens the log's database as any program of the user could.
func (p *place) otherConnection(mode string) *sql.DB {
	p.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(p.database())+"?mode="+mode)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { db.Close() })
	return db
}

// TestReadingTheDatabaseChangesNothing reads the log through its own connection while a server runs: it sees the phase in one row, and
// cannot write.
func TestReadingTheDatabaseChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	waitingPlan(p)
	h := p.open("--agent", "teller")
	h.do("planloop_status", arguments{})
	before := p.revision()
	db := p.otherConnection("ro")
	var phase string
	if err := db.QueryRow(`SELECT phase FROM record ORDER BY seq DESC LIMIT 1`).Scan(&phase); err != nil || phase != "submitted" {
		t.Errorf("the phase is %q, %v", phase, err)
	}
	for _, statement := range []string{
		`UPDATE record SET phase = 'executing'`, `DELETE FROM record`,
		`INSERT INTO record SELECT seq + 1, 'inactive', hash, body FROM record ORDER BY seq DESC LIMIT 1`, `PRAGMA user_version = 99`,
	} {
		if _, err := db.Exec(statement); err == nil {
			t.Errorf("%s was done by a connection that only reads", statement)
		}
	}
	if got := h.do("planloop_status", arguments{}); !strings.Contains(got.text, "awaiting_approval") {
		t.Error(got.text)
	}
	h.leave()
	if now := p.revision(); now != before {
		t.Errorf("revision %d became %d", before, now)
	}
	undecided(t, p)
	p.sound()
}

// TestForgedRowsAreNoticed edits the log by hand to forge an approval. Doctor detects each forgery; one at the end of the log, where the
// phase is read, is detected on opening, before any change relies on it.
func TestForgedRowsAreNoticed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement string
		atOnce    bool // the next command notices
	}{
		"the last body": {`UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'unsupported', 'approved by') AS BLOB) WHERE seq ` +
			`= (SELECT max(seq) FROM record)`, true},
		"the reason": {`UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'it is large', 'it is small') AS BLOB) WHERE ` +
			`seq = 2`, false},
		"a record removed": {`DELETE FROM record WHERE seq = 2`, false},
		"an approval": {`INSERT INTO record SELECT seq + 1, 'executing', hash,
			CAST('{"seq":' || (seq + 1) || ',"action":"approve_plan",` +
			`"actor":{"kind":"person","name":"petra"},"time":"2026-01-01T00:00:00Z","phase":"executing",` +
			`"events":[{"kind":"plan_approved",` +
			`"approval":{"by":"petra","way":"person","digest":"x","at":"2026-01-01T00:00:00Z"}}]}' AS BLOB)
			FROM record ORDER BY seq DESC LIMIT 1`, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			waitingPlan(p)
			p.must("show")
			db := p.otherConnection("rw")
			result, err := db.Exec(c.statement)
			testenv.Check(t, err)
			if n, err := result.RowsAffected(); err != nil || n != 1 {
				t.Fatalf("%d rows, %v", n, err)
			}
			testenv.Check(t, db.Close())
			got := p.run("doctor")
			if got.code != 1 || !strings.Contains(got.out, "damaged") {
				t.Errorf("doctor: exit code %d\n%s%s", got.code, got.out, got.err)
			}
			if !c.atOnce {
				return
			}
			for _, args := range [][]string{{"status"}, {"plan", "status"}, {"start", "Go on", "--step", "x"}} {
				got := p.run(args...)
				if got.code == 0 || !strings.Contains(got.err+got.out, "doctor") {
					t.Errorf("planloop %q: exit code %d\n%s%s", args, got.code, got.out, got.err)
				}
			}
			h := p.open("--agent", "teller")
			if text := h.refusal("planning_mark_step", arguments{"step_id": "S001", "status": "done"}); !strings.Contains(text, "doctor") {
				t.Error(text)
			}
			h.leave()
		})
	}
}

// TestForgedPhaseColumn edits only the column that a hook reads. This is detected before any change, and a repair loses nothing.
func TestForgedPhaseColumn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	waitingPlan(p)
	db := p.otherConnection("rw")
	if _, err := db.Exec(`UPDATE record SET phase = 'executing'`); err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, db.Close())
	h := p.open("--agent", "teller")
	h.refusal("planning_mark_step", arguments{"step_id": "S001", "status": "done"})
	h.leave()
	if got := p.run("doctor"); got.code != 1 || !strings.Contains(got.out, "phase") {
		t.Errorf("doctor: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	if got := p.run("doctor", "--repair"); got.code != 0 {
		t.Fatalf("repair: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	undecided(t, p)
	p.sound()
	if got := p.run("plan", "status"); !strings.Contains(got.out, "submitted") {
		t.Errorf("after the repair: %s%s", got.out, got.err)
	}
}
