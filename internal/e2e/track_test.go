package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/planloop/planloop/internal/store/sqlite"
)

// planOf returns the arguments that set up a plan of one step.
func planOf(objective, step string) arguments {
	return arguments{"objective": objective, "initial_steps": []arguments{{"title": step}}}
}

// tracks returns the folders of the tracks besides main.
func (p *place) tracks() []string {
	p.t.Helper()
	folders, err := filepath.Glob(filepath.Join(p.stateDir(), "tracks", "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return folders
}

// TestEachSessionHasItsTrack has two sessions of one host plan different tasks in one directory. Each continues its own plan, before
// and after the other plans again; a shell below neither sees main.
func TestEachSessionHasItsTrack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	login, docs := p.open(), p.open()
	login.do("planning_setup_plan", planOf("Add login", "Write the form"))
	begun := docs.do("planning_setup_plan", planOf("Fix the docs", "Correct the README"))
	if !strings.Contains(begun.text, " on the new track fix-the-docs, beside ") {
		t.Error(begun.text)
	}
	for range 2 {
		for h, own := range map[*host]string{login: "Write the form", docs: "Correct the README"} {
			if got := h.do("planloop_status", arguments{}); !strings.Contains(got.text, own) {
				t.Errorf("not its own plan: %s", got.text)
			}
			if got := h.do("planning_read_plan", arguments{}); !strings.Contains(got.text, own) {
				t.Errorf("not its own plan: %s", got.text)
			}
		}
		docs.do("planning_setup_plan", planOf("Fix the docs again", "Correct the README"))
	}
	login.do("planning_mark_step", arguments{"step_id": "S001", "status": "done"})
	third := p.open()
	got := third.do("planloop_status", arguments{})
	for _, want := range []string{`'s plan "Fix the docs again". To help, take a step.`, "planning_setup_plan begins a track",
		"Correct the README"} {
		if !strings.Contains(got.text, want) {
			t.Errorf("no %s: %s", want, got.text)
		}
	}
	third.do("planloop_status", arguments{"track": "fix-the-docs"})
	if got := third.do("planloop_status", arguments{}); !strings.Contains(got.text, "Correct the README") {
		t.Errorf("the track was not joined: %s", got.text)
	}
	if refused := third.refusal("planloop_status", arguments{"track": "nowhere"}); !strings.Contains(refused, "does not exist") {
		t.Error(refused)
	}
	if docs.kill(); !strings.Contains(p.must("show"), "Add login") {
		t.Error(p.must("show"))
	}
	if shown := p.must("--track", "fix-the-docs", "show"); !strings.Contains(shown, "Fix the docs again") {
		t.Error(shown)
	}
	if all := p.tracks(); len(all) != 1 {
		t.Errorf("tracks: %q", all)
	}
	p.sound()
}

// TestNoPlanIsLostToASetUpBesideIt has sessions plan at the same moment, and kills some: each acknowledged plan is the current one of
// its own track, and no track is empty.
func TestNoPlanIsLostToASetUpBesideIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var all sync.WaitGroup
	acknowledged := make([]bool, 8)
	for i := range acknowledged {
		h := p.open()
		if i%4 == 3 {
			all.Go(h.kill)
		}
		all.Go(func() {
			got, err := h.tool("planning_setup_plan", planOf(fmt.Sprintf("Task %d", i), "Do it"))
			acknowledged[i] = err == nil && !got.refused
			if !acknowledged[i] && i%4 != 3 {
				t.Errorf("session %d: %v %s", i, err, got.text)
			}
		})
	}
	all.Wait()
	shown := p.must("show")
	for _, folder := range p.tracks() {
		if sqlite.CachedHead(folder).Seq == 0 && !isBeingMade(folder) {
			t.Errorf("%s is empty", folder)
		}
		shown += p.must("--track", filepath.Base(folder), "show")
	}
	for i, is := range acknowledged {
		if is && !strings.Contains(shown, fmt.Sprintf("Task %d\n", i)) {
			t.Errorf("the plan of session %d is gone:\n%s", i, shown)
		}
	}
	p.sound()
}

// isBeingMade reports whether a folder holds nothing: its maker was killed.
func isBeingMade(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && len(entries) == 0
}

// TestASessionOfAHostKeepsItsTrack over connections: a host that resumes it starts another server.
func TestASessionOfAHostKeepsItsTrack(t *testing.T) {
	t.Parallel()
	for name, meta := range map[string]arguments{
		"codex":    {"x-codex-turn-metadata": arguments{"session_id": "s-1"}},
		"opencode": {"ai.opencode/sessionID": "s-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.open().do("planning_setup_plan", planOf("Add login", "Write the form"))
			call := func(h *host, tool string, args arguments) string {
				t.Helper()
				got, err := h.request("tools/call", arguments{"name": tool, "arguments": args, "_meta": meta})
				if err != nil {
					t.Fatal(err)
				}
				return string(got.Result)
			}
			docs := p.open()
			call(docs, "planning_setup_plan", planOf("Fix the docs", "Correct the README"))
			docs.kill()
			if got := call(p.open(), "planloop_status", arguments{}); !strings.Contains(got, "Correct the README") {
				t.Error(got)
			}
		})
	}
}
