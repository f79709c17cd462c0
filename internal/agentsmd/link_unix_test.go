//go:build unix

package agentsmd_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/internal/testenv"
)

func link(t *testing.T, dir, to, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	testenv.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.Check(t, os.Symlink(to, path))
}

func requireLink(t *testing.T, dir, name, to string) {
	t.Helper()
	if got, err := os.Readlink(filepath.Join(dir, name)); err != nil || got != to {
		t.Errorf("%s links to %q, %v, want %q", name, got, err, to)
	}
}

func TestLinksAreFollowed(t *testing.T) {
	own := block(t)
	for name, c := range map[string]struct {
		links  map[string]string
		text   string // of the target, or ""
		target string
		after  string
	}{
		"to a file":         {map[string]string{agents: "../AGENTS.md"}, "a\n", "AGENTS.md", "a\n\n" + own + "\n"},
		"to none yet":       {map[string]string{agents: "../new/AGENTS.md"}, "", "new/AGENTS.md", own + "\n"},
		"of a folder":       {map[string]string{"docs": "texts"}, "a\n", "texts/agents.md", "a\n\n" + own + "\n"},
		"of a folder, none": {map[string]string{"docs": "texts"}, "", "texts/agents.md", own + "\n"},
		"through the root":  {map[string]string{agents: "./.././docs/../AGENTS.mdc"}, "a\n", "AGENTS.mdc", "a\n\n" + own + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for from, to := range c.links {
				link(t, dir, to, from)
			}
			if c.text != "" {
				put(t, dir, c.target, c.text)
			}
			result := write(t, dir, canonical)
			if result.Target != c.target || result.File != agents {
				t.Errorf("%+v", result)
			}
			requireFile(t, dir, c.target, c.after)
			for from, to := range c.links {
				requireLink(t, dir, from, to)
			}
			if found := inspect(t, dir); found.State != agentsmd.InSync || found.Target != c.target {
				t.Errorf("%+v", found)
			}
			remove(t, dir)
			if c.text != "" {
				requireFile(t, dir, c.target, c.text)
			} else if _, err := os.Stat(filepath.Join(dir, c.target)); !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		})
	}
}

func TestLinksThatAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "a.md", "theirs\n")
	for name, links := range map[string]map[string]string{
		"absolute":              {agents: filepath.Join(outside, "a.md")},
		"out":                   {agents: "../../a.md"},
		"out and in again":      {agents: "../../ws/a.md"},
		"out by a folder":       {"docs": ".."},
		"out to nothing":        {agents: "../gone/../../../a.md"},
		"out by an absolute":    {"docs": outside},
		"to a link":             {agents: "../b.md", "b.md": "c.md"},
		"to itself":             {agents: "agents.md"},
		"of a folder and file":  {"docs": "deep/texts", "deep/texts/agents.md": "../AGENTS.md"},
		"to one in a link":      {agents: "../texts/c.md", "texts": "deep"},
		"of two folders":        {"docs": "deep/texts", "deep": "deeper"},
		"in a circle":           {"docs": "texts", "texts": "docs"},
		"to what is run":        {agents: "../Makefile"},
		"into .git":             {agents: "../.git/a.md"},
		"into .git by a folder": {"docs": ".GIT/hooks"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ws")
			for from, to := range links {
				link(t, dir, to, from)
			}
			put(t, dir, "c.md", "ours\n")
			found := inspect(t, dir)
			if found.State != agentsmd.Outside || found.Refusal == nil || found.Content != nil {
				t.Errorf("%+v", found)
			}
			_, err := agentsmd.Write(dir, agents, canonical, false)
			requireRefusal(t, err, agentsmd.Outside)
			_, err = agentsmd.Remove(dir, agents, false)
			requireRefusal(t, err, agentsmd.Outside)
			requireFile(t, outside, "a.md", "theirs\n")
			requireFile(t, dir, "c.md", "ours\n")
			requireOnly(t, outside, "a.md")
		})
	}
}

// Opening a pipe would block forever.
func TestPipesAreNotOpened(t *testing.T) {
	dir := workspace(t, "")
	path := filepath.Join(dir, "docs", "agents.md")
	testenv.Check(t, os.Remove(path))
	testenv.Check(t, syscall.Mkfifo(path, 0o644))
	if found := inspect(t, dir); found.State != agentsmd.Unreadable {
		t.Errorf("%+v", found)
	}
}

// A hard link to the former file keeps its content: nothing is written in place.
func TestFilesAreReplacedAtOnce(t *testing.T) {
	dir := workspace(t, "a\n")
	path := filepath.Join(dir, "docs", "agents.md")
	testenv.Check(t, os.Link(path, filepath.Join(dir, "second.md")))
	write(t, dir, canonical)
	requireFile(t, dir, "second.md", "a\n")
}

// An error of the file system is a refusal with a reason, and changes nothing.
func TestPermissions(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("a privileged user may read and write everything")
	}
	dir := workspace(t, "a\n")
	docs := filepath.Join(dir, "docs")
	path := filepath.Join(docs, "agents.md")
	chmod(t, path, 0o200)
	if found := inspect(t, dir); found.State != agentsmd.Unreadable {
		t.Errorf("%+v", found)
	}
	chmod(t, path, 0o464)
	_, err := agentsmd.Write(dir, agents, canonical, false)
	requireRefusal(t, err, agentsmd.ReadOnly)
	chmod(t, path, 0o644)
	chmod(t, docs, 0o555)
	defer chmod(t, docs, 0o755)
	_, err = agentsmd.Write(dir, agents, canonical, false)
	requireRefusal(t, err, agentsmd.ReadOnly)
	_, err = agentsmd.Write(dir, "docs/new/agents.md", canonical, false)
	requireRefusal(t, err, agentsmd.ReadOnly)
	requireFile(t, dir, agents, "a\n")
	requireOnly(t, dir, agents)
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	testenv.Check(t, os.Chmod(path, mode))
}

// TestPermissionsAsNobody runs TestPermissions as an unprivileged user if the tests run as root.
func TestPermissionsAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs a privileged user")
	}
	dir := testenv.Must(os.MkdirTemp("", "planloop"))(t)
	defer os.RemoveAll(dir)
	chmod(t, dir, 0o777)
	program := filepath.Join(dir, "agentsmd.test")
	copyProgram(t, program)
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestPermissions$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestPermissions") {
		t.Errorf("%v\n%s", err, output)
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	own := testenv.Must(os.Executable())(t)
	code := testenv.Must(os.ReadFile(own))(t)
	testenv.Check(t, os.WriteFile(to, code, 0o755))
}

// A privileged user must not change a file's owner.
func TestOwnersAreKept(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs a privileged user")
	}
	dir := workspace(t, "a\n")
	path := filepath.Join(dir, "docs", "agents.md")
	testenv.Check(t, os.Chown(path, 65534, 65533))
	write(t, dir, canonical)
	info := testenv.Must(os.Stat(path))(t)
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 65534 || stat.Gid != 65533 {
		t.Errorf("%d, %d", stat.Uid, stat.Gid)
	}
}
