package agentsmd_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
)

func write(t *testing.T, dir, text string) agentsmd.Result {
	t.Helper()
	result := testenv.Must(agentsmd.Write(dir, agents, text, false))(t)
	return result
}

func remove(t *testing.T, dir string) agentsmd.Result {
	t.Helper()
	result := testenv.Must(agentsmd.Remove(dir, agents, false))(t)
	return result
}

// requireOnly checks that a folder contains only these files.
func requireOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(dir, path)
			got = append(got, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestALife(t *testing.T) {
	dir := t.TempDir()
	own := block(t)
	result := write(t, dir, "Older rules.")
	if result.Action != agentsmd.Created || result.Before != nil || result.Target != agents {
		t.Errorf("%+v", result)
	}
	if result := write(t, dir, canonical); result.Action != agentsmd.Updated {
		t.Errorf("%+v", result)
	}
	requireFile(t, dir, agents, own+"\n")
	put(t, dir, agents, strings.Replace(own, "# Rules", "# Rules\n\nMine.", 1)+"\n")
	if result := write(t, dir, canonical); result.Action != agentsmd.Restored || !strings.Contains(result.Edits, "Mine.") {
		t.Errorf("%+v", result)
	}
	if result := write(t, dir, canonical); result.Action != agentsmd.Unchanged || string(result.Content) != own+"\n" {
		t.Errorf("%+v", result)
	}
	requireOnly(t, dir, agents)
	if result := remove(t, dir); result.Action != agentsmd.Deleted || result.Content != nil || string(result.Before) != own+"\n" {
		t.Errorf("%+v", result)
	}
	requireOnly(t, dir)
	if result := remove(t, dir); result.Action != agentsmd.Unchanged {
		t.Errorf("%+v", result)
	}
}

func TestAUsersFileComesBack(t *testing.T) {
	rapidtest.Check(t, func(r *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "```", "~~~", "- ```", "    x", mark}), 0, 5).Draw(r, "lines")
		text := strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "eol"))
		dir := workspace(t, text)
		if result := write(t, dir, "Older rules."); result.Action != agentsmd.Added || string(result.Before) != text {
			r.Fatalf("%+v", result)
		}
		write(t, dir, canonical)
		if found := inspect(t, dir); found.State != agentsmd.InSync {
			r.Fatalf("%q: %s", text, found.State)
		}
		if result := remove(t, dir); result.Action != agentsmd.Removed || string(result.Content) != text {
			r.Fatalf("%q: %+v", text, result)
		}
		requireFile(t, dir, agents, text)
	})
}

func TestRemoveKeepsWhatIsAround(t *testing.T) {
	own := block(t)
	for before, after := range map[string]string{
		"a\n\n" + own + "\n\nb\n":        "a\n\n\nb\n",
		"a\n" + own + "\nb":              "a\nb",
		own + "\nb\n":                    "b\n",
		"a\n" + own:                      "a\n",
		crlf("a\n\n" + own + "\nb\n"):    "a\r\n\r\nb\r\n",
		"```\n" + own + "\n```\n":        "```\n```\n",
		mark + own + "\n":                mark,
		"\n" + own + "\n":                "\n",
		own + "\n\n":                     "\n",
		"<!-- planloop:begin -->\n" + "": "", // refused
	} {
		dir := workspace(t, before)
		result, err := agentsmd.Remove(dir, agents, false)
		if after == "" {
			requireRefusal(t, err, agentsmd.Broken)
			requireFile(t, dir, agents, before)
			continue
		}
		if err != nil || result.Action != agentsmd.Removed || string(result.Content) != after {
			t.Errorf("%q became %q (%s, %v), want %q", before, result.Content, result.Action, err, after)
		}
		requireFile(t, dir, agents, after)
	}
}

func TestRemoveSaysWhatWasEdited(t *testing.T) {
	dir := workspace(t, "a\n\n"+strings.Replace(block(t), "# Rules", "Mine.", 1)+"\n")
	if result := remove(t, dir); result.Action != agentsmd.Removed || !strings.HasPrefix(result.Edits, "Mine.\n") ||
		string(result.Content) != "a\n" {
		t.Errorf("%+v", result)
	}
}

func TestDryRunsWriteNothing(t *testing.T) {
	dry := true
	dir := t.TempDir()
	result, err := agentsmd.Write(dir, agents, canonical, dry)
	if err != nil || result.Action != agentsmd.Created || len(result.Content) == 0 {
		t.Errorf("%v, %+v", err, result)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	put(t, dir, agents, block(t)+"\n")
	result, err = agentsmd.Remove(dir, agents, dry)
	if err != nil || result.Action != agentsmd.Deleted {
		t.Errorf("%v, %+v", err, result)
	}
	requireFile(t, dir, agents, block(t)+"\n")
}

func TestModesAreKept(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o640, 0o755, 0o666} {
		dir := workspace(t, "a\n")
		path := filepath.Join(dir, "docs", "agents.md")
		testenv.Check(t, os.Chmod(path, mode))
		want := testenv.Must(os.Stat(path))(t)
		write(t, dir, canonical)
		if got, err := os.Stat(path); err != nil || got.Mode() != want.Mode() {
			t.Errorf("%v became %v, %v", want.Mode(), got.Mode(), err)
		}
		requireOnly(t, dir, agents)
	}
}

func TestReadOnlyFilesAreLeftAlone(t *testing.T) {
	dir := workspace(t, "a\n")
	path := filepath.Join(dir, "docs", "agents.md")
	testenv.Check(t, os.Chmod(path, 0o444))
	if found := inspect(t, dir); found.State != agentsmd.NoBlock {
		t.Errorf("%+v", found)
	}
	for _, dry := range []bool{true, false} {
		_, err := agentsmd.Write(dir, agents, canonical, dry)
		requireRefusal(t, err, agentsmd.ReadOnly)
	}
	requireFile(t, dir, agents, "a\n")
	requireOnly(t, dir, agents)
	if result := remove(t, dir); result.Action != agentsmd.Unchanged {
		t.Errorf("%+v", result)
	}
	testenv.Check(t, os.Chmod(path, 0o644))
	write(t, dir, canonical)
	testenv.Check(t, os.Chmod(path, 0o444))
	if result := write(t, dir, canonical); result.Action != agentsmd.Unchanged {
		t.Errorf("%+v", result)
	}
	_, err := agentsmd.Remove(dir, agents, false)
	requireRefusal(t, err, agentsmd.ReadOnly)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Error("it is gone")
	}
}
