package agentsmd

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/testenv"
)

// unattended returns a watcher with events that the test reads itself, so that several changes can happen between two
// of them.
func unattended(t *testing.T, dir, file string) *watcher {
	t.Helper()
	files := testenv.Must(fsnotify.NewWatcher())(t)
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &watcher{dir: dir, file: file, files: files, events: make(chan struct{}, 1), folders: map[string]bool{}}
	testenv.Check(t, w.arm())
	return w
}

// A folder is moved away and another gets its name before the watcher looks: the new one must be watched.
func TestAFolderThatIsAnotherOne(t *testing.T) {
	for _, file := range []string{"docs/agents.md", "docs/deep/agents.md"} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(file))
		makeFolder(t, filepath.Dir(path))
		w := unattended(t, dir, file)
		docs := filepath.Join(dir, "docs")
		if err := os.Rename(docs, filepath.Join(dir, "old")); err != nil {
			t.Skip("a folder that is watched cannot be moved here:", err)
		}
		makeFolder(t, filepath.Dir(path))
		w.follow(docs)
		if len(w.events) != 1 {
			t.Error("not told")
		}
		testenv.Check(t, os.WriteFile(path, []byte("a"), 0o644))
		w.await(t, path)
	}
}

func (w *watcher) await(t *testing.T, path string) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		select {
		case event := <-w.files.Events:
			if event.Name == path {
				return
			}
		case <-limit:
			t.Fatalf("%s is not watched", path)
		}
	}
}

func makeFolder(t *testing.T, path string) {
	t.Helper()
	testenv.Check(t, os.MkdirAll(path, 0o755))
}

func TestWhatConcernsAFile(t *testing.T) {
	dir := t.TempDir()
	makeFolder(t, filepath.Join(dir, "docs"))
	w := unattended(t, dir, "docs/agents.md")
	for name, want := range map[string]bool{
		".": true, "docs": true, "docs/agents.md": true, // the folders themselves, too
		"README.md": false, "agents.md": false, "docs/other.md": false, "docs/deep/agents.md": false, "docs/.planloop-X.tmp": false,
	} {
		if got := w.concerns(filepath.Join(dir, filepath.FromSlash(name))); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestManyEventsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, told := make(chan struct{}), make(chan struct{}, 1)
		go mergeEvents(t.Context(), events, told, time.Second)
		start := time.Now()
		for range 3 {
			events <- struct{}{}
			time.Sleep(900 * time.Millisecond) // of a fake clock
		}
		<-told
		if took := time.Since(start); took != 2800*time.Millisecond {
			t.Errorf("told after %v", took)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(told) != 0 {
			t.Error("told twice")
		}
		events <- struct{}{}
		<-told
		close(events)
		if _, ok := <-told; ok {
			t.Error("told after the end")
		}
	})
}

func TestEndlessEventsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		events, told := make(chan struct{}, 1), make(chan struct{}, 1)
		go mergeEvents(ctx, events, told, time.Second)
		go func() {
			for tick := time.Tick(time.Second / 2); ; {
				select {
				case <-tick:
					notify(events)
				case <-ctx.Done():
					return
				}
			}
		}()
		start := time.Now()
		for range 3 {
			<-told
		}
		if took := time.Since(start); took < 30*time.Second || took > 32*time.Second {
			t.Errorf("told three times in %v", took)
		}
		cancel()
		for range told {
		}
		synctest.Wait()
	})
}
