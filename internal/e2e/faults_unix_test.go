//go:build unix

package e2e_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// nobody is an unprivileged user; only root can switch to it.
const nobody = 65534

// unprivileged runs the processes of a place as an unprivileged user if the tests run as root, since file modes do not stop root.
func (p *place) unprivileged() {
	p.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	p.prepare = func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	for _, dir := range []string{p.workspace, p.home, p.temp} {
		p.give(dir, nobody)
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
}

// give changes the owner of a folder and its content.
func (p *place) give(dir string, user int) {
	p.t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, user, user)
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// chmod sets the mode of a folder, and if asked of all files in it; at the end of the test they can be deleted again.
func (p *place) chmod(dir string, mode fs.FileMode) {
	p.t.Helper()
	if err := os.Chmod(dir, mode); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
}

// TestReadOnlyFolder has a read-only state folder: reading works, writing says what to do.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.unprivileged()
	setUp(p, 2)
	p.must("step", "mark", "S001", "in_progress", "--note", "before")
	p.chmod(filepath.Join(p.stateDir(), "growth"), 0o500)
	p.chmod(p.stateDir(), 0o500)
	for _, name := range []string{"lock", "plan.db", "plan.db-wal", "plan.db-shm", "growth/head"} {
		if err := os.Chmod(filepath.Join(p.stateDir(), name), 0o400); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	before := fingerprint(t, p.database())
	p.readOnly(t)
	if got := p.must("show"); !strings.Contains(got, "Step number 1") {
		t.Errorf("the plan that is shown:\n%s", got)
	}
	if got := p.run("doctor"); got.code != 0 {
		t.Errorf("doctor: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	if after := fingerprint(t, p.database()); after != before {
		t.Error("the log was changed")
	}
	for _, name := range []string{"lock", "plan.db", "plan.db-wal", "plan.db-shm", "growth/head", "."} {
		if err := os.Chmod(filepath.Join(p.stateDir(), name), 0o700); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	testenv.Check(t, os.Chmod(filepath.Join(p.stateDir(), "growth"), 0o700))
	p.goesOn(t)
}

// TestReadOnlyHome has no place to create a log in.
func TestReadOnlyHome(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.unprivileged()
	p.chmod(p.home, 0o500)
	if got := p.run("start", "x", "--step", "y"); got.code != 1 || !strings.Contains(got.err, "writable") {
		t.Errorf("setup: exit code %d\n%s", got.code, got.err)
	}
	h := p.open()
	if text := h.refusal("planning_setup_plan", arguments{"objective": "x"}); !strings.Contains(text, "cannot be written") || leaks(text,
		p) {
		t.Errorf("planning_setup_plan says: %s", text)
	}
	h.refusal("planning_read_plan", arguments{})
}

// readOnly checks the errors of writing where that is impossible.
func (p *place) readOnly(t *testing.T) {
	t.Helper()
	h := p.open()
	if text := h.refusal("planning_mark_step", arguments{"step_id": "S002", "status": "done"}); !strings.Contains(text,
		"cannot be written") || leaks(text, p) {
		t.Errorf("planning_mark_step says: %s", text)
	}
	h.do("planning_read_plan", arguments{})
	for _, args := range [][]string{{"step", "mark", "S002", "done"}, {"start", "x", "--step", "y"}, {"clear"}} {
		if got := p.run(args...); got.code != 1 || got.out != "" || !strings.Contains(got.err, "writable") {
			t.Errorf("%v: exit code %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
}

// TestFolderThatOthersControl is refused: another user could have changed its content.
func TestFolderThatOthersControl(t *testing.T) {
	t.Parallel()
	t.Run("world-writable", func(t *testing.T) {
		p := newPlace(t)
		setUp(p, 3)
		p.chmod(p.stateDir(), 0o777)
		p.untrusted(t, p.stateDir(), "chmod go-w")
		p.chmod(p.stateDir(), 0o700)
		p.goesOn(t)
	})
	t.Run("world-writable file", func(t *testing.T) {
		p := newPlace(t)
		setUp(p, 3)
		p.chmod(p.database(), 0o666)
		p.untrusted(t, p.database(), "chmod go-w")
		for _, name := range []string{p.database(), p.database() + "-wal", p.database() + "-shm"} {
			if err := os.Chmod(name, 0o600); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		p.goesOn(t)
	})
	t.Run("link", func(t *testing.T) {
		p := newPlace(t)
		setUp(p, 3)
		elsewhere := filepath.Join(t.TempDir(), "plan.db")
		testenv.Check(t, os.Rename(p.database(), elsewhere))
		testenv.Check(t, os.Symlink(elsewhere, p.database()))
		p.untrusted(t, p.database(), "link")
	})
	t.Run("another user's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a folder to somebody else")
		}
		p := newPlace(t)
		setUp(p, 3)
		p.give(p.stateDir(), nobody)
		p.untrusted(t, p.stateDir(), "belongs to user")
	})
}

// untrusted checks the errors about an untrusted folder.
func (p *place) untrusted(t *testing.T, words ...string) {
	t.Helper()
	before := fingerprint(t, p.database())
	for _, args := range [][]string{{"step", "mark", "S002", "done"}, {"show"}, {"log"}} {
		if got := p.run(args...); got.code != 1 || got.out != "" || !containsAll(got.err, words) {
			t.Errorf("%v: exit code %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
	h := p.open()
	for tool, args := range map[string]arguments{"planning_mark_step": {"step_id": "S002", "status": "done"}, "planning_read_plan": {}} {
		// The error names the person to ask, but reveals no file paths to a model.
		if text := h.refusal(tool, args); !strings.Contains(text, "planloop doctor") || leaks(text, p) {
			t.Errorf("%s says: %s", tool, text)
		}
	}
	if got := p.run("doctor"); !containsAll(got.out+got.err, words) {
		t.Errorf("doctor does not tell: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	if after := fingerprint(t, p.database()); after != before {
		t.Error("the log was changed")
	}
}
