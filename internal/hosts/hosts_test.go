package hosts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Fixed{Tests: m}.Run()) }

var update = flag.Bool("update", false, "rewrite the goldens")

// machine is one without hosts, whose folders are the test's own.
func machine(t *testing.T) hosts.Machine {
	t.Helper()
	top := testenv.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	m := hosts.Machine{GOOS: "linux", Home: filepath.Join(top, "home"), Project: filepath.Join(top, "project"),
		Ledger: filepath.Join(top, "state", "planloop", "installed"), Marks: filepath.Join(top, "state", "planloop-planning"),
		Program: "/opt/plan loop/planloop",
		Getenv:  func(string) string { return "" }, LookPath: func(string) (string, error) { return "", errors.New("no") }}
	for _, dir := range []string{m.Home, m.Project} {
		testenv.Check(t, os.MkdirAll(dir, 0o755))
	}
	return m
}

func put(t *testing.T, path, text string) {
	t.Helper()
	testenv.Check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := testenv.Must(os.ReadFile(path))(t)
	return string(text)
}

// look looks at a host that there must be.
func look(t *testing.T, m hosts.Machine, name string, w hosts.Request) hosts.Host {
	t.Helper()
	host, ok := m.Inspect(name, w)
	if !ok {
		t.Fatalf("there is no host %s", name)
	}
	return host
}

// write carries out what is wanted of a host, all of which must succeed.
func write(t *testing.T, m hosts.Machine, name string, w hosts.Request) hosts.Host {
	t.Helper()
	host := look(t, m, name, w)
	for _, edit := range host.Edits {
		if edit.Fault != nil {
			t.Fatalf("%s: %s: %v", name, edit.Path, edit.Fault)
		}
		if err := m.Write(edit); err != nil {
			t.Fatalf("%s: %s: %v", name, edit.Path, err)
		}
	}
	return host
}

// tree is every file below a folder with its mode and text, and every folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(path, dir), info.Mode())
		if entry.Type().IsRegular() {
			fmt.Fprintf(&b, " %q", read(t, path))
		}
		b.WriteString("\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		put(t, file, got)
	}
	if want := read(t, file); got != want {
		t.Errorf("%s is stale, run go test ./internal/hosts -update: %s", file, cmp.Diff(want, got))
	}
}

// TestWhatIsWritten shows, for each host on each system, which files it gets, and what they
// hold where there was nothing: whole on Linux and Windows, where commands are written
// otherwise, and for a project where that is not what it is for the user.
func TestWhatIsWritten(t *testing.T) {
	for _, title := range hosts.Titles() {
		var b strings.Builder
		for _, system := range []struct{ goos, home, project, program string }{
			{"linux", "/home/ann", "/home/ann/app", "/home/ann/go/bin/planloop"},
			{"darwin", "/Users/ann", "/Users/ann/app", ""},
			{"windows", `C:\Users\ann`, `C:\Users\ann\app`, `C:\Program Files\planloop\planloop.exe`},
		} {
			m := machine(t)
			m.GOOS, m.Home, m.Project, m.Program = system.goos, system.home, system.project, system.program
			m.Marks = system.home + "/planloop-planning"
			shown := map[string]bool{}
			for _, scope := range []hosts.Scope{hosts.User, hosts.Project} {
				for _, edit := range look(t, m, title.Name, hosts.Request{Scope: scope}).Edits {
					fmt.Fprintf(&b, "-- %s, %s: %s --\n", system.goos, scope, edit.Path)
					if edit.Fault != nil {
						t.Logf("%s: %v", edit.Path, edit.Fault)
					}
					text := string(edit.After) + edit.Paste
					if m.Program != "" && !shown[text] {
						b.WriteString(text)
					}
					shown[text] = true
				}
			}
		}
		golden(t, title.Name+".txt", b.String())
	}
}

// awkward are texts of settings that hold nothing of planloop's, by format.
func awkward() map[string]map[string]string {
	const mark = "\ufeff"
	json := map[string]string{
		"empty": "", "blank": "\n", "mark": mark, "object": "{}", "marked": mark + "{}\n",
		"minified":         `{"mcpServers":{"x":{"command":"y"}},"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"z"}]}]}}`,
		"two spaces":       "{\n  \"a\": [1, 2],\n  \"z\": null\n}\n",
		"tabs":             "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n",
		"windows":          "{\r\n  \"a\": 1\r\n}\r\n",
		"no final newline": "{\n  \"a\": 1\n}",
		"comments":         "// top\n{\n  // above\n  \"a\": 1, // beside\n  /* last */\n}\n// end\n",
		"trailing commas":  "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\",},\n  },\n}\n",
		"empty servers":    "{\n  \"mcpServers\": {},\n  \"servers\": {},\n  \"mcp\": {},\n  \"context_servers\": {}\n}\n",
		"empty hooks":      "{\"hooks\": {\"PreToolUse\": [], \"BeforeTool\": [], \"preToolUse\": []}, \"version\": 1}\n",
		"others' hooks": `{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [{"type": "command", "command": "lint hook claude x"}]
      }
    ],
    "Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]
  }
}
`,
		"other order":      "{\"z\": 1.50, \"a\": \"\\u00e4\\/\", \"n\": 1e300}",
		"space at commas":  "{\"a\": 1 , \"b\": [2 , 3 ] }",
		"comments between": "{ /* 1 */ \"a\" /* 2 */ : /* 3 */ 1 /* 4 */ , // 5\n \"b\": {} // 6\n}",
		"in one line":      "{\"mcpServers\": {/* 1 */}, \"hooks\": {}} // 2",
	}
	toml := map[string]string{
		"empty": "", "mark": mark, "comment": "# mine\n", "keys": "model = \"x\"\napproval = 'never' # so\n",
		"windows": "model = \"x\"\r\n\r\n[tools]\r\nweb = true\r\n", "no final newline": "[tools]\nweb = true",
		"servers":      "[mcp_servers.x]\ncommand = \"y\"\n\n[mcp_servers.x.env]\nA = \"b\"\n\n[tui]\ntheme = \"z\"\n",
		"dotted":       "mcp_servers.x.command = \"y\"\n",
		"blanks":       "\n\n[a]\n\n\n[b]\nc = [\n  1, # one\n  2,\n]\n\n\n",
		"lists":        "[[profiles]]\nname = \"a\"\n\n[[profiles]]\nname = \"b\"\n",
		"quoted":       "[mcp_servers.\"a b\"]\ncommand = \"\"\"\ny\"\"\"\n",
		"empty parent": "[mcp_servers]\n",
		"in a text":    "a = \"\"\"\n[mcp_servers.planloop]\ncommand = \"x\"\n\"\"\"\n",
	}
	return map[string]map[string]string{".json": json, ".jsonc": json, ".toml": toml}
}

