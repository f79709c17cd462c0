package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestDoctorAdvises: for each state of a log doctor says what to do next, and it recommends a repair only for damage.
func TestDoctorAdvises(t *testing.T) {
	t.Parallel()
	settled := func(t *testing.T) *place { return settledPlace(t, 6) }
	others := func(t *testing.T) *place {
		p := newPlace(t)
		p.unprivileged()
		setUp(p, 2)
		return p
	}
	mode := func(name string, mode os.FileMode) func(*testing.T, *place) {
		return func(t *testing.T, p *place) { p.chmod(filepath.Join(p.stateDir(), name), mode) }
	}
	for name, c := range map[string]struct {
		place  func(*testing.T) *place
		bring  func(*testing.T, *place) // into the state
		code   int
		status string
		words  []string
	}{
		"sound": {settled, func(*testing.T, *place) {}, 0, "sound", nil},
		"none":  {newTestPlace, func(*testing.T, *place) {}, 0, "empty", nil},
		"damaged": {settled, func(t *testing.T, p *place) { execute(t, p.database(), `DELETE FROM record WHERE seq = 3`) }, 1, "damaged",
			[]string{"Run `planloop doctor --repair`", "2 intact changes", "keeps the damaged files"}},
		"a foreign file": {settled, func(t *testing.T, p *place) {
			rewrite(t, p.database(), func([]byte) []byte { return []byte(strings.Repeat("a letter ", 2000)) })
		}, 1, "damaged", []string{"not a database", "Run `planloop doctor --repair`"}},
		"another program's": {settled, func(t *testing.T, p *place) { execute(t, p.database(), `PRAGMA application_id = 7`) }, 1, "damaged",
			[]string{"another application's", "Run `planloop doctor --repair`"}},
		"newer": {settled, func(t *testing.T, p *place) { execute(t, p.database(), `PRAGMA user_version = 2`) }, 1, "newer",
			[]string{"Update planloop"}},
		"broken off": {settled, func(t *testing.T, p *place) {
			testenv.Check(t, os.Mkdir(filepath.Join(p.stateDir(), "exchange"), 0o700))
		}, 1, "damaged", []string{"repair or restoration was interrupted", "Run `planloop doctor --repair` to finish"}},
		"full disk": {func(t *testing.T) *place { p := smallDisk(t); setUp(p, 2); return p }, func(t *testing.T, p *place) {
			fill(t, filepath.Join(p.home, "filler"))
		}, 0, "sound", []string{"disk is full", "free some space"}},
		"read-only": {others, mode(".", 0o500), 0, "sound", []string{"is read-only", "writable by you"}},
		"no permission for the folder": {others, mode(".", 0), 1, "unexamined",
			[]string{"permission denied", "Make the state folder and its files yours to read and write"}},
		"no permission for the file": {others, mode("plan.db", 0), 1, "unexamined",
			[]string{"plan.db", "Make the state folder and its files yours to read and write"}},
		"a link": {settled, func(t *testing.T, p *place) {
			elsewhere := filepath.Join(p.home, "plan.db")
			testenv.Check(t, os.Rename(p.database(), elsewhere))
			testenv.Check(t, os.Symlink(elsewhere, p.database()))
		}, 1, "unexamined", []string{"is a link", "move it away"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.place(t)
			c.bring(t, p)
			before := fingerprint(t, p.database())
			got := p.run("doctor", "--json")
			var found struct {
				Status   string `json:"status"`
				Advice   string `json:"advice"`
				Problems []struct {
					Text string `json:"text"`
				} `json:"problems"`
			}
			if err := json.Unmarshal([]byte(got.out), &found); err != nil || got.code != c.code || found.Status != c.status {
				t.Errorf("doctor: exit code %d, %v\n%s%s", got.code, err, got.out, got.err)
			}
			if !containsAll(got.out, c.words) || c.code != 0 && found.Advice == "" {
				t.Errorf("doctor says:\n%s", got.out)
			}
			if c.status != "damaged" && strings.Contains(got.out, "--repair") {
				t.Errorf("doctor advises a repair:\n%s", got.out)
			}
			if fingerprint(t, p.database()) != before {
				t.Error("looking has changed the log")
			}
			if c.status == "unexamined" || name == "broken off" { // by an empty folder, which is not planloop's
				want := map[bool]string{true: "nothing was changed", false: "move it away"}[c.status == "unexamined"]
				if got := p.run("doctor", "--repair"); got.code != 1 || !strings.Contains(got.err, want) ||
					fingerprint(t, p.database()) != before {
					t.Errorf("doctor --repair: exit code %d\n%s%s", got.code, got.out, got.err)
				}
			}
		})
	}
}

