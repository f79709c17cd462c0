package agentsmd_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/internal/testenv"
)

var update = flag.Bool("update", false, "rewrite what the scenarios found")

const (
	canonical = "# Rules\n\n```sh\nplanloop status --json\n```\n"
	agents    = "docs/agents.md"
)

// TestScenarios reads a file, before, and compares the state, and the corrected file, with the scenario.
func TestScenarios(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			scenario := testenv.Must(txtar.ParseFile(name))(t)
			dir := workspace(t, string(scenario.Files[0].Data))
			got := &txtar.Archive{Comment: scenario.Comment, Files: append(scenario.Files[:1:1], looked(t, dir)...)}
			if *update {
				testenv.Check(t, os.WriteFile(name, txtar.Format(got), 0o644))
				return
			}
			if diff := cmp.Diff(string(txtar.Format(scenario)), string(txtar.Format(got))); diff != "" {
				t.Error(diff)
			}
			requireWritten(t, dir, scenario.Files[0].Data)
		})
	}
}

func looked(t *testing.T, dir string) []txtar.File {
	t.Helper()
	found := inspect(t, dir)
	said := fmt.Sprintf("state: %s\n", found.State)
	if found.Edits != "" {
		said += fmt.Sprintf("edits: %q\n", found.Edits)
	}
	if found.Refusal != nil {
		return []txtar.File{{Name: "found", Data: []byte(said + found.Refusal.Error() + "\n")}}
	}
	return []txtar.File{{Name: "found", Data: []byte(said)}, {Name: "after", Data: found.Content}}
}

// requireWritten: Write produces the file that Inspect returned, and a file refused by Inspect stays unchanged.
func requireWritten(t *testing.T, dir string, before []byte) {
	t.Helper()
	found := inspect(t, dir)
	result, err := agentsmd.Write(dir, agents, canonical, false)
	if found.Refusal != nil {
		requireRefusal(t, err, found.State)
		requireFile(t, dir, agents, string(before))
		return
	}
	if err != nil || !bytes.Equal(result.Content, found.Content) {
		t.Fatalf("%v, %+v", err, result)
	}
	requireFile(t, dir, agents, string(found.Content))
	if after := inspect(t, dir); after.State != agentsmd.InSync {
		t.Errorf("after writing it is %s", after.State)
	}
}

// workspace returns a folder in which docs/agents.md holds a text.
func workspace(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, agents, text)
	return dir
}

func put(t *testing.T, dir, file, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(file))
	testenv.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o644))
}

func inspect(t *testing.T, dir string) agentsmd.Result {
	t.Helper()
	found := testenv.Must(agentsmd.Inspect(dir, agents, canonical))(t)
	return found
}

func requireFile(t *testing.T, dir, file, want string) {
	t.Helper()
	got := testenv.Must(os.ReadFile(filepath.Join(dir, filepath.FromSlash(file))))(t)
	if string(got) != want {
		t.Errorf("%s holds %q, want %q", file, got, want)
	}
}