// meanings is what the files below some folders say, by their paths with modes: JSON without its layout, but with its comments.
func meanings(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				all[path] = "a folder"
				return err
			}
			info, err := entry.Info()
			all[path] = fmt.Sprintf("%s %s", info.Mode(), meaning(t, path, read(t, path)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func meaning(t *testing.T, path, text string) string {
	t.Helper()
	if !strings.HasPrefix(filepath.Ext(path), ".json") {
		return strings.TrimRight(text, "\r\n")
	}
	bare := strings.TrimPrefix(text, "\ufeff")
	if strings.TrimSpace(bare) == "" {
		bare = "{}"
	}
	strict, err := hujson.Standardize([]byte(bare + "\n"))
	var value any
	if err == nil {
		in := json.NewDecoder(bytes.NewReader(strict))
		in.UseNumber()
		err = in.Decode(&value)
	}
	if err != nil {
		t.Fatalf("%s: %v in %q", path, err, text)
	}
	comments := regexp.MustCompile(`//[^\n\r]*|/\*[^*]*\*/`).FindAllString(bare, -1)
	return fmt.Sprintf("%v %q, mark %t, Windows %t", value, comments, strings.HasPrefix(text, "\ufeff"), strings.Contains(text, "\r\n"))
}

// TestRemoveLeavesTheRest: after init and --remove the files say what they said before, for every host, scope and file. In
// between, a second init changes nothing, and a host that reads strict JSON can read them.
func TestRemoveLeavesTheRest(t *testing.T) {
	cases := 0
	for _, title := range hosts.Titles() {
		for _, scope := range []hosts.Scope{hosts.User, hosts.Project} {
			edits := look(t, machine(t), title.Name, hosts.Request{Scope: scope}).Edits
			edits = slices.DeleteFunc(edits, func(e hosts.Edit) bool { return e.Paste != "" })
			if len(edits) > 0 {
				t.Run(title.Name+"/"+string(scope), func(t *testing.T) { there(t, machine(t), title.Name, hosts.Request{Scope: scope}) })
			}
			for _, edit := range edits {
				texts := awkward()[filepath.Ext(edit.Path)]
				for _, name := range slices.Sorted(maps.Keys(texts)) {
					if cases++; cases%testenv.Count(4, 1, 1) != 0 {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%s", title.Name, scope, filepath.Base(edit.Path), name), func(t *testing.T) {
						t.Parallel()
						m := machine(t)
						at := look(t, m, title.Name, hosts.Request{Scope: scope}).Edits
						i := slices.IndexFunc(at, func(e hosts.Edit) bool { return filepath.Base(e.Path) == filepath.Base(edit.Path) })
						put(t, at[i].Path, texts[name])
						there(t, m, title.Name, hosts.Request{Scope: scope})
					})
				}
			}
		}
	}
	if cases < 200 {
		t.Errorf("only %d cases were tried", cases)
	}
}

// there writes planloop into a host's files, and takes it out again.
func there(t *testing.T, m hosts.Machine, name string, w hosts.Request) {
	t.Helper()
	strict := map[string]bool{}
	for _, edit := range look(t, m, name, w).Edits {
		strict[edit.Path] = json.Valid(edit.Before) || len(edit.Before) == 0 && filepath.Ext(edit.Path) == ".json"
	}
	before := meanings(t, m.Home, m.Project)
	first := write(t, m, name, w)
	if !first.HasChanges() || first.IsConfigured() {
		t.Errorf("at first: server %s, hooks %s", first.Server, first.Hooks)
	}
	for _, edit := range first.Edits {
		if text := read(t, edit.Path); strict[edit.Path] && !json.Valid([]byte(text)) {
			t.Errorf("%s was strict JSON, and is %s", edit.Path, text)
		}
	}
	between := tree(t, filepath.Dir(m.Home))
	again := write(t, m, name, w)
	for _, state := range []hosts.State{again.Server, again.Hooks} {
		if state != hosts.Current && state != hosts.None {
			t.Errorf("the second time it is %s", state)
		}
	}
	if now := tree(t, filepath.Dir(m.Home)); again.HasChanges() || now != between {
		t.Errorf("the second time changes\n%s into\n%s", between, now)
	}
	w.Remove = true
	for _, edit := range write(t, m, name, w).Edits {
		if text, err := os.ReadFile(edit.Path); err == nil && strict[edit.Path] && !json.Valid(text) {
			t.Errorf("%s was strict JSON, and ends as %s", edit.Path, text)
		}
	}
	if difference := cmp.Diff(before, meanings(t, m.Home, m.Project)); difference != "" {
		t.Errorf("removing leaves %s", difference)
	}
}

// TestFilesThatAreLeftAlone: what cannot be written without harm is told, and not touched.
func TestFilesThatAreLeftAlone(t *testing.T) {
	const file = ".mcp.json"
	for name, c := range map[string]struct {
		text, says string
		spoil      func(m hosts.Machine, path string) error
	}{
		"not JSON": {text: "{\n  \"mcpServers\": {\n", says: "cannot be read as JSON: line 3, column 1"},
		"a list":   {text: "[]", says: "cannot be read"},
		"of no object": {text: `{"mcpServers": []}`,
			says: `cannot take planloop's entry: "mcpServers" is not an object`},
		"twice":                            {text: `{"mcpServers": {"planloop": {}, "planloop": {}}}`, says: `duplicate object`},
		"twice below":                      {text: `{"a": [{"b": 1, "b": 1}]}`, says: `duplicate object member name "b"`},
		"not UTF-8":                        {text: "{\"a\": \"\xff\"}", says: "invalid UTF-8"},
		"UTF-16":                           {text: "\xff\xfe{\x00", says: "line 1, column 1"},
		"deep":                             {text: strings.Repeat(`{"a":`, 300_000), says: "nested deeper than 1000 levels"},
		"deep, after strings and comments": {text: "[ //\"]\n \"]\", /* ] */ " + strings.Repeat("[", 2_000), says: "nested deeper"},
		"a large number":                   {text: `{"a": 1e400}`, says: "cannot be read as JSON"},
		"a comment that ends twice":        {text: "{} // a\rb\n", says: "carriage returns"},
		"a comment without end":            {text: "{} /* a", says: "line 1, column 4"},
		"another program": {text: `{"mcpServers": {"planloop": {"command": "/usr/bin/other", "args": ["serve"]}}}`,
			says: "a server named planloop that starts another program (/usr/bin/other)"},
		"an address": {text: `{"mcpServers": {"planloop": {"url": "https://example.org/mcp"}}}`, says: "(https://example.org/mcp)"},
		"read-only":  {text: "{}", says: "is read-only", spoil: func(_ hosts.Machine, path string) error { return os.Chmod(path, 0o444) }},
		"a folder":   {says: "not a regular file", spoil: func(_ hosts.Machine, path string) error { return os.Mkdir(path, 0o755) }},
		"a link to nothing": {says: "is reached through a link", spoil: func(_ hosts.Machine, path string) error {
			return os.Symlink("nothing", path)
		}},
		"a link into git's files": {says: "is reached through a link", spoil: func(m hosts.Machine, path string) error {
			git := filepath.Join(m.Project, ".git")
			return errors.Join(os.Mkdir(git, 0o755), os.WriteFile(filepath.Join(git, "config"), []byte("{}"), 0o644),
				os.Symlink(filepath.Join(".git", "config"), path))
		}},
		"a link that leads out": {says: "is reached through a link", spoil: func(m hosts.Machine, path string) error {
			out := filepath.Join(m.Home, "out.json")
			return errors.Join(os.WriteFile(out, []byte("{}"), 0o644), os.Symlink(out, path))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			path := filepath.Join(m.Project, file)
			if c.text != "" {
				put(t, path, c.text)
			}
			if c.spoil != nil {
				testenv.Check(t, c.spoil(m, path))
			}
			before := tree(t, filepath.Dir(m.Home))
			host := look(t, m, "claude", hosts.Request{Scope: hosts.Project})
			var refused *hosts.Refusal
			if fault := host.Edits[0].Fault; !errors.As(fault, &refused) || !strings.Contains(fault.Error(), c.says) || refused.Fix == "" {
				t.Errorf("%v, want %q", fault, c.says)
			}
			if host.Edits[0].HasChanges() || m.Write(host.Edits[0]) != nil || tree(t, filepath.Dir(m.Home)) != before {
				t.Error("it was written all the same")
			}
			if !host.Edits[1].HasChanges() {
				t.Error("the other file is not seen to")
			}
		})
	}
}

// A folder that is a link is not written into, either, wherever it leads; one above the project may be.
func TestLinkedFolders(t *testing.T) {
	for _, to := range []string{"../home/.claude", ".git", "."} {
		m := machine(t)
		if err := errors.Join(os.Mkdir(filepath.Join(m.Home, ".claude"), 0o755), os.Mkdir(filepath.Join(m.Project, ".git"), 0o755),
			os.Symlink(to, filepath.Join(m.Project, ".claude")), os.Symlink(m.Project, m.Project+"-link")); err != nil {
			t.Fatal(err)
		}
		m.Project += "-link"
		host := look(t, m, "claude", hosts.Request{Scope: hosts.Project})
		if host.Edits[1].Fault == nil || host.Edits[1].HasChanges() || host.Edits[0].Fault != nil || !host.Edits[0].HasChanges() {
			t.Errorf("%s: %v, %v", to, host.Edits[0].Fault, host.Edits[1].Fault)
		}
	}
	m := machine(t)
	testenv.Check(t, os.Symlink("nothing", filepath.Join(m.Home, ".claude.json")))
	fault := look(t, m, "claude", hosts.Request{Scope: hosts.User}).Edits[0].Fault
	if fault == nil || !strings.Contains(fault.Error(), "is a broken link") {
		t.Error(fault)
	}
}

// TestRemoveWithLinksToNothing: where a link leads to no file, there is nothing to remove, unless init wrote through it.
func TestRemoveWithLinksToNothing(t *testing.T) {
	m := machine(t)
	for _, name := range []string{filepath.Join(m.Home, ".claude.json"), filepath.Join(m.Home, ".claude"), filepath.Join(m.Home, ".codex"),
		filepath.Join(m.Project, ".mcp.json"), filepath.Join(m.Project, ".claude"), filepath.Join(m.Project, ".codex")} {
		testenv.Check(t, os.Symlink("nothing", name))
	}
	before := tree(t, filepath.Dir(m.Home))
	for _, scope := range []hosts.Scope{hosts.User, hosts.Project} {
		for _, name := range []string{"claude", "codex"} {
			for _, edit := range look(t, m, name, hosts.Request{Scope: scope, Remove: true}).Edits {
				if edit.Fault != nil || edit.HasChanges() || edit.Server.IsInFile() || edit.Hooks.IsInFile() || m.Write(edit) != nil {
					t.Errorf("%s: server %q, hooks %q, %v", edit.Path, edit.Server, edit.Hooks, edit.Fault)
				}
			}
		}
	}
	if tree(t, filepath.Dir(m.Home)) != before {
		t.Error("something was changed")
	}
	m = machine(t)
	real, link := filepath.Join(m.Home, "dotfiles", "claude.json"), filepath.Join(m.Home, ".claude.json")
	put(t, real, "{}")
	testenv.Check(t, os.Symlink(real, link))
	write(t, m, "claude", hosts.Request{Scope: hosts.User, NoHooks: true})
	testenv.Check(t, os.Remove(real))
	fault := look(t, m, "claude", hosts.Request{Scope: hosts.User, NoHooks: true, Remove: true}).Edits[0].Fault
	if fault == nil || !strings.Contains(fault.Error(), "is a broken link") {
		t.Error(fault)
	}
}

// The user's own files may be links, as people who keep them elsewhere have it.
func TestLinksAreFollowed(t *testing.T) {
	m := machine(t)
	real := filepath.Join(m.Home, "dotfiles", "claude.json")
	put(t, real, "{\n}\n")
	testenv.Check(t, errors.Join(os.Chmod(real, 0o640), os.Symlink(real, filepath.Join(m.Home, ".claude.json"))))
	host := write(t, m, "claude", hosts.Request{Scope: hosts.User, NoHooks: true})
	info, err := os.Lstat(host.Edits[0].Path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 || host.Edits[0].Target != real || !strings.Contains(read(t, real), "serve") {
		t.Errorf("%v, %v, %s", info, err, read(t, real))
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	write(t, m, "claude", hosts.Request{Scope: hosts.User, NoHooks: true, Remove: true})
	if got := read(t, real); got != "{}\n" {
		t.Errorf("%q", got)
	}
}

// TestWhatStandsThere: entries and hooks that planloop, people and hosts have written are
// told apart, and made current with what is theirs kept.
func TestWhatStandsThere(t *testing.T) {
	const (
		settings = ".claude/settings.json"
		pre      = `{"hooks": {"PreToolUse": [%s]}}`
		ours     = `"type": "command", "command": "'/old/planloop' hook claude pre-tool-use"`
	)
	entry := func(text string) string { return `{"mcpServers": {"planloop": {` + text + `}}}` }
	for name, c := range map[string]struct {
		file, text    string
		server, hooks hosts.State
		has, lacks    string
		note          string
	}{
		"another path": {".claude.json", entry(`"command": "/old/planloop", "args": ["serve"]`), hosts.Old, "",
			`"/opt/plan loop/planloop"`, "/old/", ""},
		"settings of the user's": {".claude.json", entry(`"command": "/old/planloop.exe", "args": ["serve", "-v"], "env": {"A": "b"}`),
			hosts.Old, "", `"args": ["serve", "-v"]`, "/old/", "other settings stay: args, env"},
		"the same path, with settings": {".claude.json", entry(`"command": "/opt/plan loop/planloop", "args": ["serve"], "cwd": "/"`),
			hosts.Current, "", `"cwd": "/"`, "", "settings stay: cwd"},
		"no arguments": {".claude.json", entry(`"command": "/opt/plan loop/planloop"`), hosts.Old, "", `"serve"`, "", ""},
		"turned off": {".claude.json", entry(`"command": "/opt/plan loop/planloop", "args": ["serve"], "disabled": true`),
			hosts.Edited, "", `"disabled": true`, "", "turned off"},
		"hooks at another path": {settings, fmt.Sprintf(pre, `{"hooks": [{`+ours+`, "timeout": 10}]}`), "", hosts.Old,
			"'/opt/plan loop/planloop' hook claude pre-tool-use ||", "/old/", "changed by hand"},
		"a narrower matcher": {settings, fmt.Sprintf(pre, `{"matcher": "Bash", "hooks": [{`+ours+`}]}`), "", hosts.Old,
			`"matcher": "Bash"`, "/old/", "changed by hand"},
		"in a group with others": {settings, fmt.Sprintf(pre, `{"hooks": [{"type": "command", "command": "lint"}, {`+ours+`}]}`), "",
			hosts.Old, `"command": "lint"}`, "/old/", "changed by hand"},
		"twice": {settings, fmt.Sprintf(pre, `{"hooks": [{`+ours+`}, {`+ours+`}]}, {"hooks": [{`+ours+`}]}`), "", hosts.Old, "",
			"/old/", "changed by hand"},
		"an event of former times": {settings, `{"hooks": {"PreCompact": [{"hooks": [{"command": "planloop hook claude pre-compact"}]}]}}`,
			"", hosts.Old, `"PreCompact": []`, "pre-compact", ""},
		"a hook of another's": {settings, fmt.Sprintf(pre, `{"hooks": [{"type": "command", "command": "grep planloop"}]}`), "",
			hosts.Missing, `"grep planloop"`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			path := filepath.Join(m.Home, c.file)
			put(t, path, c.text)
			host := look(t, m, "claude", hosts.Request{Scope: hosts.User})
			edit := host.Edits[slices.IndexFunc(host.Edits, func(e hosts.Edit) bool { return e.Path == path })]
			if edit.Server != c.server || edit.Hooks != c.hooks || edit.Fault != nil {
				t.Errorf("server %q, hooks %q, %v", edit.Server, edit.Hooks, edit.Fault)
			}
			if got := strings.Join(edit.Notes, "\n"); (c.note == "") != (got == "") || !strings.Contains(got, c.note) {
				t.Errorf("notes %q, want %q", got, c.note)
			}
			got := string(edit.After)
			if !strings.Contains(got, c.has) || c.lacks != "" && strings.Contains(got, c.lacks) {
				t.Errorf("%s\nhas not %q, or has %q", got, c.has, c.lacks)
			}
			write(t, m, "claude", hosts.Request{Scope: hosts.User})
			if again := look(t, m, "claude", hosts.Request{Scope: hosts.User}); again.HasChanges() {
				t.Errorf("it is never content: %s", again.Edits[0].Difference("a")+again.Edits[1].Difference("b"))
			}
			// What was there before init stays: the entry, or the hook for that event.
			kept := strings.Contains(c.text, "mcpServers") || strings.Contains(c.text, "/old/")
			write(t, m, "claude", hosts.Request{Scope: hosts.User, Remove: true})
			got = read(t, path)
			if stays := strings.Contains(got, "/opt/plan loop/planloop"); stays != kept || strings.Contains(got, "session-start") {
				t.Errorf("removing leaves %s", got)
			}
			if state := worst(look(t, m, "claude", hosts.Request{Scope: hosts.User, Remove: true})); state != hosts.Missing && !kept ||
				kept && state != hosts.Kept {
				t.Errorf("it is %s", state)
			}
		})
	}
}

// worst is the state of a host of which one part is missing.
func worst(h hosts.Host) hosts.State {
	if h.Server == hosts.Missing {
		return h.Hooks
	}
	return h.Server
}

// What planloop wrote itself it writes anew as a whole; what was made since stays.
func TestUpdates(t *testing.T) {
	m, want := machine(t), hosts.Request{Scope: hosts.User}
	path := filepath.Join(m.Home, ".claude", "settings.json")
	const before = "{\n  \"a\": 1\n}\n"
	put(t, path, before)
	write(t, m, "claude", want)
	m.Program = "/new/planloop"
	if host := write(t, m, "claude", want); host.Server != hosts.Old || host.Hooks != hosts.Old || len(host.Edits[1].Notes) > 0 {
		t.Errorf("%s, %s, %q", host.Server, host.Hooks, host.Edits[1].Notes)
	}
	if text := read(t, path); strings.Contains(text, "/opt/") || strings.Count(text, "pre-tool-use") != 2 {
		t.Error(text)
	}
	write(t, m, "claude", hosts.Request{Scope: hosts.User, Remove: true})
	if text := read(t, path); text != before {
		t.Errorf("%q", text)
	}

	write(t, m, "claude", want)
	put(t, path, strings.Replace(read(t, path), `"a": 1`, `"a": 2`, 1))
	write(t, m, "claude", hosts.Request{Scope: hosts.User, Remove: true})
	if text := read(t, path); text != "{\n  \"a\": 2\n}\n" {
		t.Errorf("%q", text)
	}
}

// Without hooks the server alone is seen to, where both stand in one file, too; the hooks go
// with it.
func TestServerAlone(t *testing.T) {
	m := machine(t)
	path := filepath.Join(m.Home, ".gemini", "settings.json")
	const before = "{\n  \"a\": 1\n}\n"
	put(t, path, before)
	if host := write(t, m, "gemini", hosts.Request{Scope: hosts.User, NoHooks: true}); host.Hooks != hosts.None {
		t.Errorf("hooks: %s", host.Hooks)
	}
	if text := read(t, path); strings.Contains(text, "hook gemini") || !strings.Contains(text, "serve") {
		t.Error(text)
	}
	write(t, m, "gemini", hosts.Request{Scope: hosts.User})
	m.Program = "/new/planloop"
	write(t, m, "gemini", hosts.Request{Scope: hosts.User, NoHooks: true})
	if text := read(t, path); strings.Count(text, "/new/planloop") != 1 || !strings.Contains(text, "/opt/plan loop/planloop' hook gemini") {
		t.Error(text)
	}
	write(t, m, "gemini", hosts.Request{Scope: hosts.User, Remove: true})
	if text := read(t, path); text != before {
		t.Errorf("%q", text)
	}
}

// A folder in which nothing may be written is told of, and remembered for nothing.
func TestFoldersThatMayNotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	m := machine(t)
	testenv.Check(t, os.Chmod(m.Home, 0o500))
	edit := look(t, m, "claude", hosts.Request{Scope: hosts.User}).Edits[0]
	if err := m.Write(edit); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

// TestWholeFiles: a file that is planloop's alone is written over what planloop wrote, and
// over nothing else.
func TestWholeFiles(t *testing.T) {
	want := hosts.Request{Scope: hosts.User}
	for text, says := range map[string]string{
		"": "", "\n": "", `other()`: "is not planloop's file", `planloop()`: "was changed by hand",
	} {
		m := machine(t)
		path := filepath.Join(m.Home, ".config", "opencode", "plugins", "planloop.js")
		put(t, path, text)
		edit := look(t, m, "opencode", want).Edits[1]
		if says != "" {
			if edit.Fault == nil || !strings.Contains(edit.Fault.Error(), says) || edit.HasChanges() {
				t.Errorf("%q: %v, want %q", text, edit.Fault, says)
			}
			continue
		}
		write(t, m, "opencode", want)
		if got := read(t, path); !strings.Contains(got, m.Program) {
			t.Errorf("%q: %s", text, got)
		}
		m.Program = "/new/planloop"
		if host := write(t, m, "opencode", want); host.Hooks != hosts.Old || !strings.Contains(read(t, path), "/new/") {
			t.Errorf("%s: %s", host.Hooks, read(t, path))
		}
		write(t, m, "opencode", hosts.Request{Scope: hosts.User, Remove: true})
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it stays: %v", err)
		}
	}
	m := machine(t)
	path := filepath.Join(m.Home, ".config", "opencode", "plugins", "planloop.js")
	put(t, path, hook.OpencodePlugin(m.Program, m.Marks))
	edit := look(t, m, "opencode", hosts.Request{Scope: hosts.User, Remove: true}).Edits[1]
	if edit.Hooks != hosts.Kept || edit.HasChanges() {
		t.Errorf("a file that init did not write is %s, changes: %t", edit.Hooks, edit.HasChanges())
	}
}

// A file that somebody else changes between looking and writing is not written.
func TestChangesOfOthersAreKept(t *testing.T) {
	for name, remove := range map[string]bool{"init": false, "remove": true} {
		t.Run(name, func(t *testing.T) {
			m, want := machine(t), hosts.Request{Scope: hosts.User, NoHooks: true}
			path := filepath.Join(m.Home, ".claude.json")
			put(t, path, "{}")
			if want.Remove = remove; remove {
				write(t, m, "claude", hosts.Request{Scope: hosts.User, NoHooks: true})
			}
			edit := look(t, m, "claude", want).Edits[0]
			put(t, path, `{"theirs": 1}`)
			if err := m.Write(edit); !errors.Is(err, hosts.ErrChanged) || read(t, path) != `{"theirs": 1}` {
				t.Errorf("%v, %s", err, read(t, path))
			}
		})
	}
	m := machine(t)
	edit := look(t, m, "claude", hosts.Request{Scope: hosts.User}).Edits[0]
	put(t, edit.Path, "{}")
	if err := m.Write(edit); !errors.Is(err, hosts.ErrChanged) || read(t, edit.Path) != "{}" {
		t.Errorf("a file that has come is replaced, or not looked at again: %v", err)
	}
	edit = look(t, m, "claude", hosts.Request{Scope: hosts.User}).Edits[0]
	testenv.Check(t, os.Remove(edit.Path))
	if err := m.Write(edit); !errors.Is(err, hosts.ErrChanged) {
		t.Errorf("a file that has gone is not looked at again: %v", err)
	}
}

// Hosts are told apart by what only they make, and by the variables that move it.
func TestFinding(t *testing.T) {
	for name, c := range map[string]struct {
		variable, folder, trace, server string
	}{
		"claude":         {"", "", ".claude", "HOME/.claude.json"},
		"claude, moved":  {"CLAUDE_CONFIG_DIR", "c", "c", "HOME/c/.claude.json"},
		"codex":          {"", "", ".codex", "HOME/.codex/config.toml"},
		"codex, moved":   {"CODEX_HOME", "x", "x", "HOME/x/config.toml"},
		"gemini":         {"", "", ".gemini/settings.json", "HOME/.gemini/settings.json"},
		"gemini, moved":  {"GEMINI_CLI_HOME", "g", "g/.gemini/settings.json", "HOME/g/.gemini/settings.json"},
		"antigravity":    {"", "", ".gemini/antigravity-cli", "HOME/.gemini/config/mcp_config.json"},
		"opencode":       {"XDG_CONFIG_HOME", "xdg", "xdg/opencode", "HOME/xdg/opencode/opencode.json"},
		"opencode, file": {"OPENCODE_CONFIG", "my.json", ".config/opencode", "HOME/my.json"},
		"goose":          {"GOOSE_PATH_ROOT", "gg", "gg/config", "HOME/gg/config/config.yaml"},
		"zed":            {"XDG_CONFIG_HOME", "xdg", "xdg/zed", "HOME/xdg/zed/settings.json"},
		"vscode":         {"XDG_CONFIG_HOME", "xdg", "xdg/Code/User", "HOME/xdg/Code/User/mcp.json"},
		"vscode, moved":  {"VSCODE_PORTABLE", "p", "p/user-data/User", "HOME/p/user-data/User/mcp.json"},
		"windsurf":       {"", "", ".codeium/windsurf", "HOME/.codeium/windsurf/mcp_config.json"},
		"a relative one": {"CODEX_HOME", "", "none", "HOME/.codex/config.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			host, _, _ := strings.Cut(name, ",")
			if name == "a relative one" {
				host = "codex"
			}
			m.Getenv = func(variable string) string {
				switch {
				case variable != c.variable || variable == "":
					return ""
				case name == "a relative one":
					return "relative"
				}
				return filepath.Join(m.Home, c.folder)
			}
			if seen := look(t, m, host, hosts.Request{Scope: hosts.User}); seen.Found != "" {
				t.Errorf("found where there is nothing: %s", seen.Found)
			}
			put(t, filepath.Join(m.Home, c.trace, "x"), "")
			seen := look(t, m, host, hosts.Request{Scope: hosts.User})
			if (seen.Found == "") != (c.trace == "none") {
				t.Errorf("found: %q", seen.Found)
			}
			if got := "HOME" + strings.TrimPrefix(seen.Edits[0].Path, m.Home); got != c.server {
				t.Errorf("%s, want %s", got, c.server)
			}
			for _, other := range m.InspectAll(hosts.Request{Scope: hosts.User}) {
				if other.Name != host && other.Found != "" {
					t.Errorf("%s was found, too: %s", other.Name, other.Found)
				}
			}
		})
	}
	m := machine(t)
	m.LookPath = func(program string) (string, error) {
		if program == "agy" {
			return "/usr/bin/agy", nil
		}
		return "", errors.New("no")
	}
	if seen := look(t, m, "antigravity", hosts.Request{Scope: hosts.User}); seen.Found != "agy is on the PATH" {
		t.Errorf("%q", seen.Found)
	}
	if _, ok := m.Inspect("emacs", hosts.Request{}); ok {
		t.Error("there is a host emacs")
	}
}

