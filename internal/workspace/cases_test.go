package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/workspace"
)

// disk is a real disk as hosts find it: repositories, a submodule, linked work trees, links.
type disk struct {
	t        *testing.T
	top      string
	home     string
	state    string
	project  string // a repository with a folder packages/a
	module   string // a submodule of it
	nested   string // a separate repository within it
	linked   string // a linked work tree next to it
	within   string // a linked work tree within it
	ofModule string // a linked work tree of the submodule, elsewhere
	other    string // another repository
	plain    string // a folder without a repository
}

func newDisk(t *testing.T) disk {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("its paths are looked at as texts")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	top := testenv.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	in := func(elements ...string) string { return filepath.Join(append([]string{top, "home"}, elements...)...) }
	d := disk{t: t, top: top, home: in(), state: filepath.Join(top, "state"),
		project: in("My Project"), module: in("My Project", "libs", "module"),
		nested: in("My Project", "vendor", "nested"), linked: in("linked"), within: in("My Project", ".trees", "one"),
		ofModule: in("of module"), other: in("C# & 日本 é"), plain: in("plain")}
	run := func(dir string, args ...string) {
		t.Helper()
		settings := []string{"-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b"}
		cmd := exec.Command(git, append(settings, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+d.home, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	d.folders(d.project, in("source"), d.nested, d.other, d.plain, in("My Project", "packages", "a"), in(".cursor"), in("cut", "one, two"))
	for _, repository := range []string{d.project, in("source"), d.nested, d.other} {
		run(repository, "init", "-q")
		run(repository, "commit", "-q", "--allow-empty", "-m", "first")
	}
	run(d.project, "submodule", "--quiet", "add", in("source"), "libs/module")
	run(d.project, "worktree", "add", "-q", d.linked)
	run(d.project, "worktree", "add", "-q", d.within)
	run(d.module, "worktree", "add", "-q", "-b", "other", d.ofModule)
	if err := os.Symlink(d.project, in("link")); err != nil {
		t.Skip(err)
	}
	return d
}

func (d disk) folders(dirs ...string) {
	d.t.Helper()
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			d.t.Fatal(err)
		}
	}
}

// withPlan makes a state for a directory, as if a plan had been made in it.
func (d disk) withPlan(dir string) {
	d.t.Helper()
	place, err := workspace.Find(workspace.Lookup{Flag: dir, Home: d.home, Getenv: getenv(nil, "XDG_STATE_HOME", d.state)})
	if err != nil {
		d.t.Fatal(err)
	}
	d.folders(place.StateDir)
}

// standing is one case: the input of a host, a person or a hook, and the result.
type standing struct {
	name   string
	env    map[string]string
	flag   string
	roots  []string
	dir    string // a hook's directory
	cwd    string
	hosted bool
	plans  []string // directories that were workspaces before

	want  string // "default" for the default workspace
	from  string
	doubt string // a part of it; "" if there must be none
}

// TestStandings is the table of docs/guides/agents.md, on a real disk with real git.
func TestStandings(t *testing.T) {
	d := newDisk(t)
	sub := filepath.Join(d.project, "packages", "a")
	env := func(pairs ...string) map[string]string { return map[string]string{pairs[0]: pairs[1]} }
	passed := "was ignored"
	for _, c := range []standing{
		// The current directory.
		{name: "a shell in a folder of a repository", cwd: sub, want: d.project, from: workspace.FromWorkTree},
		{name: "through a link", cwd: filepath.Join(d.home, "link", "packages"), want: d.project, from: workspace.FromWorkTree},
		{name: "in a submodule", cwd: d.module, want: d.project, from: workspace.FromWorkTree},
		{name: "in a submodule that has a plan", cwd: d.module, plans: []string{d.module}, want: d.module, from: workspace.FromWorkTree},
		{name: "in a nested repository", cwd: d.nested, want: d.nested, from: workspace.FromWorkTree},
		{name: "in a linked work tree", cwd: d.linked, want: d.linked, from: workspace.FromWorkTree},
		{name: "in a linked work tree within", cwd: d.within, want: d.within, from: workspace.FromWorkTree},
		{name: "in a linked work tree of a submodule", cwd: d.ofModule, want: d.ofModule, from: workspace.FromWorkTree},
		{name: "a person in a folder without", cwd: d.plain, want: d.plain, from: workspace.FromDir},
		{name: "a person at home", cwd: d.home, want: "default", from: workspace.FromDir, doubt: "--workspace DIR"},
		{name: "a person in a hidden folder", cwd: filepath.Join(d.home, ".cursor"), want: filepath.Join(d.home, ".cursor"),
			from: workspace.FromDir},

		// Servers without information from their host.
		{name: "started in a repository", hosted: true, cwd: sub, want: d.project, from: workspace.FromWorkTree},
		{name: "started in a folder without", hosted: true, cwd: d.plain,
			want: d.plain, from: workspace.FromDir, doubt: "the host started planloop in " + d.plain},
		{name: "started at the top", hosted: true, cwd: "/", want: "default", from: workspace.FromDir, doubt: "started in /"},
		{name: "started at home", hosted: true, cwd: d.home, want: "default", from: workspace.FromDir, doubt: "not a project"},
		{name: "started in the host's own folder", hosted: true, cwd: filepath.Join(d.home, ".cursor"), want: "default",
			from: workspace.FromDir, doubt: "not a project"},
		{name: "started in a program's folder", hosted: true, cwd: "/usr/bin", want: "default", from: workspace.FromDir, doubt: "/usr/bin"},
		{name: "started in the host's own folder, where a plan is", hosted: true, cwd: filepath.Join(d.home, ".cursor"),
			plans: []string{filepath.Join(d.home, ".cursor")}, want: filepath.Join(d.home, ".cursor"), from: workspace.FromDir,
			doubt: "the host started planloop in"},

		// Servers with information from their host.
		{name: "the variable names a folder of a repository", hosted: true, env: env("CLAUDE_PROJECT_DIR", sub), cwd: "/", want: d.project,
			from: "CLAUDE_PROJECT_DIR"},
		{name: "the same, where a plan is", hosted: true, env: env("CLAUDE_PROJECT_DIR", sub), plans: []string{sub}, cwd: "/", want: sub,
			from: "CLAUDE_PROJECT_DIR"},
		{name: "the variable names what is gone", hosted: true, env: env("CLAUDE_PROJECT_DIR", "/no/such"), cwd: d.other, want: d.other,
			from: workspace.FromWorkTree, doubt: "CLAUDE_PROJECT_DIR names /no/such, which is not a directory here, so it " + passed},
		{name: "Cursor's server", hosted: true, env: env("WORKSPACE_FOLDER_PATHS", d.other), cwd: d.home, want: d.other,
			from: "WORKSPACE_FOLDER_PATHS"},
		{name: "Cursor's server, two folders", hosted: true, env: env("WORKSPACE_FOLDER_PATHS", d.other+","+d.project), cwd: d.home,
			want: d.other, from: "WORKSPACE_FOLDER_PATHS", doubt: "has 2 folders open; this is the first (another: " + d.project},
		{name: "the same as JSON", hosted: true, env: env("WORKSPACE_FOLDER_PATHS", `["`+d.other+`","`+d.project+`"]`), cwd: d.home,
			want: d.other, from: "WORKSPACE_FOLDER_PATHS", doubt: "2 folders"},
		{name: "a folder with a comma", hosted: true, env: env("WORKSPACE_FOLDER_PATHS", filepath.Join(d.home, "cut", "one, two")),
			cwd: "/", want: filepath.Join(d.home, "cut", "one, two"), from: "WORKSPACE_FOLDER_PATHS"},
		{name: "one root", hosted: true, roots: []string{uri(d.other)}, cwd: "/", want: d.other, from: workspace.FromRoot},
		{name: "one root, a plain path", hosted: true, roots: []string{d.other}, cwd: "/", want: d.other, from: workspace.FromRoot},
		{name: "one root, not escaped", hosted: true, roots: []string{"file://" + d.other}, cwd: "/", want: d.other,
			from: workspace.FromRoot},
		{name: "one root through a link", hosted: true, roots: []string{uri(filepath.Join(d.home, "link"))}, cwd: "/", want: d.project,
			from: workspace.FromRoot},
		{name: "several roots", hosted: true, roots: []string{uri(d.other), uri(d.project), uri(d.plain)}, cwd: "/", want: d.other,
			from: workspace.FromRoot, doubt: "3 folders"},
		{name: "several roots, the agent in the second", roots: []string{d.other, d.project}, dir: d.project, hosted: true, cwd: "/",
			want: d.other, from: workspace.FromRoot, doubt: "2 folders"},
		{name: "several roots of one repository", hosted: true, roots: []string{uri(sub), uri(d.project), uri(d.module)}, cwd: "/",
			want: d.project, from: workspace.FromRoot},
		{name: "several roots, home among them", hosted: true, roots: []string{uri(d.home), uri(d.other)}, cwd: "/", want: d.other,
			from: workspace.FromRoot},
		{name: "several roots, one of them elsewhere", hosted: true, roots: []string{"vscode-vfs://github/x/y", uri(d.other)}, cwd: "/",
			want: d.other, from: workspace.FromRoot},
		{name: "the root is home", hosted: true, roots: []string{uri(d.home)}, cwd: d.plain, want: "default", from: workspace.FromRoot,
			doubt: "not a project"},
		{name: "the root is elsewhere", hosted: true, roots: []string{"vscode-remote://ssh-remote+box/home/x"}, cwd: d.other, want: d.other,
			from: workspace.FromWorkTree, doubt: "root names vscode-remote://ssh-remote+box/home/x, which is not a directory here"},
		{name: "the root is gone", hosted: true, roots: []string{"file:///no/such"}, cwd: "/", want: "default", from: workspace.FromDir,
			doubt: passed},

		// The user names a directory.
		{name: "the flag before all", hosted: true, flag: d.plain, env: env("CLAUDE_PROJECT_DIR", d.project), roots: []string{uri(d.other)},
			cwd: d.linked, want: d.plain, from: "--workspace"},
		{name: "the flag is not widened", flag: sub, cwd: "/", want: sub, from: "--workspace"},
		{name: "the flag as a URI", flag: uri(d.project), cwd: "/", want: d.project, from: "--workspace"},
		{name: "the variable was not replaced", hosted: true, flag: "${workspaceFolder}", cwd: d.other, want: d.other,
			from: workspace.FromWorkTree, doubt: "--workspace is ${workspaceFolder}, which the host did not replace"},
		{name: "nor a longer one, at home", hosted: true, env: env("PLANLOOP_WORKSPACE", "${workspaceFolder}/a"), cwd: d.home,
			want: "default", from: workspace.FromDir, doubt: "${workspaceFolder}/a"},

		// Hooks: separate processes, which must find the server's workspace.
		{name: "a hook of Claude Code, the agent in a submodule", hosted: true, env: env("CLAUDE_PROJECT_DIR", d.project), dir: d.module,
			cwd: d.module, want: d.project, from: "CLAUDE_PROJECT_DIR"},
		{name: "a hook of Claude Code, the agent in a nested repository", hosted: true, env: env("CLAUDE_PROJECT_DIR", d.project),
			dir: d.nested, cwd: d.nested, want: d.project, from: "CLAUDE_PROJECT_DIR"},
		{name: "a hook of Codex", hosted: true, dir: sub, cwd: d.home, want: d.project, from: workspace.FromWorkTree},
		{name: "a hook of Codex, the agent in a submodule", hosted: true, dir: d.module, cwd: d.home, want: d.project,
			from: workspace.FromWorkTree},
		{name: "a hook of Cursor", hosted: true, roots: []string{d.other}, cwd: filepath.Join(d.home, ".cursor"), want: d.other,
			from: workspace.FromRoot},
		{name: "a hook without a project", hosted: true, dir: d.home, cwd: d.home, want: "default", from: workspace.FromDir,
			doubt: "not a project"},
		{name: "a hook that is told what is gone", hosted: true, dir: "/no/such", cwd: d.other, want: d.other,
			from: workspace.FromWorkTree},
		{name: "a hook of a host with the flag", hosted: true, flag: d.plain, dir: d.project, cwd: d.project, want: d.plain,
			from: "--workspace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.Check(t, os.RemoveAll(d.state))
			for _, dir := range c.plans {
				d.withPlan(dir)
			}
			got, err := workspace.Find(workspace.Lookup{Flag: c.flag, Roots: c.roots, Dir: c.dir, Hosted: c.hosted, Home: d.home,
				Getenv: getenv(c.env, "XDG_STATE_HOME", d.state), Getwd: func() (string, error) { return c.cwd, nil }})
			if err != nil {
				t.Fatal(err)
			}
			path := got.Path
			if got.Default {
				path = "default"
			}
			if path != c.want || got.From != c.from {
				t.Errorf("%s from %s, want %s from %s", path, got.From, c.want, c.from)
			}
			if !strings.Contains(got.Doubt, c.doubt) || (c.doubt == "") != (got.Doubt == "") {
				t.Errorf("doubt %q, want %q", got.Doubt, c.doubt)
			}
			if strings.ContainsAny(got.Doubt, "\n\x1b") || len(got.Doubt) > 500 {
				t.Errorf("doubt %q", got.Doubt)
			}
		})
	}
}
