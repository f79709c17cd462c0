package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// userAt has workspaces below a folder, and their states in another folder.
type userAt struct {
	t   testing.TB
	dir string
}

// in returns an app of another process of the user, in the named workspace.
func (u userAt) in(name string) *app {
	u.t.Helper()
	dir := filepath.Join(u.dir, name)
	testenv.Check(u.t, os.MkdirAll(dir, 0o755))
	w, _, _ := emptyWorld()
	w.getenv = func(name string) string {
		return map[string]string{"USER": "alice", "XDG_STATE_HOME": filepath.Join(u.dir, "state"),
			"XDG_CONFIG_HOME": filepath.Join(u.dir, "config")}[name]
	}
	a := &app{environment: w}
	a.flags.workspace = dir
	u.t.Cleanup(func() { _ = a.close() })
	return a
}

func (u userAt) ws(name string) *openWorkspace {
	u.t.Helper()
	ws, err := u.in(name).open(u.t.Context(), nil)
	testenv.Check(u.t, err)
	return ws
}

var codex = verbs.Caller{Actor: plan.NewActor(plan.ChannelMCP, "codex"), Face: review.Face{}}

// plans has an agent set up a plan.
func (u userAt) plans(name string) *openWorkspace {
	u.t.Helper()
	ws := u.ws(name)
	if _, err := ws.verbs.SetupPlan(u.t.Context(), codex, verbs.SetupPlan{Objective: "Plan of " + name}); err != nil {
		u.t.Fatal(err)
	}
	return ws
}

// newWorkspaces returns all workspaces of the user in another process, which the caller closes.
func (u userAt) newWorkspaces(name string) *reviewWorkspaces {
	u.t.Helper()
	a := u.in(name)
	place, err := workspace.Find(a.lookup())
	testenv.Check(u.t, err)
	return a.newReviewWorkspaces(place, false, pageRuns{})
}

// workspaces is newWorkspaces that are open until the test ends.
func (u userAt) workspaces(name string) *reviewWorkspaces {
	u.t.Helper()
	d := u.newWorkspaces(name)
	u.t.Cleanup(func() {
		if err := d.close(); err != nil {
			u.t.Error(err)
		}
	})
	return d
}

// openBelow lists the files below a folder that this process has open.
func openBelow(folder string) []string {
	found, _ := filepath.Glob("/proc/self/fd/*")
	return slices.DeleteFunc(found, func(fd string) bool {
		path, err := os.Readlink(fd)
		return err != nil || !strings.HasPrefix(path, folder)
	})
}

// TestSharedWhileShown: the page takes over a track that is shared, or left, while it shows it, and no longer decides about a shared one.
func TestSharedWhileShown(t *testing.T) {
	u := userAt{t, t.TempDir()}
	ws := u.plans("shared")
	d := u.workspaces("shared")
	id := ws.place.ID()
	local, err := d.Open(t.Context(), id)
	testenv.Check(t, err)
	testenv.Check(t, team.Place{Team: "acme", Workspace: "shop", Track: "main"}.Save(ws.place.StateDir))
	shared, err := d.Open(t.Context(), id)
	testenv.Check(t, err)
	if shared.Service == local.Service || !strings.Contains(shared.Refused(), "people decide about this track on the team's page") {
		t.Errorf("after it was shared: %q", shared.Refused())
	}
	for _, of := range []*review.Workspace{local, shared} {
		_, err := of.Service.AddStepsAfter(t.Context(), codex, []plan.NewStep{{Spec: plan.Spec{Title: "More"}}}, nil)
		if err == nil || !strings.Contains(err.Error(), "team") {
			t.Errorf("a change here: %v", err)
		}
	}
	testenv.Check(t, os.Remove(filepath.Join(ws.place.StateDir, team.PlaceFile)))
	left, err := d.Open(t.Context(), id)
	testenv.Check(t, err)
	if refused := left.Refused(); strings.Contains(refused, "team") {
		t.Errorf("after the team was left: %q", refused)
	}
}