// What is remembered and the backup are the user's alone. The backup is the file before it was last written.
func TestLedger(t *testing.T) {
	m, want := machine(t), hosts.Request{Scope: hosts.User, NoHooks: true}
	path := filepath.Join(m.Home, ".claude.json")
	const before = `{"secret": "s3"}`
	put(t, path, before)
	write(t, m, "claude", want)
	backups, err := filepath.Glob(filepath.Join(m.Ledger, "*-.claude.json"))
	if err != nil || len(backups) != 1 || read(t, backups[0]) != before {
		t.Fatalf("%q, %v", backups, err)
	}
	entries, err := os.ReadDir(m.Ledger)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	record := strings.TrimSuffix(backups[0], "-.claude.json") + ".json"
	sound, written := read(t, record), read(t, path)
	for _, damaged := range []string{"", "{", "null", strings.Replace(sound, path, path+"x", 1),
		`{"path": "` + path + `", "parts": null}`} {
		put(t, record, damaged)
		edit := look(t, m, "claude", hosts.Request{Scope: hosts.User, Remove: true}).Edits[0]
		if edit.Fault == nil || edit.HasChanges() {
			t.Errorf("%q is believed: %v", damaged, edit.Fault)
		}
	}
	put(t, record, sound)
	write(t, m, "claude", hosts.Request{Scope: hosts.User, Remove: true})
	if got := read(t, backups[0]); got != written || strings.Contains(read(t, path), "planloop") {
		t.Errorf("%s, backup %s", read(t, path), got)
	}
	if _, err := os.Stat(record); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the record stays: %v", err)
	}
}

