package agentsmd_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/internal/testenv"
)

// enough is how long a test waits for an event.
const enough = 2 * time.Minute

// watching is a workspace with a watched file.
type watching struct {
	t    *testing.T
	dir  string
	told <-chan struct{}
}

func watch(t *testing.T, dir string) watching {
	t.Helper()
	told := testenv.Must(agentsmd.Watch(t.Context(), dir, agents, time.Millisecond))(t)
	return watching{t, dir, told}
}

// until waits for reports until the file is in a state. It looks only after a report, so it fails if the last change
// was not reported.
func (w watching) until(state agentsmd.State) {
	w.t.Helper()
	limit := time.After(enough)
	for {
		select {
		case <-w.told:
			if inspect(w.t, w.dir).State == state {
				return
			}
		case <-limit:
			w.t.Fatalf("not told; it is %s, want %s", inspect(w.t, w.dir).State, state)
		}
	}
}

func (w watching) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w watching) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func TestWatchAFile(t *testing.T) {
	w := watch(t, workspace(t, "a\n"))
	write(t, w.dir, canonical)
	w.until(agentsmd.InSync)
	put(t, w.dir, agents, "b\n")
	w.until(agentsmd.NoBlock)
	w.do(os.WriteFile(w.path("docs/new"), []byte(block(t)), 0o644))
	w.do(os.Rename(w.path("docs/new"), w.path(agents))) // as editors do
	w.until(agentsmd.InSync)
	w.do(os.Remove(w.path(agents)))
	w.until(agentsmd.Absent)
	put(t, w.dir, agents, "c\n")
	w.until(agentsmd.NoBlock)
}

func TestWatchAFileThatIsYetToCome(t *testing.T) {
	w := watch(t, t.TempDir())
	for range 3 {
		write(t, w.dir, canonical)
		w.until(agentsmd.InSync)
		w.do(os.RemoveAll(w.path("docs")))
		w.until(agentsmd.Absent)
	}
}

func TestWatchAFolderThatIsMoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder that is watched cannot be moved")
	}
	w := watch(t, workspace(t, "a\n"))
	w.do(os.Rename(w.path("docs"), w.path("old")))
	w.until(agentsmd.Absent)
	put(t, w.dir, agents, "b\n")
	w.until(agentsmd.NoBlock)
	put(t, w.dir, agents, block(t))
	w.until(agentsmd.InSync)
}

func TestWatchALink(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "AGENTS.md", "a\n")
	put(t, dir, "other/AGENTS.md", block(t))
	testenv.Check(t, os.Mkdir(filepath.Join(dir, "docs"), 0o755))
	if err := os.Symlink("../AGENTS.md", filepath.Join(dir, "docs", "agents.md")); err != nil {
		t.Skip("no links here:", err)
	}
	w := watch(t, dir)
	put(t, dir, "AGENTS.md", block(t))
	w.until(agentsmd.InSync)
	put(t, dir, "AGENTS.md", "a\n")
	w.until(agentsmd.NoBlock)
	w.do(os.Symlink("../other/AGENTS.md", w.path("docs/new")))
	w.do(os.Rename(w.path("docs/new"), w.path(agents)))
	w.until(agentsmd.InSync)
	put(t, dir, "other/AGENTS.md", "b\n")
	w.until(agentsmd.NoBlock)
}

func TestWatchingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	told := testenv.Must(agentsmd.Watch(ctx, workspace(t, "a\n"), agents, time.Hour))(t)
	cancel()
	select {
	case _, ok := <-told:
		if ok {
			t.Error("told of nothing")
		}
	case <-time.After(enough):
		t.Error("it goes on")
	}
}

func TestAFolderThatGoesAwayEndsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	put(t, dir, agents, "a\n")
	w := watch(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Skip("a folder that is watched cannot be removed here:", err)
	}
	limit := time.After(enough)
	for {
		select {
		case _, ok := <-w.told:
			if !ok {
				t.Fatal("the watch has ended")
			}
		case <-limit:
			t.Fatal("not told")
		}
		if _, err := agentsmd.Inspect(dir, agents, canonical); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
}