// Of fifty workspaces without waiting items none stays open; one that a page shows does.
func TestDeskAtRest(t *testing.T) {
	u := userAt{t, t.TempDir()}
	for i := range 50 {
		ws := u.plans(fmt.Sprintf("p%02d", i))
		testenv.Check(t, ws.session.Close())
	}
	d := u.workspaces("p07")
	inbox, err := review.ReadInbox(t.Context(), d)
	if err != nil || len(inbox.Workspaces) != 50 || inbox.Workspaces[0].Name != "p07" || inbox.Workspaces[1].Name != "p00" {
		t.Fatalf("%v: %+v", err, inbox.Workspaces)
	}
	if open := openBelow(u.dir); len(open) > 0 {
		t.Errorf("open: %q", open)
	}
	if _, err := d.Open(t.Context(), inbox.Workspaces[3].ID); err != nil {
		t.Error(err)
	}
	if _, err := review.ReadInbox(t.Context(), d); err != nil || len(openBelow(u.dir)) > 0 {
		t.Errorf("what has not changed is opened again: %v, %q", err, openBelow(u.dir))
	}
	if _, err := d.Open(t.Context(), "../../etc"); err == nil {
		t.Error("what is no workspace is opened")
	}
}

// The workspaces report changes by other processes: in an existing workspace, in main for its tracks too, in a new one, and in one with a
// recreated folder.
func TestDeskWatches(t *testing.T) {
	t.Parallel()
	u := userAt{t, t.TempDir()}
	first := u.plans("first")
	d := u.workspaces("first")
	changes := d.Watch(t.Context())
	comes := func(name, track string, revision plan.Revision) {
		t.Helper()
		timeout := time.After(patience)
		for {
			select {
			case change := <-changes:
				isIt := strings.HasPrefix(change.Workspace, name+"-") && strings.HasSuffix(change.Workspace, track)
				if isIt && change.Revision == revision {
					return
				}
			case <-timeout:
				t.Fatalf("nobody told of revision %d of %s%s", revision, name, track)
			}
		}
	}
	alice := verbs.Caller{Actor: plan.NewActor(plan.ChannelTerminal, "alice"), Face: review.Face{}}
	comments := func(text string) {
		t.Helper()
		_, err := first.verbs.Comment(t.Context(), alice, plan.AddComment{Text: text})
		testenv.Check(t, err)
	}
	comments("mind the gap")
	comes("first", "", 2)
	place, err := first.place.BeginTrack("docs", sqlite.RemoveUnused)
	testenv.Check(t, err)
	docs, err := u.in("first").within(place).open(t.Context(), nil)
	testenv.Check(t, err)
	_, err = docs.verbs.SetupPlan(t.Context(), codex, verbs.SetupPlan{Objective: "Fix the docs"})
	testenv.Check(t, err)
	comes("first", "~docs", 1)
	comments("a signal of main may concern its tracks")
	comes("first", "~docs", 1)
	second := u.plans("second")
	comes("second", "", 1)
	testenv.Check(t, second.session.Close())
	testenv.Check(t, os.RemoveAll(second.place.StateDir))
	u.plans("second")
	comes("second", "", 1)
}

// Expired planning mode is recorded as over even without any activity.
func TestDeskSeesWhatExpires(t *testing.T) {
	t.Parallel()
	u := userAt{t, t.TempDir()}
	folder := filepath.Join(u.dir, "config", "planloop")
	testenv.Check(t, os.MkdirAll(folder, 0o755))
	testenv.Check(t, os.WriteFile(filepath.Join(folder, "config.yaml"), []byte("gathering_timeout: 1s\n"), 0o600))
	ws, begun := u.ws("app"), time.Now()
	if _, err := ws.verbs.EnterPlanMode(t.Context(), codex, verbs.EnterPlanMode{Reason: "look first"}); err != nil {
		t.Fatal(err)
	}
	d := u.workspaces("app")
	changes := d.Watch(t.Context())
	inbox, err := review.ReadInbox(t.Context(), d)
	early := time.Since(begun) < time.Second
	if err != nil || early && inbox.Workspaces[0].Phase != plan.PhaseGathering {
		t.Fatalf("%v: %+v", err, inbox.Workspaces)
	}
	for err == nil && inbox.Workspaces[0].Phase != plan.PhaseInactive {
		t.Logf("%+v: %+v", <-changes, inbox.Workspaces)
		inbox, err = review.ReadInbox(t.Context(), d)
	}
	if head, err := ws.session.Head(t.Context()); err != nil || head.Phase != plan.PhaseInactive {
		t.Errorf("%+v, %v", head, err)
	}
}