// Without what is remembered nothing is taken out, because it may be the user's own.
func TestLostLedger(t *testing.T) {
	for _, name := range []string{"claude", "gemini", "opencode"} {
		m := machine(t)
		write(t, m, name, hosts.Request{Scope: hosts.User})
		testenv.Check(t, os.RemoveAll(m.Ledger))
		host := look(t, m, name, hosts.Request{Scope: hosts.User, Remove: true})
		if host.HasChanges() || host.Server != hosts.Kept || host.Hooks != hosts.Kept {
			t.Errorf("%s: server %s, hooks %s, changes: %t", name, host.Server, host.Hooks, host.HasChanges())
		}
	}
}

// Into the files of some hosts nothing is written. What belongs there is there to be pasted, until it was.
func TestByHand(t *testing.T) {
	for _, name := range []string{"antigravity", "goose"} {
		m := machine(t)
		before := tree(t, filepath.Dir(m.Home))
		host := write(t, m, name, hosts.Request{Scope: hosts.User})
		if host.HasChanges() || !host.NeedsPaste() || tree(t, filepath.Dir(m.Home)) != before {
			t.Errorf("%s: changes: %t, pastes: %t", name, host.HasChanges(), host.NeedsPaste())
		}
		for _, edit := range host.Edits {
			put(t, edit.Path, edit.Paste)
		}
		pasted := tree(t, filepath.Dir(m.Home))
		host = look(t, m, name, hosts.Request{Scope: hosts.User})
		if host.NeedsPaste() || host.Server != hosts.Current || host.Hooks != hosts.Current ||
			!slices.Contains(host.Programs(), m.Program) {
			t.Errorf("%s is pasted: server %s, hooks %s, starts %q", name, host.Server, host.Hooks, host.Programs())
		}
		host = write(t, m, name, hosts.Request{Scope: hosts.User, Remove: true})
		if host.Server != hosts.Kept || host.Hooks != hosts.Kept || tree(t, filepath.Dir(m.Home)) != pasted {
			t.Errorf("%s after removing: server %s, hooks %s", name, host.Server, host.Hooks)
		}
		m.Program = "/new/planloop"
		if host = look(t, m, name, hosts.Request{Scope: hosts.User}); host.Server != hosts.Old || !host.NeedsPaste() {
			t.Errorf("%s: the server is %s", name, host.Server)
		}
	}
	m := machine(t)
	for text, state := range map[string]hosts.State{"a: !!python/x 1": hosts.Unreadable, "{": hosts.Unreadable, "a: 1": hosts.Missing,
		"extensions:\n  planloop:\n    cmd: npx\n": hosts.Foreign} {
		path := filepath.Join(m.Home, ".config/goose/config.yaml")
		put(t, path, text)
		edit := look(t, m, "goose", hosts.Request{Scope: hosts.User}).Edits[0]
		if edit.Server != state || !strings.Contains(edit.Paste, "extensions:") || edit.HasChanges() ||
			(edit.Fault == nil) != (state == hosts.Missing) {
			t.Errorf("%q: server %s, %v, to paste: %q", text, edit.Server, edit.Fault, edit.Paste)
		}
	}
}

