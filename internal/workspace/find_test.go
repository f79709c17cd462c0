package workspace_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/adrg/xdg"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/workspace"
)

// world is a home, a project under version control and a folder without.
type world struct {
	home, repo, deep, linked, bare, state string
}

func newWorld(t *testing.T) world {
	t.Helper()
	top := testenv.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	w := world{
		home: filepath.Join(top, "home"), state: filepath.Join(top, "state"),
		repo: filepath.Join(top, "home", "My Repo"), deep: filepath.Join(top, "home", "My Repo", "a", "b"),
		linked: filepath.Join(top, "home", "linked"), bare: filepath.Join(top, "home", "bare"),
	}
	for _, dir := range []string{w.deep, filepath.Join(w.repo, ".git", "refs"), filepath.Join(w.linked, "sub"), w.bare} {
		testenv.Check(t, os.MkdirAll(dir, 0o755))
	}
	write(t, filepath.Join(w.linked, ".git"), "gitdir: elsewhere\n")
	return w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testenv.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o644))
}

func (w world) lookup(cwd string, env map[string]string) workspace.Lookup {
	return workspace.Lookup{
		Home:   w.home,
		Getwd:  func() (string, error) { return cwd, nil },
		Getenv: getenv(env, "XDG_STATE_HOME", w.state),
	}
}

func getenv(env map[string]string, more ...string) func(string) string {
	all := map[string]string{}
	for i := 0; i+1 < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	for name, text := range env {
		all[name] = text
	}
	return func(name string) string { return all[name] }
}

func uri(path string) string {
	return "file://" + strings.ReplaceAll(filepath.ToSlash(path), " ", "%20")
}

func TestOrderOfPlaces(t *testing.T) {
	w := newWorld(t)
	tests := []struct {
		name, flag, cwd string
		env             map[string]string
		roots           []string
		want            string
	}{
		{name: "flag first", flag: w.bare, env: map[string]string{"PLANLOOP_WORKSPACE": w.repo, "CLAUDE_PROJECT_DIR": w.linked},
			roots: []string{uri(w.repo)}, cwd: w.deep, want: w.bare},
		{name: "then the variable", env: map[string]string{"PLANLOOP_WORKSPACE": w.bare, "CLAUDE_PROJECT_DIR": w.linked},
			roots: []string{uri(w.repo)}, cwd: w.deep, want: w.bare},
		{name: "then the host's variable", env: map[string]string{"CLAUDE_PROJECT_DIR": w.bare}, roots: []string{uri(w.repo)},
			cwd: w.linked, want: w.bare},
		{name: "then its only root", roots: []string{uri(w.repo)}, cwd: w.linked, want: w.repo},
		{name: "then the work tree", cwd: w.deep, want: w.repo},
		{name: "also from inside .git", cwd: filepath.Join(w.repo, ".git", "refs"), want: w.repo},
		{name: "a linked work tree has a .git file", cwd: filepath.Join(w.linked, "sub"), want: w.linked},
		{name: "then the current directory", cwd: w.bare, want: w.bare},
		{name: "a named directory is not widened to its work tree", flag: w.deep, cwd: w.bare, want: w.deep},
		{name: "relative to the current directory", flag: "a/../a", cwd: w.repo, want: filepath.Join(w.repo, "a")},
		{name: "tilde", flag: "~/bare", cwd: w.repo, want: w.bare},
		{name: "an explicit home is obeyed", flag: w.home, cwd: w.repo, want: w.home},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := w.lookup(test.cwd, test.env)
			in.Flag, in.Roots = test.flag, test.roots
			got := testenv.Must(workspace.Find(in))(t)
			if got.Path != test.want || got.Default || got.Doubt != "" {
				t.Errorf("got %+v, want the path %s", got, test.want)
			}
			if got.Name != filepath.Base(test.want) {
				t.Errorf("name %q", got.Name)
			}
		})
	}
}

func TestDefaultWorkspace(t *testing.T) {
	w := newWorld(t)
	// Neither a home directory under version control nor a folder in it is a project.
	testenv.Check(t, os.Mkdir(filepath.Join(w.home, ".git"), 0o755))
	link := filepath.Join(filepath.Dir(w.home), "link")
	testenv.Check(t, os.Symlink(w.home, link))
	root := filepath.VolumeName(w.home) + string(filepath.Separator)
	tests := []struct {
		name, cwd, home string
		env             map[string]string
		roots           []string
	}{
		{name: "top", cwd: root},
		{name: "home", cwd: w.home},
		{name: "home through a link", cwd: link},
		{name: "home is a link", cwd: w.home, home: link},
		{name: "the host was started at home", cwd: w.bare, env: map[string]string{"CLAUDE_PROJECT_DIR": w.home}},
		{name: "the host's root is the top", cwd: w.bare, roots: []string{uri(root)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := w.lookup(test.cwd, test.env)
			in.Roots = test.roots
			if test.home != "" {
				in.Home = test.home
			}
			got := testenv.Must(workspace.Find(in))(t)
			if !got.Default || got.Name != "default" || got.StateDir != filepath.Join(w.state, "planloop", "default") {
				t.Errorf("got %+v", got)
			}
			if !strings.Contains(got.Doubt, "--workspace") || strings.Contains(got.Doubt, "\n") {
				t.Errorf("doubt %q", got.Doubt)
			}
		})
	}
	got, err := workspace.Find(w.lookup(w.bare, nil))
	if err != nil || got.Path != w.bare || got.Default {
		t.Errorf("a folder in a versioned home: %+v, %v", got, err)
	}
}

