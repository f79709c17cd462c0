package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// mirrored is a process with a session on a log, and a mirror in a folder.
type mirrored struct {
	*testing.T
	*mirror
}

func newMirrored(t *testing.T, log store.Log, dir string) mirrored {
	a := &app{environment: environment{getenv: func(string) string { return "" }, err: t.Output()}}
	m := a.newMirror(workspace.Workspace{Path: dir, StateDir: filepath.Join(dir, "state")}, "PLAN.md")
	m.session = session.New(log, session.Options{Changed: m.changed})
	return mirrored{t, m}
}

func (m mirrored) do(a plan.Action) {
	m.Helper()
	if _, err := m.session.Do(context.Background(), plan.Actor{Kind: plan.Agent, Name: "ann"}, a, nil); err != nil {
		m.Error(err)
	}
}

func (m mirrored) add(title string) {
	m.Helper()
	m.do(plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: title}}}})
}

func (m mirrored) expect(when string, want ...string) {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.place.Path, m.file))
	if err != nil {
		m.Fatal(err)
	}
	if got := strings.Count(string(text), "- [ ] "); got != len(want) {
		m.Errorf("%s: %d steps, want %d", when, got, len(want))
	}
	for _, title := range want {
		if !strings.Contains(string(text), title) {
			m.Errorf("%s: no %s in\n%s", when, title, text)
		}
	}
}

// The first of several changes is written at once, the others together after a second or when the process ends.
func TestMirrorWritesOnceASecondAndTheLastState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMirrored(t, store.NewMemory(), t.TempDir())
		m.do(plan.SetUp{Outline: plan.Outline{Objective: "Test"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "one"}}}})
		synctest.Wait()
		m.expect("at once", "one")
		m.add("two")
		m.add("three")
		synctest.Wait()
		m.expect("in the same second", "one")
		time.Sleep(mirrorInterval) // of a fake clock
		synctest.Wait()
		m.expect("a second later", "one", "two", "three")
		m.add("four")
		ending := time.Now()
		m.close()
		m.expect("at the end", "one", "two", "three", "four")
		if waited := time.Since(ending); waited > 0 {
			t.Errorf("the end waits for %v", waited)
		}
	})
}

// slowLog delays a process between its last look at the log and its write.
type slowLog struct {
	store.Log
	before func()
}

func (l *slowLog) Head(ctx context.Context) (store.Head, error) {
	head, err := l.Log.Head(ctx)
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	return head, err
}

// A process that writes late does not leave an older state than another process wrote.
func TestMirrorOfASlowProcessIsNotTheLastWord(t *testing.T) {
	log, dir := store.NewMemory(), t.TempDir()
	fast := newMirrored(t, log, dir)
	behind := &slowLog{Log: log}
	slow := newMirrored(t, behind, dir)
	fast.do(plan.SetUp{Outline: plan.Outline{Objective: "Test"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "one"}}}})
	fast.close()
	fast = newMirrored(t, log, dir)
	behind.before = func() {
		fast.add("three")
		fast.close()
		fast.expect("from the fast one", "one", "two", "three")
	}
	slow.add("two")
	slow.close()
	slow.expect("in the end", "one", "two", "three")
}

// A file of the user's that appears during a write is not replaced.
func TestMirrorMeetsAFileOfTheUser(t *testing.T) {
	for _, when := range []string{"first write", "later write", "before a write"} {
		t.Run(when, func(t *testing.T) {
			log, dir := &slowLog{Log: store.NewMemory()}, t.TempDir()
			m := newMirrored(t, log, dir)
			appear := func() {
				if err := os.WriteFile(filepath.Join(dir, m.file), []byte("- [ ] mine\n"), 0o644); err != nil {
					t.Error(err)
				}
			}
			if when == "first write" {
				log.before = appear
			}
			m.do(plan.SetUp{Outline: plan.Outline{Objective: "Test"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "one"}}}})
			m.close()
			m = newMirrored(t, log, dir)
			switch when {
			case "later write":
				log.before = appear
			case "before a write":
				appear()
			}
			m.add("two")
			m.close()
			m.expect("in the end", "mine")
		})
	}
}