// TestObstacles: what keeps hooks from being heard, though they are written, is found.
func TestObstacles(t *testing.T) {
	for name, c := range map[string]struct{ host, file, text, says string }{
		"none":                {"claude", ".claude/settings.json", `{"disableAllHooks": false}`, ""},
		"all hooks off":       {"claude", ".claude/settings.json", `{"disableAllHooks": true}`, "disableAllHooks"},
		"a feature off":       {"codex", ".codex/config.toml", "[features]\nhooks = false\n", "[features]"},
		"not trusted":         {"codex", ".codex/config.toml", "", "Codex does not trust 5 of these hooks"},
		"hooks off":           {"gemini", ".gemini/settings.json", `{"hooksConfig": {"enabled": false}}`, "hooksConfig"},
		"planloop's off":      {"gemini", ".gemini/settings.json", `{"hooksConfig": {"disabled": ["a", "planloop"]}}`, "hooksConfig"},
		"planloop turned off": {"antigravity", ".gemini/config/hooks.json", `{"planloop": {"enabled": false}}`, `"enabled": false`},
	} {
		t.Run(name, func(t *testing.T) {
			m, want := machine(t), hosts.Request{Scope: hosts.User}
			put(t, filepath.Join(m.Home, c.file), c.text)
			write(t, m, c.host, want)
			got := strings.Join(look(t, m, c.host, want).Obstacles, "\n")
			if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}
	m, want := machine(t), hosts.Request{Scope: hosts.User}
	write(t, m, "codex", want)
	var trusted strings.Builder
	for _, event := range []string{"session_start", "pre_tool_use", "post_tool_use", "stop", "user_prompt_submit"} {
		fmt.Fprintf(&trusted, "[hooks.state.\"%s/.codex/hooks.json:%s:0:0\"]\ntrusted_hash = \"sha256:1\"\n", m.Home, event)
	}
	put(t, filepath.Join(m.Home, ".codex/config.toml"), trusted.String())
	if got := look(t, m, "codex", want).Obstacles; len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// Whatever shape a file has, it is either told of or written so that it is content, and nothing of it is lost.
func TestShapes(t *testing.T) {
	for _, text := range []string{
		`null`, `1`, `"x"`, `{"mcpServers": null}`, `{"mcpServers": 1}`, `{"mcpServers": {"planloop": null}}`,
		`{"mcpServers": {"planloop": "planloop serve"}}`, `{"mcpServers": {"planloop": {"command": 5, "args": "serve"}}}`,
		`{"mcpServers": {"planloop": {"command": ["planloop", "serve"]}}}`,
		`{"mcpServers": {"planloop": {"command": "planloop", "args": [1]}}}`,
		`{"hooks": null}`, `{"hooks": []}`, `{"hooks": {"BeforeTool": null}}`, `{"hooks": {"BeforeTool": {}}}`,
		`{"hooks": {"BeforeTool": [null, 1]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": null}, {"hooks": [1, "x", null, {"command": 3}]}]}}`, `{"hooks": {"BeforeTool": [[]]}}`,
		`{"hooks": {"BeforeTool": [{"matcher": 1, "hooks": [{"command": "planloop hook gemini before-tool", "args": 1}]}]}}`,
		`{"hooks": {"": [{"hooks": [{"command": "planloop hook gemini x"}]}]}}`,
		`{"mcp": []}`, `{"mcp": {"planloop": []}}`, `{"mcp": {"planloop": {"command": []}}}`, `{"mcp": {"planloop": {"command": [1]}}}`,
		`{"mcp": {"planloop": {"command": ["planloop"]}}}`,
	} {
		m, want, name, file := machine(t), hosts.Request{Scope: hosts.User}, "gemini", ".gemini/settings.json"
		if strings.HasPrefix(text, `{"mcp":`) {
			name, file = "opencode", ".config/opencode/opencode.json"
		}
		path := filepath.Join(m.Home, file)
		put(t, path, text)
		edit := look(t, m, name, want).Edits[0]
		var refused *hosts.Refusal
		if err := m.Write(edit); err != nil || edit.Fault != nil && !errors.As(edit.Fault, &refused) {
			t.Errorf("%s: %v, %v", text, edit.Fault, err)
		}
		t.Logf("%s: server %s, hooks %s, %v", text, edit.Server, edit.Hooks, edit.Fault)
		if edit.Fault != nil {
			if read(t, path) != text {
				t.Errorf("%s was changed into %s", text, read(t, path))
			}
			continue
		}
		again := look(t, m, name, want).Edits[0]
		if again.HasChanges() || again.Server == hosts.Missing || again.Hooks == hosts.Missing {
			t.Errorf("%s: server %s, hooks %s, and still\n%s", text, again.Server, again.Hooks, again.Difference("x"))
		}
		write(t, m, name, hosts.Request{Scope: hosts.User, Remove: true})
		got := read(t, path)
		hooked := strings.Contains(text, "hook gemini before-tool")
		if !strings.Contains(text, "planloop") && meaning(t, path, got) != meaning(t, path, text) ||
			strings.Contains(got, m.Program+"' hook") != hooked {
			t.Errorf("%s comes back as %s", text, got)
		}
	}
}

// TestAProjectsProgramIsAnother: a file may name this planloop, or another version outside the project; a program that comes with the
// project is another one under planloop's name, in the user's files as well.
func TestAProjectsProgramIsAnother(t *testing.T) {
	m := machine(t)
	m.LookPath = func(name string) (string, error) { return filepath.Join(m.Project, "bin", name), nil }
	for program, want := range map[string]hosts.State{
		m.Program: hosts.Current, "/usr/bin/planloop": hosts.Old, filepath.Join(m.Home, "bin", "planloop-1.2"): hosts.Old,
		"./planloop": hosts.Foreign, "node_modules/.bin/planloop": hosts.Foreign, filepath.Join(m.Project, "planloop"): hosts.Foreign,
		"planloop": hosts.Foreign, "../planloop": hosts.Foreign, "npx": hosts.Foreign,
	} {
		for scope, file := range map[hosts.Scope]string{hosts.Project: filepath.Join(m.Project, ".gemini", "settings.json"),
			hosts.User: filepath.Join(m.Home, ".gemini", "settings.json")} {
			put(t, file, fmt.Sprintf(`{"mcpServers":{"planloop":{"command":%q,"args":["serve"]}}}`, program))
			host, _ := m.Inspect("gemini", hosts.Request{Scope: scope, NoHooks: true})
			if host.Server != want {
				t.Errorf("%s in %s: %s, want %s", program, scope, host.Server, want)
			}
		}
	}
	m.Project = m.Home // no project
	put(t, filepath.Join(m.Home, ".gemini", "settings.json"),
		fmt.Sprintf(`{"mcpServers":{"planloop":{"command":%q,"args":["serve"]}}}`, filepath.Join(m.Home, "planloop")))
	if host, _ := m.Inspect("gemini", hosts.Request{Scope: hosts.User, NoHooks: true}); host.Server != hosts.Old {
		t.Error(host.Server)
	}
}
