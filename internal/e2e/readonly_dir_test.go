package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// at returns the same user in another directory, a work tree.
func (p *place) at(dir string, env ...string) *place {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	other := *p
	other.workspace, other.env = dir, append(slices.Clone(p.env), env...)
	return &other
}

// TestNothingIsWrittenIntoAHeldDirectory: while planning mode covers a directory, none of our tools and commands writes there, whichever
// workspace they are pointed at. Outside it they do.
func TestNothingIsWrittenIntoAHeldDirectory(t *testing.T) {
	t.Parallel()
	parent := newPlace(t)
	held := parent.at(filepath.Join(parent.workspace, "held"))
	nested := parent.at(filepath.Join(held.workspace, "sub", "nested"))
	apart := parent.at(t.TempDir())
	held.write("f", "one\n")
	held.write("old.md", "one\n")
	for name, to := range map[string]string{"link": held.workspace, "new.md": filepath.Join(held.workspace, "made.md"),
		"file.md": filepath.Join(held.workspace, "old.md")} {
		for _, dir := range []string{parent.workspace, apart.workspace} {
			if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
		}
	}
	apart.must("start", "A plan to export")
	held.must("plan", "start", "look first", "--agent", "planner")

	tools := []string{"--toolsets", "planning,workspace"}
	inParent, inNested, inApart := parent.open(tools...), nested.open(tools...), apart.open(tools...)
	for _, path := range []string{"held/new", "held/sub/new", "link/new", "./held/../held/new", "held/sub/nested/new"} {
		if got := inParent.refusal("create_file", arguments{"path": path, "content": "x"}); !strings.Contains(got, "planning mode in") ||
			path != "link/new" && !strings.Contains(got, held.workspace) {
			if path != "link/new" || !strings.Contains(got, "leads out") { // an absolute link is refused as a link
				t.Errorf("%s: %s", path, got)
			}
		}
	}
	inParent.refusal("str_replace", arguments{"path": "held/f", "old": "one", "new": "two"})
	for h, why := range map[*host]string{inParent: "lies below", inNested: "lies in it"} {
		if got := h.refusal("bash_execute", arguments{"command": "touch made"}); !strings.Contains(got, "planning mode in") {
			t.Errorf("%s: %s", why, got)
		}
		if got := h.do("bash_execute", arguments{"command": "ls"}); !strings.Contains(got.text, "Exit code 0") {
			t.Errorf("%s: %s", why, got.text)
		}
	}
	inNested.refusal("create_file", arguments{"path": "new", "content": "x"})
	inParent.do("create_file", arguments{"path": "free/new", "content": "x"})
	inApart.do("create_file", arguments{"path": "new", "content": "x"})
	inApart.do("bash_execute", arguments{"command": "touch made"})

	for _, c := range []struct {
		in   *place
		args []string
	}{
		{nested, []string{"sync"}},
		{apart, []string{"export", "-o", filepath.Join(held.workspace, "plan.json")}},
		{apart, []string{"export", "-o", filepath.Join(held.workspace, "sub", "..", "old.md")}},
		{apart, []string{"export", "-o", "link/plan.json"}},
		{apart, []string{"export", "-o", "new.md"}},
		{apart, []string{"export", "-o", "file.md"}},
		{held, []string{"export", "-C", apart.workspace, "-o", "plan.json"}},
		{held, []string{"check", "-C", apart.workspace, "--id", "x", "--", "touch", "made"}},
		{held, []string{"sync"}},
		{nested, []string{"check", "--id", "x", "--", "touch", "made"}},
	} {
		got := c.in.run(append(c.args, "--agent", "other")...)
		if got.code != 2 || !strings.Contains(got.err, "Planning mode is read-only") {
			t.Errorf("%v: exit %d, %s%s", c.args, got.code, got.out, got.err)
		}
	}
	apart.must("export", "-o", "plan.json", "--agent", "other")
	apart.must("export", "-o", "-", "--agent", "other")
	apart.must("check", "--id", "x", "--agent", "other", "--", "true")

	var found []string
	_ = filepath.WalkDir(held.workspace, func(path string, entry os.DirEntry, _ error) error {
		if !entry.IsDir() {
			data, _ := os.ReadFile(path)
			found = append(found, fmt.Sprintf("%s %q", entry.Name(), data))
		}
		return nil
	})
	if want := `[f "one\n" old.md "one\n"]`; fmt.Sprint(found) != want {
		t.Errorf("%v, not %s", found, want)
	}
}

// TestAnotherStateFolderHidesNothing: a server with any state folder sees the user's own states.
func TestAnotherStateFolderHidesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the place of states is another one here")
	}
	t.Parallel()
	p := newPlace(t)
	p.env = slices.DeleteFunc(p.env, func(entry string) bool { return strings.HasPrefix(entry, "XDG_STATE_HOME=") })
	p.must("plan", "start", "look first", "--agent", "planner")
	other := p.at(p.workspace, "XDG_STATE_HOME="+t.TempDir()).open("--toolsets", "planning,workspace")
	if got := other.refusal("create_file", arguments{"path": "new", "content": "x"}); !strings.Contains(got, "planning mode in") {
		t.Error(got)
	}
}

// TestAHomeHoldsNothingBelow: planning mode of the default workspace or of a home directory does not restrict projects below it.
func TestAHomeHoldsNothingBelow(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var home string
	for _, entry := range p.env {
		if dir, ok := strings.CutPrefix(entry, "HOME="); ok {
			home = dir
		}
	}
	atHome := *p
	atHome.workspace = home
	project := p.at(filepath.Join(home, "project"))
	project.must("start", "The project")
	atHome.must("plan", "start", "look first", "--agent", "planner")
	atHome.must("plan", "start", "look first", "--agent", "planner", "-C", home)
	h := project.open("--toolsets", "planning,workspace")
	h.do("create_file", arguments{"path": "new", "content": "x"})
	h.do("bash_execute", arguments{"command": "echo x > made"})
	project.must("sync", "--agent", "other")
	project.must("check", "--id", "x", "--agent", "other", "--", "true")
	named := atHome.open("--toolsets", "planning,workspace", "-C", home)
	named.refusal("create_file", arguments{"path": "new", "content": "x"})
}

// TestACommandEndsWhenADirectoryBelowIsHeld: a command in the parent could write there.
func TestACommandEndsWhenADirectoryBelowIsHeld(t *testing.T) {
	t.Parallel()
	parent := newPlace(t)
	below := parent.at(filepath.Join(parent.workspace, "below"))
	below.must("start", "Known")
	h := parent.open("--toolsets", "planning,workspace")
	const command = "echo begun; echo x >up; until [ -e never ]; do sleep 0.01; done"
	sent, err := h.askTool("bash_execute", arguments{"command": command, "timeout": 500})
	testenv.Check(t, err)
	for _, err := os.Stat(filepath.Join(parent.workspace, "up")); err != nil; _, err = os.Stat(filepath.Join(parent.workspace, "up")) {
		runtime.Gosched()
	}
	below.must("plan", "start", "look first", "--agent", "planner")
	answered(t, sent, "begun", "planning mode was entered")
}

// answered fails unless a tool's reply contains some words, both in its text and in its structured content.
func answered(t *testing.T, sent pending, words ...string) {
	t.Helper()
	frame, err := sent.wait()
	testenv.Check(t, err)
	reply, err := frame.asTool()
	for _, word := range words {
		if err != nil || reply.refused || !strings.Contains(reply.text, word) {
			t.Errorf("%s, %v", reply.text, err)
		}
	}
}
