package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/workspace"
)

// Whatever a repository carries, loading ends in a configuration no looser than
// without it, or in one line that can be shown.
func FuzzWorkspaceFile(f *testing.F) {
	for _, seed := range []string{
		everything, "toolsets: [loop]", "gates: {paths: off}", "gates: strict", "approval: any", "servers: {a: [b]}",
		"a: &a [*a]", "<<: *a", "- - - -", "? a\n: b", "{a: [b, {c: d}]}", "text: |\n  ascii\n", "text: >-\n ascii", "'text': \"ascii\"",
		"---\n---\n", "%YAML 1.2\n", "!!map {}", "\ufeff", "text: 'asc", "text:\n\tascii", "[]: x", "{}: y", "? [a]\n: b", "null: 1", ".inf: .nan", "a: \"\\x1b\"",
	} {
		f.Add(seed)
	}
	top := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		dir, err := os.MkdirTemp(top, "w")
		if err != nil {
			t.Fatal(err)
		}
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
			if strings.ContainsAny(w.String(), "\n\x1b\x00") {
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
	if got.Gates.Profile == workspace.Lenient || got.Gates.Level("any", workspace.ErrLevel) != workspace.ErrLevel || got.Gates.Levels != nil {
		t.Fatalf("gates were loosened: %+v", got.Gates)
	}
	early := got.ApprovalTimeout != 0 && got.ApprovalTimeout < d.ApprovalTimeout || got.GatheringTimeout != 0 && got.GatheringTimeout < d.GatheringTimeout
	if early || got.Parallel < 1 || got.MaxReplans < 1 || got.Lease <= 0 {
		t.Fatalf("limits: %+v", got)
	}
	if !filepath.IsLocal(got.AgentsFile) || !strings.Contains(got.AgentsFile, ".m") {
		t.Fatalf("agents file %q", got.AgentsFile)
	}
	if got.Servers.Given() || got.Model.Given() || got.Notify.Given() || got.Hooks.Given() || got.Store.Given() {
		t.Fatal("a section was taken")
	}
}

// What a user writes for a section may be refused when decoded, never panics.
func FuzzSection(f *testing.F) {
	for _, seed := range []string{"{a: {command: [x]}}", "memory", "[1, 2.5, true, ~]", "{1: 2}", "'", "{a: {b: .nan}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) || text == "" {
			return // no variable holds that
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
