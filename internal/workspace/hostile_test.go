package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/workspace"
)

// refused loads and returns the refusal.
func refused(t *testing.T, s workspace.Sources) error {
	t.Helper()
	_, _, err := workspace.Load(s)
	var refusal *workspace.ConfigError
	if !errors.As(err, &refusal) {
		t.Fatalf("not refused: %v", err)
	}
	return err
}

func TestLinkedWorkspaceFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	write(t, outside, "parallel: 9")
	tests := []struct {
		name, target string
		taken        bool
	}{
		{"outside, absolute", outside, false},
		{"outside, relative", filepath.Join("..", "outside.yaml"), false},
		{"nowhere", "missing.yaml", false},
		{"itself", workspace.FileName, false},
		{"a folder", ".", false},
		{"inside", filepath.Join("sub", "own.yaml"), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := layers{}.sources(t)
			write(t, filepath.Join(s.Workspace.Path, "sub", "own.yaml"), "parallel: 9")
			write(t, filepath.Join(filepath.Dir(s.Workspace.Path), "outside.yaml"), "parallel: 9")
			testenv.Check(t, os.Symlink(test.target, filepath.Join(s.Workspace.Path, workspace.FileName)))
			if !test.taken {
				refused(t, s)
				return
			}
			if c, _, err := workspace.Load(s); err != nil || c.Parallel != 9 {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

func TestFilesThatAreNone(t *testing.T) {
	s := layers{}.sources(t)
	own := filepath.Join(s.Workspace.Path, workspace.FileName)
	testenv.Check(t, os.MkdirAll(own, 0o755))
	if err := refused(t, s); !strings.Contains(err.Error(), "not a plain file") {
		t.Error(err)
	}
}

func TestUsersFile(t *testing.T) {
	s := layers{user: "approval: person"}.sources(t)
	path := testenv.Must(workspace.ConfigFile(s.Getenv, s.Home))(t)
	// Stored elsewhere and linked, as dotfile managers do.
	real := filepath.Join(t.TempDir(), "dotfile.yaml")
	testenv.Check(t, errors.Join(os.Rename(path, real), os.Symlink(real, path)))
	if c, _, err := workspace.Load(s); err != nil || !c.NeedsPerson {
		t.Fatalf("%+v, %v", c, err)
	}
	testenv.Check(t, os.Chmod(real, 0o666))
	if err := refused(t, s); !strings.Contains(err.Error(), "chmod") {
		t.Error(err)
	}
	// A missing policy differs from one that was never written.
	testenv.Check(t, os.Remove(real))
	refused(t, s)
}

// Each is 64 KB that could cost a parser minutes or gigabytes.
func TestBombs(t *testing.T) {
	const size = 64 << 10
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	billion := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		billion += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]\n"
	}
	for name, text := range map[string]string{
		"laughs": billion, "brackets": fill("["), "braces": fill("{a: "), "colons": fill("a: "), "dashes": fill("- "),
		"questions": fill("? "), "anchors": fill("&a "), "merges": fill("<<: \n"), "keys": fill("a\n"), "documents": fill("---\n"),
		"list": "toolsets:\n" + strings.Repeat("- x\n", size/4-4), "flow colons": "{" + strings.Repeat("a: ", 1300),
		"flow of questions": "[" + strings.Repeat("? ", 3900),
		"words":             "toolsets: [" + strings.Repeat("x,", size/2-8) + "]", "commas": fill(","), "bangs": fill("!"),
		"percents": fill("%\n"),
		"pipes":    fill("|\n"),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			refused(t, layers{own: text}.sources(t))
			// A generous bound, for a busy machine: it must take a moment, not hours.
			if spent := time.Since(start); spent > 2*time.Minute {
				t.Errorf("took %v", spent)
			}
		})
	}
}

