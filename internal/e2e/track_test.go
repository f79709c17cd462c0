package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
)

// planOf returns the arguments that set up a plan of one step.
func planOf(objective, step string) arguments {
	return arguments{"objective": objective, "initial_steps": []arguments{{"title": step}}}
}

// as calls a tool with metadata that names the session.
func (h *host) as(meta arguments, tool string, args arguments) reply {
	h.t.Helper()
	f, err := h.request("tools/call", arguments{"name": tool, "arguments": args, "_meta": meta})
	testenv.Check(h.t, err)
	got, err := f.asTool()
	testenv.Check(h.t, err)
	return got
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
	for _, want := range []string{`'s plan (Fix the docs again). To help, take a step.`, "planning_setup_plan begins a track",
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

// TestNoPlanIsLostToASetUpBesideIt has sessions plan at the same moment, again and again, and kills some: each acknowledged plan is in one
// log, only its own session has replaced it, and no track is empty.
func TestNoPlanIsLostToASetUpBesideIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hosts := []*host{p.open(), p.open(), p.open(), p.open()}
	rounds, kill := testenv.Count(3, 8, 250), testenv.Count(2, 2, 4) // a hundred tracks are the limit
	var mu sync.Mutex
	var acknowledged []string
	for round := range rounds {
		var all sync.WaitGroup
		victim := -1
		if round%kill == 1 {
			victim = round / kill % len(hosts)
			all.Go(hosts[victim].kill)
		}
		for i, h := range hosts {
			all.Go(func() {
				objective := fmt.Sprintf("Task %d of %d", round, i)
				got, err := h.tool("planning_setup_plan", planOf(objective, "Do it"))
				if isDone := err == nil && !got.refused; isDone {
					mu.Lock()
					defer mu.Unlock()
					acknowledged = append(acknowledged, objective)
				} else if i != victim {
					t.Errorf("%s: %v %s", objective, err, got.text)
				}
			})
		}
		all.Wait()
		if victim >= 0 {
			hosts[victim] = p.open()
		}
	}
	for _, track := range p.tracks() { // as if the kills were long ago
		testenv.Check(t, os.Chtimes(track, time.Time{}, time.Now().Add(-time.Hour)))
	}
	p.must("plan", "list")
	setUp := regexp.MustCompile(`plan "(.*)" set up with 1 step by (\S+)`)
	found := map[string]int{}
	for _, track := range append(p.tracks(), "main") {
		owner := ""
		for _, line := range setUp.FindAllStringSubmatch(p.must("--track", filepath.Base(track), "log", "-n", "0"), -1) {
			found[line[1]]++
			if owner != "" && line[2] != owner {
				t.Errorf("%s: the plan of %s was replaced by %s", track, owner, line[2])
			}
			owner = line[2]
		}
		if owner == "" {
			t.Errorf("%s has no plan", track)
		}
	}
	for _, objective := range acknowledged {
		if found[objective] != 1 {
			t.Errorf("%s is in %d logs", objective, found[objective])
		}
	}
	p.sound()
}

// TestSessionsKeepToTheirTracks has sessions plan, add steps, join tracks and come back over other servers at random: every acknowledged
// change is in the log of the track that its session was on, and in no other.
func TestSessionsKeepToTheirTracks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	random := rand.New(rand.NewPCG(1, uint64(testenv.Count(1, 2, 3))))
	servers := []*host{p.open(), p.open()}
	tracks, on := []string{"main"}, map[int]string{}
	want := map[string][]string{} // changes by track
	call := func(session int, tool string, args arguments) (text string, isDone bool) {
		t.Helper()
		got := servers[random.IntN(len(servers))].as(arguments{"ai.opencode/sessionID": fmt.Sprint("s", session)}, tool, args)
		return got.text, !got.refused
	}
	begun := regexp.MustCompile(`on the new track ([a-z0-9-]+)`)
	for i := range testenv.Count(20, 60, 600) {
		session, name := random.IntN(4), fmt.Sprintf("Change %d", i)
		switch random.IntN(8) {
		case 0:
			if at := random.IntN(len(servers)); i%2 == 0 {
				servers[at].kill()
				servers[at] = p.open()
			}
		case 1:
			track := tracks[random.IntN(len(tracks))]
			if _, isDone := call(session, "planloop_status", arguments{"track": track}); isDone {
				on[session] = track
			}
		case 2:
			if len(tracks) > 20 {
				continue
			}
			text, isDone := call(session, "planning_setup_plan", planOf(name, "Begin"))
			if !isDone {
				t.Errorf("set-up: %s", text)
			}
			if new := begun.FindStringSubmatch(text); new != nil {
				on[session], tracks = new[1], append(tracks, new[1])
			} else if on[session] == "" {
				on[session] = "main"
			}
			want[on[session]] = append(want[on[session]], name)
		default:
			if on[session] == "" {
				continue
			}
			if _, isDone := call(session, "planning_add_step", arguments{"steps": []arguments{{"title": name}}}); isDone {
				want[on[session]] = append(want[on[session]], name)
			}
		}
	}
	for _, track := range tracks {
		text := p.must("--track", track, "log", "-n", "0")
		for own, changes := range want {
			for _, change := range changes {
				if is := strings.Contains(text, `"`+change+`"`); is != (own == track) {
					t.Errorf("%s in the log of %s: %t, made on %s\n%s", change, track, is, own, text)
				}
			}
		}
	}
	p.sound()
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
			docs := p.open()
			docs.as(meta, "planning_setup_plan", planOf("Fix the docs", "Correct the README"))
			docs.kill()
			if got := p.open().as(meta, "planloop_status", arguments{}); !strings.Contains(got.text, "Correct the README") {
				t.Error(got.text)
			}
		})
	}
}