func TestOneStatePerDirectory(t *testing.T) {
	w := newWorld(t)
	link := filepath.Join(w.home, "link")
	testenv.Check(t, os.Symlink(w.repo, link))
	find := func(flag string) workspace.Workspace {
		t.Helper()
		in := w.lookup(w.bare, nil)
		in.Flag = flag
		got := testenv.Must(workspace.Find(in))(t)
		return got
	}
	want := find(w.repo)
	for _, other := range []string{link, link + "/", w.repo + "/a/..", filepath.Join(link, "a", "..", ".")} {
		if got := find(other); got != want {
			t.Errorf("%s: %+v, want %+v", other, got, want)
		}
	}
	if got := find(w.bare); got.StateDir == want.StateDir {
		t.Error("two directories share a state")
	}
	if base := filepath.Base(want.StateDir); !regexp.MustCompile(`^my-repo-[0-9a-f]{16}$`).MatchString(base) {
		t.Errorf("state folder %s", base)
	}
	if filepath.Dir(want.StateDir) != filepath.Join(w.state, "planloop") {
		t.Errorf("state folder in %s", filepath.Dir(want.StateDir))
	}
	if _, err := os.Stat(w.state); !errors.Is(err, os.ErrNotExist) {
		t.Error("finding a workspace wrote something")
	}
}

func TestPlacesThatCannotBe(t *testing.T) {
	w := newWorld(t)
	write(t, filepath.Join(w.bare, "file"), "")
	gone := errors.New("no such directory")
	tests := []struct {
		name, flag string
		env        map[string]string
		getwd      error
		want       []string
	}{
		{name: "missing", flag: "/no/such/dir", want: []string{"/no/such/dir", "--workspace", "does not exist", "create it"}},
		{name: "missing from the environment", env: map[string]string{"PLANLOOP_WORKSPACE": "/no/such"},
			want: []string{"PLANLOOP_WORKSPACE", "does not exist"}},
		{name: "a file", flag: filepath.Join(w.bare, "file"), want: []string{"not a directory"}},
		{name: "escapes in the name", flag: "/no/\x1b[31mred\u202e", want: []string{"/no/\\x1b[31mred\\u202e"}},
		{name: "a NUL", flag: "/no\x00/etc", want: []string{`/no\x00/etc`}},
		{name: "no current directory", getwd: gone, want: []string{"current directory", "--workspace"}},
		{name: "relative without a current directory", flag: "x", getwd: gone, want: []string{"current directory"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := w.lookup(w.bare, test.env)
			in.Flag = test.flag
			if test.getwd != nil {
				in.Getwd = func() (string, error) { return "", test.getwd }
			}
			got, err := workspace.Find(in)
			var refusal *workspace.ConfigError
			if !errors.As(err, &refusal) || got != (workspace.Workspace{}) {
				t.Fatalf("got %+v, %v", got, err)
			}
			requireParts(t, err.Error(), test.want)
		})
	}
}

func TestStateHome(t *testing.T) {
	own, err := workspace.StateHome(getenv(nil, "XDG_STATE_HOME", t.TempDir()), "")
	if err != nil || filepath.Base(own) != "planloop" {
		t.Errorf("%s, %v", own, err)
	}
	t.Setenv("XDG_STATE_HOME", "") // the library reads the process's environment
	xdg.Reload()
	home := t.TempDir()
	for _, text := range []string{"", "relative/dir"} {
		got, err := workspace.StateHome(getenv(nil, "XDG_STATE_HOME", text), home)
		if err != nil || !strings.HasPrefix(got, home) {
			t.Errorf("XDG_STATE_HOME=%q: %s, %v; want it below %s", text, got, err, home)
		}
	}
}

func TestNamesAreSafe(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]string{
		"Ünïcode Ω":                 `^n-code-[0-9a-f]{16}$`,
		"日本":                        `^workspace-[0-9a-f]{16}$`,
		"--..__":                    `^workspace-[0-9a-f]{16}$`,
		"a\n\x1b[31mb":              `^a-31mb-[0-9a-f]{16}$`,
		strings.Repeat("long-", 30): `^long-long-long-long-long-[0-9a-f]{16}$`,
	} {
		dir := filepath.Join(w.bare, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			if runtime.GOOS == "windows" && strings.Contains(name, "\n") {
				continue // no such name exists
			}
			t.Fatal(err)
		}
		got := testenv.Must(workspace.Find(w.lookup(dir, nil)))(t)
		if base := filepath.Base(got.StateDir); !regexp.MustCompile(want).MatchString(base) {
			t.Errorf("%q: state folder %q", name, base)
		}
		if strings.ContainsAny(got.Name, "\n\x1b") {
			t.Errorf("name %q", got.Name)
		}
	}
}