// Whatever a repository contains, loading ends in a configuration no looser than without it, or in a printable one-line
// error.
func FuzzWorkspaceFile(f *testing.F) {
	for _, seed := range []string{
		everything, "toolsets: [loop]", "gates: {paths: off}", "gates: strict", "approval: any", "servers: {a: [b]}",
		"a: &a [*a]", "<<: *a", "- - - -", "? a\n: b", "{a: [b, {c: d}]}", "text: |\n  ascii\n", "text: >-\n ascii", "'text': \"ascii\"",
		"---\n---\n", "%YAML 1.2\n", "!!map {}", "\ufeff", "text: 'asc", "text:\n\tascii", "[]: x", "{}: y", "? [a]\n: b", "null: 1",
		".inf: .nan", "a: \"\\x1b\"",
	} {
		f.Add(seed)
	}
	top := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		dir := testenv.Must(os.MkdirTemp(top, "w"))(t)
		defer os.RemoveAll(dir)
		write(t, filepath.Join(dir, workspace.FileName), text)
		s := workspace.Sources{
			Getenv: getenv(nil, "XDG_CONFIG_HOME", filepath.Join(top, "none")), Home: top,
			Workspace: workspace.Workspace{Path: dir},
		}
		got, warnings, err := workspace.Load(s)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		checkNoLooser(t, got)
		for _, w := range warnings {
			if strings.ContainsAny(w.Error(), "\n\x1b\x00") {
				t.Fatalf("warning %q", w)
			}
		}
	})
}

func checkRefusal(t *testing.T, err error) {
	var refusal *workspace.ConfigError
	if !errors.As(err, &refusal) || strings.ContainsAny(err.Error(), "\n\x1b\x00") || len(err.Error()) > 2000 {
		t.Fatalf("refusal %q", err)
	}
}

func checkNoLooser(t *testing.T, got workspace.Config) {
	d := workspace.Defaults()
	for _, name := range got.Toolsets {
		if !slices.Contains(d.Toolsets, name) {
			t.Fatalf("toolset %q was added", name)
		}
	}
	if got.Gates.Profile == gates.Lenient || got.Gates.Level("any", gates.Error) != gates.Error ||
		got.Gates.Levels != nil {
		t.Fatalf("gates were loosened: %+v", got.Gates)
	}
	early := got.ApprovalTimeout != 0 && got.ApprovalTimeout < d.ApprovalTimeout || got.GatheringTimeout != 0 &&
		got.GatheringTimeout < d.GatheringTimeout
	if early || got.Parallel < 1 || got.MaxReplans < 1 || got.Lease <= 0 {
		t.Fatalf("limits: %+v", got)
	}
	if !filepath.IsLocal(got.AgentsFile) || !strings.Contains(got.AgentsFile, ".m") {
		t.Fatalf("agents file %q", got.AgentsFile)
	}
	if got.Agents.Given() || got.Servers.Given() || got.Model.Given() || got.Notify.Given() || got.Store.Given() ||
		got.ReadOnlyTools != nil || got.ReadOnlyCommands != nil {
		t.Fatal("a section was taken")
	}
}

// A user's section may be refused when decoded, but never panics.
func FuzzSection(f *testing.F) {
	for _, seed := range []string{"{a: {command: [x]}}", "memory", "[1, 2.5, true, ~]", "{1: 2}", "'", "{a: {b: .nan}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) || text == "" {
			return // variables cannot hold that
		}
		s := workspace.Sources{Getenv: getenv(nil, "XDG_CONFIG_HOME", "/none", "PLANLOOP_SERVERS", text), Home: "/none"}
		c, _, err := workspace.Load(s)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		var into map[string]struct {
			Command []string
			Env     map[string]string
			Timeout int
		}
		if err := c.Servers.Decode(&into); err != nil {
			checkRefusal(t, err)
		}
	})
}

// Every command and hook pays for these before it does anything.
func BenchmarkLoadWithoutFiles(b *testing.B) {
	top := b.TempDir()
	s := workspace.Sources{Getenv: getenv(nil, "XDG_CONFIG_HOME", top), Home: top, Workspace: workspace.Workspace{Path: top}}
	for b.Loop() {
		if _, _, err := workspace.Load(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	top := b.TempDir()
	in := workspace.Lookup{Flag: top, Getenv: getenv(nil, "XDG_STATE_HOME", top), Home: top}
	for b.Loop() {
		if _, err := workspace.Find(in); err != nil {
			b.Fatal(err)
		}
	}
}