// TestResourcesOfTheSession has two sessions share a connection: each reads the plan and the status of its own track, and one that no
// request has named reads as a tool would.
func TestResourcesOfTheSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.open()
	send := func(session, method string, params arguments) string {
		t.Helper()
		if session != "" {
			params["_meta"] = arguments{"ai.opencode/sessionID": session}
		}
		got, err := h.request(method, params)
		if err != nil || got.Error != nil {
			t.Fatal(err, got.Error)
		}
		return string(got.Result)
	}
	own := map[string]string{"login": "Write the form", "docs": "Correct the README"}
	for _, session := range []string{"login", "docs"} {
		send(session, "tools/call", arguments{"name": "planning_setup_plan", "arguments": planOf("Plan of "+session, own[session])})
	}
	for session, step := range own {
		for _, uri := range []string{"plan://current", "plan://current.md", "plan://status", "plan://steps/S001"} {
			if got := send(session, "resources/read", arguments{"uri": uri}); !strings.Contains(got, step) {
				t.Errorf("%s for %s: %s", uri, session, got)
			}
		}
	}
	got := send("", "resources/read", arguments{"uri": "plan://status"})
	for _, track := range []string{"main", "plan-of-docs"} {
		if !strings.Contains(got, track+": ") {
			t.Errorf("%s is not listed: %s", track, got)
		}
	}
}

// TestSubscriptionToATrack has a client on main hear of a change that another server makes on the track that it subscribed to.
func TestSubscriptionToATrack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	login, docs := p.open(), p.open()
	login.do("planning_setup_plan", planOf("Add login", "Write the form"))
	docs.do("planning_setup_plan", planOf("Fix the docs", "Correct the README"))
	for uri, isKnown := range map[string]bool{"plan://tracks/fix-the-docs": true, "plan://tracks/..": false, "plan://tracks/": false} {
		if got, err := login.request("resources/subscribe", arguments{"uri": uri}); err != nil || (got.Error == nil) != isKnown {
			t.Errorf("%s: %v %v", uri, err, got.Error)
		}
	}
	docs.do("planning_add_step", arguments{"steps": []arguments{{"title": "Check the links"}}})
	login.next("notifications/resources/updated", "plan://tracks/fix-the-docs")
}

// TestSubscriptionToTheTracks has a client on main hear of a track that another server begins, and of its end.
func TestSubscriptionToTheTracks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	login, docs := p.open(), p.open()
	login.do("planning_setup_plan", planOf("Add login", "Write the form"))
	if got, err := login.request("resources/subscribe", arguments{"uri": "plan://tracks"}); err != nil || got.Error != nil {
		t.Fatal(err, got.Error)
	}
	hears := func(isOpen bool) {
		t.Helper()
		for list := ""; strings.Contains(list, "fix-the-docs") != isOpen || list == ""; {
			login.next("notifications/resources/updated", `"plan://tracks"`)
			read, err := login.request("resources/read", arguments{"uri": "plan://tracks"})
			testenv.Check(t, err)
			list = string(read.Result)
		}
	}
	docs.do("planning_setup_plan", planOf("Fix the docs", "Correct the README"))
	hears(true)
	docs.do("planning_clear_plan", arguments{})
	hears(false)
}