// countingDesk counts how often its places are listed, and how many logs are being read.
type countingDesk struct {
	*reviewWorkspaces
	looks atomic.Int32
	ask   chan struct{}
}

func (d *countingDesk) Places(ctx context.Context) ([]review.Place, error) {
	d.looks.Add(1)
	<-d.ask
	return d.reviewWorkspaces.Places(ctx)
}

// The terminal reads the inbox once for all changes in the meantime: at the start every workspace is new.
func TestTerminalLooksOnceForManyChanges(t *testing.T) {
	u := userAt{t, t.TempDir()}
	d := &countingDesk{reviewWorkspaces: u.workspaces("app"), ask: make(chan struct{})}
	var told broadcast.Hub
	ctx, end := context.WithCancel(t.Context())
	page, ended := &reviewPage{app: d.app}, make(chan struct{})
	changed := told.Listen(ctx)
	go func() {
		defer close(ended)
		page.printWaiting(ctx, d, changed, func() error { return nil })
	}()
	for range 300 {
		told.Notify()
	}
	d.ask <- struct{}{} // the first read
	d.ask <- struct{}{} // for all 300
	told.Close()
	<-ended
	end()
	if got := d.looks.Load(); got != 2 {
		t.Errorf("it has looked %d times", got)
	}
}

// Two concurrent requests for the inbox open each log once.
func TestLogsAreOpenedOnceForAllWhoAsk(t *testing.T) {
	u := userAt{t, t.TempDir()}
	u.plans("app")
	d := u.workspaces("app")
	s := d.list()[0]
	s.inboxMu.Lock() // as during another request
	answers := make(chan inboxState)
	for range 2 {
		go func() {
			found, err := s.inbox(t.Context())
			if err != nil {
				t.Error(err)
			}
			answers <- found
		}()
	}
	s.mu.Lock()
	s.found = inboxState{head: s.head(), listed: review.InboxPlace{Headline: "as it was found"}}
	s.mu.Unlock()
	s.inboxMu.Unlock()
	for range 2 {
		if got := (<-answers).listed.Headline; got != "as it was found" {
			t.Errorf("opened again: %q", got)
		}
	}
}

// The page warns of the tracks of a workspace that name the same files, also if another workspace has tracks of these names.
func TestPageWarnsOfSharedFiles(t *testing.T) {
	u := userAt{t, t.TempDir()}
	place := map[string]workspace.Workspace{}
	for _, c := range []struct{ name, track, file string }{{"one", "", "c.go"}, {"one", "docs", "b.go"}, {"two", "", "c.go"},
		{"two", "docs", "c.go"}} {
		a := u.in(c.name)
		a.flags.track = c.track
		ws, err := a.open(t.Context(), nil)
		testenv.Check(t, err)
		_, err = ws.verbs.SetUp(t.Context(), codex, plan.SetUp{Outline: plan.Outline{Objective: "Plan of " + c.name},
			Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Do it", RelevantFilePaths: []string{c.file}}}}})
		testenv.Check(t, err)
		place[c.name+c.track] = ws.place
	}
	d := u.workspaces("one")
	for _, c := range []struct{ shown, want string }{{"twodocs", "track main"}, {"two", "track docs"}, {"one", ""}, {"onedocs", ""}} {
		shown, err := d.Open(t.Context(), place[c.shown].ID())
		testenv.Check(t, err)
		view, err := review.ReadView(t.Context(), shown)
		testenv.Check(t, err)
		warning := ""
		if len(view.Situation) > 0 && view.Situation[0].Label == "Warning" {
			warning = view.Situation[0].Texts[0]
		}
		who, command, _ := strings.Cut(warning, " has steps for the same files: c.go. ")
		if who != c.want || c.want != "" && !strings.Contains(command, "git worktree add ../docs -b docs") {
			t.Errorf("%s: %q", c.shown, warning)
		}
	}
}