func newTestPlace(t *testing.T) *place { return newPlace(t) }

// TestDoctorOfALockedLog: a held lock is not damage either.
func TestDoctorOfALockedLog(t *testing.T) {
	t.Parallel()
	p := settledPlace(t, 3)
	lock, err := os.OpenFile(filepath.Join(p.stateDir(), "lock"), os.O_RDWR, 0)
	testenv.Check(t, err)
	defer lock.Close()
	testenv.Check(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	if got := p.run("doctor"); got.code != 1 || !containsAll(got.out, []string{"locked by another process", "end the process that holds"}) {
		t.Errorf("doctor: exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// TestRestore puts back exactly the files that a repair has put aside, byte for byte.
func TestRestore(t *testing.T) {
	t.Parallel()
	p := settledPlace(t, 15)
	execute(t, p.database(), `DELETE FROM record WHERE seq = 7`)
	damagedAs := fingerprint(t, p.database())
	p.must("doctor", "--repair")
	folder := keptIn(t, p)
	repairedTo := p.must("log", "--json", "-n", "0")

	for _, wrong := range []string{"nonsense", p.workspace, filepath.Dir(folder), "growth"} {
		if got := p.run("doctor", "--restore", wrong); got.code != 2 || !containsAll(got.err, []string{folder, "nothing was changed"}) {
			t.Errorf("restore %s: exit code %d\n%s%s", wrong, got.code, got.out, got.err)
		}
	}
	other := settledPlace(t, 3)
	execute(t, other.database(), `DELETE FROM record WHERE seq = 2`)
	other.must("doctor", "--repair")
	foreign := filepath.Join(p.stateDir(), "damaged-20200101T000000Z-1")
	testenv.Check(t, os.CopyFS(foreign, os.DirFS(keptIn(t, other))))
	p.private(t)
	if got := p.run("doctor", "--restore", foreign); got.code != 1 ||
		!containsAll(got.err, []string{"of this workspace", "nothing was changed"}) {
		t.Errorf("restore another workspace's: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	h := p.open()
	h.do("planning_read_plan", arguments{})
	if got := p.run("doctor", "--restore", folder); got.code != 1 || !strings.Contains(got.err, "end the servers") {
		t.Errorf("restore under a server: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	h.leave()
	if got := p.must("log", "--json", "-n", "0"); got != repairedTo {
		t.Errorf("a restoration that was refused has changed the log:\n%s", got)
	}

	if got := p.run("doctor", "--restore", folder); got.code != 1 || !strings.Contains(got.out, "are back") {
		t.Errorf("restore: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	if fingerprint(t, p.database()) != damagedAs {
		t.Error("another log was put back")
	}
	replaced, err := filepath.Glob(filepath.Join(p.stateDir(), "replaced-*"))
	if err != nil || len(replaced) != 1 {
		t.Fatalf("what stood there is in %v, %v", replaced, err)
	}
	p.must("doctor", "--restore", replaced[0]) // and back again
	if got := p.must("log", "--json", "-n", "0"); got != repairedTo {
		t.Errorf("restored the other way:\n%s", got)
	}
	p.goesOn(t)
}
