package workspace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/planloop/planloop/internal/workspace"
)

func TestMarker(t *testing.T) {
	dir := t.TempDir()
	w := workspace.Workspace{Path: "/home/ann/<code> & \"more\"\xff"}
	path := filepath.Join(dir, workspace.MarkerFile)
	// A link in its place is replaced, not followed.
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, victim, "kept")
	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.WriteMarker(dir); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	text, _ := os.ReadFile(path)
	var got workspace.Description
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
	if err := w.WriteMarker(dir); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(filepath.Join(dir, workspace.MarkerFile))
	if err := w.WriteMarker(dir); err != nil {
		t.Fatal(err)
	}
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
