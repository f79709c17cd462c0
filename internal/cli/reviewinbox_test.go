package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// A quiet workspace is not opened again until it changes, not even by the next process. Waiting items are always found, whatever is stored.
func TestNextDeskOpensWhatHasChanged(t *testing.T) {
	u := userAt{t, t.TempDir()}
	states := map[string]string{}
	for i := range 12 {
		name := fmt.Sprintf("p%02d", i)
		ws := u.plans(name)
		if i == 3 {
			asks(t, ws, "Which one?")
		}
		if states[name] = ws.place.StateDir; ws.session.Close() != nil {
			t.Fatal(name)
		}
	}
	look := func() (waiting, unreadable int) {
		t.Helper()
		return lookAgain(u, 12)
	}
	if waiting, unreadable := look(); waiting != 1 || unreadable != 0 {
		t.Fatal(waiting, unreadable)
	}
	kept := filepath.Join(filepath.Dir(states["p00"]), inboxCacheName)
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	damage(t, states["p05"], true) // only visible when the log is opened
	if waiting, unreadable := look(); waiting != 1 || unreadable != 0 {
		t.Errorf("what has not changed was opened: %d, %d", waiting, unreadable)
	}
	damage(t, states["p06"], false)
	ws := u.ws("p07")
	asks(t, ws, "And which of these?")
	if waiting, unreadable := look(); waiting != 2 || unreadable != 1 {
		t.Errorf("what has changed was not opened: %d, %d", waiting, unreadable)
	}
	must(t, os.RemoveAll(states["p08"]))
	u.plans("p08")
	asks(t, u.ws("p08"), "A new log, of the same length?")
	for _, text := range []string{"", "{", "null", `{"version":"another","places":{"p08":{}}}`} {
		must(t, os.WriteFile(kept, []byte(text), 0o600))
		if waiting, unreadable := look(); waiting != 3 || unreadable != 2 {
			t.Errorf("beside %q: %d, %d", text, waiting, unreadable)
		}
	}
	text, err := os.ReadFile(kept)
	var now inboxCacheFile
	if err != nil || json.Unmarshal(text, &now) != nil || len(now.Places) != 7 {
		t.Errorf("%v: %d are kept", err, len(now.Places))
	}
}

// A quiet track is not opened again by the next process either.
func TestNextDeskKnowsQuietTracks(t *testing.T) {
	u := userAt{t, t.TempDir()}
	place, err := u.plans("p00").place.BeginTrack("docs", sqlite.RemoveUnused)
	must(t, err)
	docs, err := u.in("p00").within(place).open(t.Context(), nil)
	must(t, err)
	_, err = docs.verbs.SetupPlan(t.Context(), codex, verbs.SetupPlan{Objective: "Fix the docs"})
	must(t, err)
	must(t, docs.session.Close())
	for range 2 {
		if waiting, unreadable := lookAgain(u, 2); waiting+unreadable > 0 {
			t.Errorf("%d wait, %d cannot be read", waiting, unreadable)
		}
		damage(t, place.StateDir, true) // only visible when the log is opened
	}
}

// A question whose process was killed before it updated the head is found by the next workspaces.
func TestNextDeskFindsWhatNoHeadTells(t *testing.T) {
	u := userAt{t, t.TempDir()}
	ws := u.plans("p00") // stays open: appended records are in the write-ahead log
	growth, err := sqlite.MakeGrowthFolder(ws.place.StateDir)
	must(t, err)
	if waiting, _ := lookAgain(u, 1); waiting != 0 {
		t.Fatal(waiting)
	}
	head := filepath.Join(growth, "head")
	before, err := os.ReadFile(head)
	must(t, err)
	asks(t, ws, "Which one?")
	must(t, os.WriteFile(head, before, 0o600))
	if waiting, _ := lookAgain(u, 1); waiting != 1 {
		t.Errorf("%d questions wait, want 1", waiting)
	}
}

// While an agent is at work, its silence would be news: its workspace is not stored as quiet.
func TestNothingIsKeptOfWhoIsAtWork(t *testing.T) {
	for name, c := range map[string]struct {
		does plan.Action
		kept bool
	}{
		"a step that waits":       {nil, true},
		"a step in progress":      {plan.MarkStep{Step: 1, Status: plan.InProgress}, false},
		"a step that is done":     {plan.MarkStep{Step: 1, Status: plan.Done}, true},
		"a run that nobody keeps": {plan.BeginRun{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			u := userAt{t, t.TempDir()}
			ws := u.plans("p00")
			steps := plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Look"}}, {Spec: plan.Spec{Title: "Build"}}}}
			for _, action := range []plan.Action{steps, c.does} {
				if action == nil {
					continue
				}
				if _, err := ws.session.Do(t.Context(), codex.Actor, action, nil); err != nil {
					t.Fatal(err)
				}
			}
			d := u.workspaces("p00")
			if _, err := review.ReadInbox(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if kept := len(d.cache.places) == 1; kept != c.kept {
				t.Errorf("kept: %t, want %t", kept, c.kept)
			}
		})
	}
}

// lookAgain has the next process read the inbox, which must list that many workspaces, and returns the numbers of waiting items and of
// unreadable workspaces. It ends the process: what watches a folder may make a part of it again while the test deletes it.
func lookAgain(u userAt, workspaces int) (waiting, unreadable int) {
	u.t.Helper()
	d := u.newWorkspaces("p00")
	defer func() { must(u.t, d.close()) }()
	inbox, err := review.ReadInbox(u.t.Context(), d)
	if err != nil || len(inbox.Workspaces) != workspaces {
		u.t.Fatalf("%v: %+v", err, inbox)
	}
	for _, place := range inbox.Workspaces {
		if place.UpdatedAt.IsZero() {
			unreadable++
		}
	}
	return len(inbox.Waiting), unreadable
}

func asks(t *testing.T, ws *openWorkspace, question string) {
	t.Helper()
	if _, err := ws.verbs.AskUser(t.Context(), codex, verbs.AskUser{Question: question}); err != nil {
		t.Fatal(err)
	}
}

// damage corrupts a database, with or without a change of its size and time.
func damage(t *testing.T, state string, hidden bool) {
	t.Helper()
	path := sqlite.DatabasePath(state)
	info, err := os.Stat(path)
	must(t, err)
	must(t, os.WriteFile(path, make([]byte, info.Size()), 0o600))
	if hidden {
		err = os.Chtimes(path, info.ModTime(), info.ModTime())
	}
	must(t, err)
}