func TestMarker(t *testing.T) {
	dir := t.TempDir()
	w := workspace.Workspace{Path: "/home/ann/<code> & \"more\"\xff"}
	path := filepath.Join(dir, workspace.MarkerFile)
	// A link in its place is replaced, not followed.
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, victim, "kept")
	testenv.Check(t, os.Symlink(victim, path))
	for range 2 {
		testenv.Check(t, w.WriteMarker(dir))
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	text, _ := os.ReadFile(path)
	var got struct{ Path string }
	if err := json.Unmarshal(text, &got); err != nil || got.Path != "/home/ann/<code> & \"more\"\ufffd" {
		t.Errorf("%q reads %+v, %v", text, got, err)
	}
	if kept, _ := os.ReadFile(victim); string(kept) != "kept" {
		t.Errorf("the marker was written through a link: %q", kept)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMarkerIsLeftWhenItSaysTheSame(t *testing.T) {
	dir := t.TempDir()
	w := workspace.Workspace{Path: "/p"}
	testenv.Check(t, w.WriteMarker(dir))
	before, _ := os.Stat(filepath.Join(dir, workspace.MarkerFile))
	testenv.Check(t, w.WriteMarker(dir))
	after, _ := os.Stat(filepath.Join(dir, workspace.MarkerFile))
	if !os.SameFile(before, after) {
		t.Error("it was written again")
	}
}

func TestMarkerCreatesNoFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if err := (workspace.Workspace{Path: "/p"}).WriteMarker(missing); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the folder was made")
	}
}

// TestOverlapping: the workspaces that a path belongs to or contains.
func TestOverlapping(t *testing.T) {
	w := newWorld(t)
	in := w.lookup(w.bare, nil)
	for _, dir := range []string{w.home, w.repo, w.deep, w.bare} {
		in.Flag = dir
		place := testenv.Must(workspace.Find(in))(t)
		testenv.Check(t, os.MkdirAll(place.StateDir, 0o700))
		testenv.Check(t, place.WriteMarker(place.StateDir))
	}
	link := filepath.Join(w.bare, "link")
	dangling := filepath.Join(w.bare, "dangling")
	circle := filepath.Join(w.bare, "circle")
	for name, to := range map[string]string{link: w.deep, dangling: filepath.Join(w.repo, "new"), circle: circle} {
		if err := os.Symlink(to, name); err != nil {
			t.Skip(err)
		}
	}
	for path, want := range map[string][]string{
		w.deep:                          {w.deep, w.repo},
		filepath.Join(w.deep, "x", "y"): {w.deep, w.repo},
		filepath.Join(link, "new"):      {w.deep, w.repo},
		filepath.Join(dangling):         {w.repo},
		filepath.Join(dangling, "f"):    {w.repo},
		circle:                          {w.bare},
		filepath.Join(w.repo, "a"):      {w.repo, w.deep},
		filepath.Join(w.repo, "a2"):     {w.repo},
		w.repo + "2":                    nil, // a prefix of a name is not a parent
		filepath.Join(w.home, "other"):  nil, // a home contains nothing below it
		w.linked:                        nil, // it is unknown
		w.home:                          {w.repo, w.deep, w.bare},
	} {
		var got []string
		for _, place := range in.FindOverlaps(path) {
			got = append(got, place.Path)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	write(t, filepath.Join(w.repo, "f"), "")
	in.Home, in.Getenv = w.home, getenv(map[string]string{}, "XDG_STATE_HOME", w.bare)
	if got := in.FindOverlaps(w.repo); len(got) != 0 {
		t.Errorf("%v", got)
	}
	testenv.Check(t, os.MkdirAll(filepath.Join(w.home, ".local"), 0o700))
	testenv.Check(t, os.Rename(w.state, filepath.Join(w.home, ".local", "state")))
	if got := in.FindOverlaps(w.repo); runtime.GOOS == "linux" && len(got) != 2 {
		t.Errorf("the user's own states are not seen from another state home: %v", got)
	}
	in.Home = w.repo // as an agent may claim
	in.Getenv = getenv(map[string]string{}, "XDG_STATE_HOME", filepath.Join(w.home, ".local", "state"))
	if got := in.FindOverlaps(filepath.Join(w.repo, "f")); len(got) == 0 || got[0].Path != w.repo {
		t.Errorf("a work tree that is said to be the home directory: %v", got)
	}
}
