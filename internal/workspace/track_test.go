package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/planloop/planloop/internal/workspace"
)

func keepAll(string) bool { return false }

func TestTrackNames(t *testing.T) {
	for objective, want := range map[string]string{
		"Fix the docs":          "fix-the-docs",
		"  Größe: ändern!  ":    "gr-e-ndern",
		"../../etc/passwd":      "etc-passwd",
		"con":                   "track-con",
		"main":                  "track-main",
		"日本語":                   "track",
		strings.Repeat("a", 90): strings.Repeat("a", 40),
	} {
		main := workspace.Workspace{StateDir: filepath.Join(t.TempDir(), "app-1")}
		track, err := main.BeginTrack(objective, keepAll)
		if err != nil || track.Track != want || !workspace.IsTrackName(track.Track) {
			t.Errorf("%q: %q, %v", objective, track.Track, err)
		}
		again, err := main.BeginTrack(objective, func(dir string) bool { return os.Remove(dir) == nil })
		if err != nil || again != track {
			t.Errorf("%q again after it was removed as unused: %q, %v", objective, again.Track, err)
		}
	}
	for _, name := range []string{"", "..", "a/b", "A", "a--b", "-a", "nul", "a~b", strings.Repeat("a", 41)} {
		if workspace.IsTrackName(name) {
			t.Errorf("%q is taken for a track's name", name)
		}
	}
}

// TestEachBeginsItsOwnTrack from many sides at once, with one objective.
func TestEachBeginsItsOwnTrack(t *testing.T) {
	main := workspace.Workspace{StateDir: filepath.Join(t.TempDir(), "app-1")}
	begun := make([]workspace.Workspace, 20)
	var all sync.WaitGroup
	for i := range begun {
		all.Go(func() {
			var err error
			if begun[i], err = main.BeginTrack("Fix the docs "+strings.Repeat("x", 40), keepAll); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	slices.SortFunc(begun, func(a, b workspace.Workspace) int { return strings.Compare(a.StateDir, b.StateDir) })
	if distinct := slices.CompactFunc(begun, func(a, b workspace.Workspace) bool { return a.StateDir == b.StateDir }); len(distinct) != 20 {
		t.Errorf("%d tracks for 20 sessions", len(distinct))
	}
	if tracks := main.Tracks(); len(tracks) != 21 || tracks[0] != main {
		t.Errorf("tracks: %v", tracks)
	}
}

// TestOpenTracks are those on the list, and main.
func TestOpenTracks(t *testing.T) {
	main := workspace.Workspace{StateDir: filepath.Join(t.TempDir(), "app-1")}
	if main.HasTracks() {
		t.Error("tracks before the first")
	}
	var tracks []workspace.Workspace
	for _, objective := range []string{"Fix the docs", "Add login", "Tidy"} {
		track, err := main.BeginTrack(objective, keepAll)
		if err != nil || track.ListOpen(true) != nil || track.ListOpen(true) != nil {
			t.Fatal(err)
		}
		tracks = append(tracks, track)
	}
	for range 2 {
		if err := errors.Join(tracks[0].ListOpen(false), main.ListOpen(true)); err != nil {
			t.Fatal(err)
		}
	}
	want := []workspace.Workspace{main, tracks[1], tracks[2]}
	if got := tracks[0].OpenTracks(); !slices.Equal(got, want) || !main.HasTracks() {
		t.Errorf("open: %v", got)
	}
}

// TestTracksAreFound by their folders, their marks and their workspace's directory.
func TestTracksAreFound(t *testing.T) {
	home, app := t.TempDir(), t.TempDir()
	lookup := workspace.Lookup{Flag: app, Home: home, Getenv: func(name string) string {
		return map[string]string{"XDG_STATE_HOME": home}[name]
	}}
	main, err := workspace.Find(lookup)
	if err != nil {
		t.Fatal(err)
	}
	track, err := main.BeginTrack("Fix the docs", keepAll)
	if err != nil {
		t.Fatal(err)
	}
	if err := main.WriteMarker(main.SharedDir()); err != nil {
		t.Fatal(err)
	}
	if err := track.ListOpen(true); err != nil {
		t.Fatal(err)
	}
	if track.SharedDir() != main.StateDir || track.StateHome() != main.StateHome() || track.On("main") != main {
		t.Errorf("%+v is not a track of %+v", track, main)
	}
	from := workspace.FromState(track.StateDir)
	if from.StateDir != track.StateDir || from.Path != main.Path || from.Track != "fix-the-docs" {
		t.Errorf("from its folder: %+v", from)
	}
	if err := track.Mark(true); err != nil {
		t.Fatal(err)
	}
	if _, marked := main.Marked(); marked {
		t.Error("the mark of a track marks main")
	}
	isTrack := func(w workspace.Workspace) bool { return w.StateDir == track.StateDir && w.Path == main.Path }
	for name, found := range map[string][]workspace.Workspace{"marks": lookup.Marks(), "marked at": lookup.MarkedAt(app),
		"overlaps": lookup.FindOverlaps(filepath.Join(app, "a", "b.go"))} {
		if !slices.ContainsFunc(found, isTrack) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	if !slices.Contains(lookup.States(), track.StateDir) {
		t.Errorf("states: %q", lookup.States())
	}
	if err := os.Remove(track.StateDir); err != nil { // the mark holds although the log was deleted
		t.Fatal(err)
	}
	if !slices.ContainsFunc(lookup.FindOverlaps(app), isTrack) {
		t.Error("a deleted track no longer holds")
	}
}
