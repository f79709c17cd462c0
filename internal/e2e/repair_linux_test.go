package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestRepairIsBrokenOff ends a repair, and then its undoing, at one system call after another, by an error and by a kill. The remaining
// state is recognizable, a second run continues, and the damaged files are kept byte for byte.
func TestRepairIsBrokenOff(t *testing.T) {
	t.Parallel()
	needFaults(t)
	original := settledPlace(t, 15)
	execute(t, original.database(), `UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'mark 5', 'mark 6') AS BLOB) WHERE seq = 7`)
	damagedAs := fingerprint(t, original.database())
	repaired := *original
	repaired.home = filepath.Join(t.TempDir(), "repaired")
	testenv.Check(t, os.CopyFS(repaired.home, os.DirFS(original.home)))
	repaired.env = append(repaired.env[:len(repaired.env):len(repaired.env)], "XDG_STATE_HOME="+repaired.home)
	repaired.private(t)
	repaired.must("doctor", "--repair")
	folder := filepath.Base(keptIn(t, &repaired))
	stride, calls := 4, "linkat renameat unlinkat"
	if os.Getenv(faultsVariable) == "all" {
		stride, calls = 1, calls+" openat mkdirat pwrite64 pread64 fsync write"
	}
	for call := range strings.FieldsSeq(calls) {
		for _, what := range []string{"error=EIO", "signal=SIGKILL"} {
			t.Run(call+" "+what, func(t *testing.T) {
				t.Parallel()
				where, runs := t.TempDir(), 0
				for n := 1; ; n += stride {
					i, when := injection{call, what}, fmt.Sprint(n)
					repair := strain(t, original, where, i, when)
					first := repair.run("doctor", "--repair")
					met := repair.injected() || first.code < 0
					repair.goesOnAfter(t, fmt.Sprint(i, " at ", n), damagedAs, first)
					restore := strain(t, &repaired, where, i, when)
					second := restore.run("doctor", "--restore", folder)
					restore.restoredAfter(t, fmt.Sprint(i, " at ", n), folder, damagedAs, second)
					if !met && !restore.injected() && second.code >= 0 {
						break
					}
					runs++
				}
				t.Logf("%d faults", runs)
			})
		}
	}
}

func keptIn(t *testing.T, p *place) string {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(p.stateDir(), "damaged-*"))
	if err != nil || len(kept) == 0 {
		t.Fatalf("nothing is kept: %v", err)
	}
	return kept[0]
}

// goesOnAfter repairs again after a repair that may have been interrupted.
func (s *strained) goesOnAfter(t *testing.T, what, damagedAs string, first outcome) {
	t.Helper()
	s.prepare = nil
	if show := s.run("show"); show.code != 0 && (show.code != 1 || !strings.Contains(show.err, "planloop doctor")) {
		t.Errorf("%s: show: exit code %d\n%s%s\nthe repair said: %s", what, show.code, show.out, show.err, first.out+first.err)
	}
	if got := s.run("doctor", "--repair"); got.code != 0 {
		t.Fatalf("%s: repair again: exit code %d\n%s%s\nthe first said: %s", what, got.code, got.out, got.err, first.out+first.err)
	}
	if !strings.Contains(kept(t, s.place), damagedAs) || len(s.records(0)) != 6 {
		t.Fatalf("%s: %d records, want 6, or another log is kept\nthe first said: %s", what, len(s.records(0)), first.out+first.err)
	}
	s.sound()
	if found := files(t, s.stateDir()); strings.Contains(found, "exchange") {
		t.Errorf("%s left:\n%s", what, found)
	}
}

// restoredAfter restores again after a restoration that may have been interrupted.
func (s *strained) restoredAfter(t *testing.T, what, folder, damagedAs string, first outcome) {
	t.Helper()
	s.prepare = nil
	for range 3 {
		found := s.run("doctor")
		if fingerprint(t, s.database()) == damagedAs && !strings.Contains(found.out, "broken off") {
			break
		}
		s.run("doctor", "--restore", folder)
	}
	got := s.run("doctor")
	if fingerprint(t, s.database()) != damagedAs || got.code != 1 || !strings.Contains(got.out, "damaged; 6 changes") {
		t.Fatalf("%s: restore again: exit code %d\n%s%s\nthe first said: %s", what, got.code, got.out, got.err, first.out+first.err)
	}
	if found := files(t, s.stateDir()); strings.Contains(found, filepath.Join(s.stateDir(), "exchange")+"\n") ||
		!strings.Contains(found, "replaced-") {
		t.Errorf("%s left:\n%s", what, found)
	}
}
