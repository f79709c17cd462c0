package team_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

var discard = slog.New(slog.DiscardHandler)

// join returns a machine of ann's with a copy of the track.
func (s *server) join(t *testing.T) *laptop {
	t.Helper()
	home := t.TempDir()
	l := &laptop{Membership: s.member(), folder: filepath.Join(home, "teams"), stateHome: filepath.Join(home, "state")}
	l.dir = filepath.Join(l.stateHome, "site-1")
	testenv.Check(t, l.Save(l.folder))
	place := team.Place{Team: "acme", Workspace: "site", Track: "main"}
	testenv.Check(t, os.MkdirAll(l.stateHome, 0o700))
	testenv.Check(t, place.Save(l.dir))
	client, err := team.NewClient(l.Membership, discard)
	testenv.Check(t, err)
	l.copy = team.NewCopy(l.Membership, place, l.dir, client)
	l.log = sqlite.New(l.dir, sqlite.Options{})
	l.session = session.New(l.log, session.Options{Decider: l.copy})
	t.Cleanup(func() { testenv.Check(t, l.session.Close()); client.Close() })
	return l
}

func (l *laptop) do(t *testing.T, a plan.Action) error {
	t.Helper()
	_, err := l.session.Do(t.Context(), l.Actor(plan.NewActor(plan.ChannelMCP, "Claude-Code#a1b2c3")), a, nil)
	return err
}

func setUp() plan.SetUp {
	return plan.SetUp{Outline: plan.Outline{Objective: "Test"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "One"}}}}
}

func begun(note string) plan.Action {
	return plan.MarkStep{Step: 1, Status: plan.InProgress, Note: note}
}

// same fails unless the copy ends like the server's log.
func (l *laptop) same(t *testing.T, s *server) {
	t.Helper()
	want, err := s.log.Head(t.Context())
	testenv.Check(t, err)
	if got, err := l.log.Head(t.Context()); err != nil || got != want {
		t.Errorf("the copy ends at %+v, the log at %+v: %v", got, want, err)
	}
}

// TestChangesThroughTheServer changes a plan from two machines.
func TestChangesThroughTheServer(t *testing.T) {
	s := newServer(t)
	a, b := s.join(t), s.join(t)
	testenv.Check(t, a.do(t, setUp()))
	testenv.Check(t, b.do(t, begun("from b")))
	testenv.Check(t, a.copy.Update(t.Context(), a.session))
	a.same(t, s)
	b.same(t, s)
	state, err := a.session.State(t.Context())
	testenv.Check(t, err)
	if step, _ := state.Plan.Steps.Get(1); step.ClaimedBy != "ann/claude-code#a1b2c3" {
		t.Errorf("claimed by %q", step.ClaimedBy)
	}
	refused := new(plan.ValidationError)
	if err := a.do(t, plan.MarkStep{Step: 9, Status: plan.Done}); !errors.As(err, &refused) || refused.Kind != plan.NotFound {
		t.Errorf("got %v", err)
	}
	name, err := a.session.PutValue(t.Context(), []byte("long"))
	testenv.Check(t, err)
	if got, err := b.session.Value(t.Context(), name); err != nil || string(got) != "long" {
		t.Errorf("got %q: %v", got, err)
	}
}

// TestLostAnswers loses the answer to a change once, which the repeated call makes good, twice, and once before a refusal.
func TestLostAnswers(t *testing.T) {
	s := newServer(t)
	l := s.join(t)
	testenv.Check(t, l.do(t, setUp()))
	s.broken.Store(1)
	testenv.Check(t, l.do(t, begun("once")))
	l.same(t, s)
	for what, lost := range map[string]int32{"twice": 2, "then refused": 1} {
		if lost == 1 {
			s.later.Store(&teamwire.Error{Code: teamwire.CodeTooMany, Problem: "too many requests", Fix: "wait"})
		}
		s.broken.Store(lost)
		err := l.do(t, begun(what))
		if offline, ok := errors.AsType[*team.Offline](err); !ok || !offline.MayHaveChanged ||
			!strings.Contains(err.Error(), "may have been made") {
			t.Errorf("%s: got %v", what, err)
		}
		s.later.Store(nil)
		s.refused.Store(nil)
		testenv.Check(t, l.session.Pull(t.Context()))
	}
	l.same(t, s)
	state, err := l.session.State(t.Context())
	testenv.Check(t, err)
	if step, _ := state.Plan.Steps.Get(1); len(step.Notes) != 3 {
		t.Errorf("recorded as %v", step.Notes)
	}
}

// TestOffline stops the server: reading works, a change says since when, and a hook's minute passes.
func TestOffline(t *testing.T) {
	s := newServer(t)
	l := s.join(t)
	testenv.Check(t, l.do(t, setUp()))
	testenv.Check(t, l.copy.Update(t.Context(), l.session))
	s.http.Close()
	calls := s.calls.Load()
	if !l.copy.IsFresh() || l.copy.Stale() != "" || s.calls.Load() != calls {
		t.Errorf("a fresh copy is %q", l.copy.Stale())
	}
	then := time.Now().Add(-2 * time.Minute)
	testenv.Check(t, os.Chtimes(filepath.Join(l.dir, "team.confirmed"), then, then))
	if err := l.copy.Update(t.Context(), l.session); err == nil {
		t.Error("an old copy was confirmed")
	}
	err := l.do(t, begun("lost"))
	if want := "offline since " + then.Format("15:04"); err == nil || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "; nothing was changed") {
		t.Errorf("got %v, want %s", err, want)
	}
	if state, err := l.session.State(t.Context()); err != nil || state.Revision != 1 ||
		!strings.HasPrefix(l.copy.Stale(), "this is track acme/site main as of ") {
		t.Errorf("read %d, %s: %v", state.Revision, l.copy.Stale(), err)
	}
}

// TestComplaints has the server refuse everything.
func TestComplaints(t *testing.T) {
	s := newServer(t)
	l := s.join(t)
	testenv.Check(t, l.do(t, setUp()))
	testenv.Check(t, l.copy.Update(t.Context(), l.session))
	for code, want := range map[teamwire.Code]string{
		teamwire.CodeUpdate: "offline since", teamwire.CodeUnready: "offline since", teamwire.CodeTooMany: "offline since",
		teamwire.CodeToken: "planloop team join", teamwire.CodeForbidden: "a problem\\x1b[31m; a fix", teamwire.CodeNotFound: "a problem",
		teamwire.CodeChanged: "a problem", teamwire.CodeRefused: "a problem",
	} {
		s.refused.Store(&teamwire.Error{Code: code, Problem: "a problem\x1b[31m", Fix: "a fix"})
		_, failed := l.copy.Decide(t.Context(), session.Request{Action: begun("")}, store.Head{})
		if offline, ok := errors.AsType[*team.Offline](failed); ok && offline.MayHaveChanged != (code == teamwire.CodeUnready) {
			t.Errorf("%s: a change says %v", code, failed)
		}
		if err := l.do(t, begun("")); err == nil || !strings.Contains(err.Error(), want) && code != teamwire.CodeForbidden ||
			strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: got %v", code, err)
		}
		if errors.Is(failed, session.ErrChanged) != (code == teamwire.CodeChanged) {
			t.Errorf("%s: a change says %v", code, failed)
		}
		_, err := l.copy.Share(t.Context(), l.log)
		if err == nil || code == teamwire.CodeChanged && !strings.Contains(err.Error(), "a fix") {
			t.Errorf("%s: sharing says %v", code, err)
		}
	}
}

// TestNoTokenInTexts searches errors, logs and printed values for the token, also if the server echoes it.
func TestNoTokenInTexts(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization")
		switch r.URL.Path {
		case "/v1/me":
			http.Error(w, "bad "+given, http.StatusTeapot)
		case "/v1/members":
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(teamwire.Error{Code: teamwire.CodeForbidden, Problem: "no " + given, Fix: given})
		default:
			http.Redirect(w, r, "https://elsewhere.example/"+given, http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(echo.Close)
	m := team.Membership{Address: echo.URL, Token: token, Team: "acme", Member: "ann"}
	client, err := team.NewClient(m, logger)
	testenv.Check(t, err)
	_, me := client.Me(t.Context())
	_, members := client.Members(t.Context())
	_, tracks := client.Tracks(t.Context(), "site")
	logger.Info("joined", "membership", m)
	texts := fmt.Sprintf("%v %v %v %v %+v %#v %s", me, members, tracks, m, m, m, log.String())
	if strings.Contains(texts, token) || strings.Contains(texts, token[4:16]) {
		t.Error(texts)
	}
	if me == nil || members == nil || tracks == nil {
		t.Error("a call succeeded")
	}
}

// TestAddresses refuses addresses over which a token could be read or that a path could change.
func TestAddresses(t *testing.T) {
	for address, isGood := range map[string]bool{
		"https://plans.example.com": true, "https://plans.example.com/planloop/": true, "http://localhost:8080": true,
		"http://plans.example.com": false, "plans.example.com": false, "https://ann:secret@plans.example.com": false,
		"https://plans.example.com/?team=acme": false, "https://plans.example.com/#x": false, "file:///etc": false, "": false,
	} {
		if _, err := team.ParseAddress(address); (err == nil) != isGood || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, bad := range []outbound.Secret{"", "a b\n", "a\x00b"} {
		if _, err := team.NewClient(team.Membership{Address: "https://a.example", Token: bad}, discard); err == nil {
			t.Errorf("the token %q was accepted", bad)
		}
	}
}

// TestMembershipFiles reads memberships back, and refuses files that others can read or that name other places.
func TestMembershipFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "teams")
	m := team.Membership{Address: "https://a.example", Token: token, Team: "acme", Member: "ann"}
	testenv.Check(t, m.Save(folder))
	path := filepath.Join(folder, "acme.json")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v: %v", info.Mode(), err)
	}
	if got, err := team.Load(folder, "acme"); err != nil || got != m {
		t.Errorf("read %v: %v", got, err)
	}
	for _, name := range []string{"../acme", "", "ACME", "a/b"} {
		if _, err := team.Load(folder, name); err == nil {
			t.Errorf("%q was read", name)
		}
	}
	testenv.Check(t, os.WriteFile(path, []byte(`{"token":"`+token+`","new":1`), 0o600))
	if _, err := team.Load(folder, "acme"); err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("got %v", err)
	}
	testenv.Check(t, m.Save(folder))
	testenv.Check(t, os.Chmod(path, 0o644))
	if _, err := team.Load(folder, "acme"); err == nil {
		t.Error("a file that others can read was accepted")
	}
	dir := t.TempDir()
	for _, text := range []string{`{"team":"../x","workspace":"a","track":"main"}`,
		`{"team":"a","workspace":"a","track":"main","address":"https://b"}`, `{}`} {
		testenv.Check(t, os.WriteFile(filepath.Join(dir, team.PlaceFile), []byte(text), 0o600))
		if _, isCopy, err := team.PlaceOf(dir); err == nil || !isCopy {
			t.Errorf("%s: %t, %v", text, isCopy, err)
		}
	}
}

func TestLabels(t *testing.T) {
	m := team.Membership{Member: "ann", Role: teamwire.RoleMember}
	for name, want := range map[string]string{
		"claude-code#a1b2c3": "ann/claude-code#a1b2c3", "Reviewer 2": "ann/reviewer-2", "бот": "ann/agent", "a/b": "ann/a-b",
		"ann/codex": "ann/codex", strings.Repeat("x", 60): "ann/" + strings.Repeat("x", 39),
	} {
		got := m.Actor(plan.NewActor(plan.ChannelMCP, name)).Name
		if got != want || m.Actor(plan.NewActor(plan.ChannelMCP, got)).Name != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
	if got := m.Actor(plan.NewActor(plan.ChannelTerminal, "root")).Name; got != "ann" {
		t.Errorf("the person is %q", got)
	}
	for want, from := range map[string][]string{"web-site": {"git@example.com:acme/Web_Site.git", "https://example.com/x/api/"},
		"api": {"https://example.com/x/api/"}, "site": nil} {
		if got := team.SuggestWorkspace(from, "/home/ann/site"); got != want {
			t.Errorf("suggested %s, not %s", got, want)
		}
	}
}

// TestFollower follows the stream in one of two processes; the other takes over.
func TestFollower(t *testing.T) {
	s := newServer(t)
	l, other := s.join(t), s.join(t)
	testenv.Check(t, other.do(t, setUp()))
	opened := make(chan string, 10)
	run := func(name string) (stop func()) {
		return l.follow(t, team.Follower{Retry: 10 * time.Millisecond}, func(*team.Copy) { opened <- name })
	}
	stopFirst := run("first")
	if got := <-opened; got != "first" {
		t.Fatalf("%s follows", got)
	}
	stopSecond := run("second")
	defer stopSecond()
	follows := func() { t.Helper(); l.follows(t, s) }
	follows()
	testenv.Check(t, other.do(t, begun("seen by the first")))
	follows()
	stopFirst()
	for got := ""; got != "second"; { // the first may have opened its copy again, after a slow stream
		select {
		case got = <-opened:
		case <-time.After(soon):
			t.Fatal("the second does not follow")
		}
	}
	testenv.Check(t, other.do(t, begun("seen by the second")))
	follows()
}

// follow follows the copies of a machine until stop is called.
func (l *laptop) follow(t *testing.T, f team.Follower, opened func(*team.Copy)) (stop func()) {
	f.Folder, f.StateHome, f.Logger = l.folder, l.stateHome, cmp.Or(f.Logger, discard)
	f.Open = func(dir string, c *team.Copy) (*session.Session, team.Signs) {
		opened(c)
		var local team.Signs = signs{}
		if l.signs != nil {
			local = l.signs(dir)
		}
		seen := c.Presence(local, func(string, string) bool { return false })
		return session.New(sqlite.New(dir, sqlite.Options{}), session.Options{Decider: c}), seen
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { f.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

// TestFollowerNeedsAFolderOfItsOwn: no file is made in a folder that others control.
func TestFollowerNeedsAFolderOfItsOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders have other permissions there")
	}
	folder := t.TempDir()
	testenv.Check(t, os.Chmod(folder, 0o777))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go team.Follower{Folder: folder, StateHome: folder, Logger: discard}.Run(ctx)
		synctest.Wait() // until it pauses
		if entries, _ := os.ReadDir(folder); len(entries) > 0 {
			t.Errorf("it made %s", entries[0].Name())
		}
		cancel()
	})
}

// follows waits until the copy ends like the server's log and is confirmed.
func (l *laptop) follows(t *testing.T, s *server) {
	t.Helper()
	grown, err := l.log.Watch(t.Context())
	testenv.Check(t, err)
	deadline := time.After(soon)
	for {
		want, err := s.log.Head(t.Context())
		testenv.Check(t, err)
		if got, err := l.log.Head(t.Context()); err == nil && got == want && l.copy.IsFresh() {
			return
		}
		select {
		case <-grown:
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatal("the copy does not follow")
		}
	}
}

// TestHeldBackStream follows behind a proxy that holds the event stream back: the records are polled, and confirm the copy.
func TestHeldBackStream(t *testing.T) {
	s := newServer(t)
	l, other := s.join(t), s.join(t)
	testenv.Check(t, other.do(t, setUp()))
	l.Membership.Address = s.behindProxy(t)
	testenv.Check(t, l.Save(l.folder))
	defer l.follow(t, team.Follower{Retry: 10 * time.Millisecond, Silence: 50 * time.Millisecond}, func(*team.Copy) {})()
	l.follows(t, s)
	select {
	case <-s.polled:
	case <-time.After(soon):
		t.Fatal("the records are not polled")
	}
	for _, note := range []string{"one", "two"} {
		testenv.Check(t, other.do(t, begun(note)))
		l.follows(t, s)
	}
	if n := s.polls.Load(); n > 5 {
		t.Errorf("two records took %d requests that wait", n)
	}
}

// TestTwoClones follows two copies of one track on a machine. An agent that is alive in one of the folders is not reported as gone.
func TestTwoClones(t *testing.T) {
	s := newServer(t)
	l, other := s.join(t), s.join(t)
	testenv.Check(t, l.do(t, setUp()))
	testenv.Check(t, l.do(t, begun("from this machine")))
	place := team.Place{Team: "acme", Workspace: "site", Track: "main"}
	clone := filepath.Join(l.stateHome, "site-2")
	testenv.Check(t, place.Save(clone))
	second := sqlite.New(clone, sqlite.Options{})
	defer second.Close()
	client, err := team.NewClient(l.Membership, discard)
	testenv.Check(t, err)
	defer client.Close()
	filled := session.New(second, session.Options{Decider: team.NewCopy(l.Membership, place, clone, client)})
	testenv.Check(t, filled.Pull(t.Context()))
	l.signs = func(dir string) team.Signs {
		return fixedSigns{sighting: plan.Sighting{At: time.Now(), IsGone: dir == clone}}
	}
	defer l.follow(t, team.Follower{Retry: 10 * time.Millisecond}, func(*team.Copy) {})()
	select {
	case seen := <-s.seen:
		if _, isAlive := seen.Agents["claude-code#a1b2c3"]; !isAlive || len(seen.Gone) > 0 {
			t.Errorf("reported %+v", seen)
		}
	case <-time.After(soon):
		t.Fatal("no signs of life are reported")
	}
	for _, log := range []store.Log{l.log, second, l.log} {
		l.log = log
		testenv.Check(t, other.do(t, begun("from another machine")))
		l.follows(t, s)
	}
}

// fixedSigns are the same for all names.
type fixedSigns struct {
	signs
	sighting plan.Sighting
}

func (f fixedSigns) Seen(string) plan.Sighting { return f.sighting }

// TestLearn learns the team's new rules, unless the machine leaves or joins the team at the same time.
func TestLearn(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*laptop) error
		want      string // of offline
	}{
		"new rules": {func(*laptop) error { return nil }, "closed"},
		"left":      {func(l *laptop) error { return team.Remove(l.folder, "acme") }, ""},
		"joined again": {func(l *laptop) error {
			l.Membership.Token, l.Membership.Offline = token+"x", "new"
			return l.Save(l.folder)
		}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			l := s.join(t)
			known := l.Membership
			s.onMe = func(me *teamwire.Me) {
				me.Offline = "closed"
				testenv.Check(t, c.meanwhile(l))
			}
			client, err := team.NewClient(known, discard)
			testenv.Check(t, err)
			defer client.Close()
			testenv.Check(t, client.Learn(t.Context(), l.folder, known))
			if now, err := team.Load(l.folder, "acme"); now.Offline != c.want || (err != nil) != (c.want == "") {
				t.Errorf("learned %q: %v", now.Offline, err)
			}
		})
	}
}

// TestNewRules: a follower asks for the team's rules again and again, and opens its copies again under new ones.
func TestNewRules(t *testing.T) {
	s := newServer(t)
	l := s.join(t)
	var looks atomic.Int32
	s.onMe = func(me *teamwire.Me) {
		if looks.Add(1) > 1 {
			me.Offline = "closed"
		}
	}
	opened := make(chan string, 10)
	defer l.follow(t, team.Follower{Retry: 10 * time.Millisecond, Beat: time.Millisecond}, func(c *team.Copy) { opened <- c.Offline })()
	for _, want := range []string{"", "closed"} {
		select {
		case got := <-opened:
			if got != want {
				t.Errorf("opened under %q, not %q", got, want)
			}
		case <-time.After(soon):
			t.Fatalf("not opened under %q", want)
		}
	}
}

// logLines receives the lines of a log.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestWarnsOnce: while a server does not answer, a follower tries again and again, and warns once.
func TestWarnsOnce(t *testing.T) {
	s := newServer(t)
	l := s.join(t)
	s.http.Close()
	lines := make(logLines, 1000)
	logger := slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	defer l.follow(t, team.Follower{Retry: time.Millisecond, Logger: logger}, func(*team.Copy) {})()
	for tries, warnings := 0, 0; tries < 3; {
		select {
		case line := <-lines:
			if strings.Contains(line, "followed again") {
				tries++
			}
			if strings.Contains(line, "level=WARN") {
				warnings++
			}
			if warnings > 1 {
				t.Fatal(line)
			}
		case <-time.After(soon):
			t.Fatal("it does not try again")
		}
	}
}

// TestChangesWhileSharing changes a track while it is shared: a change before the last part is sent, too, and one after it keeps the
// track local.
func TestChangesWhileSharing(t *testing.T) {
	for name, isLast := range map[string]bool{"before the last part": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			l := s.join(t)
			testenv.Check(t, os.Remove(filepath.Join(l.dir, team.PlaceFile)))
			local := session.New(l.log, session.Options{})
			change := func(a plan.Action) {
				_, err := local.Do(t.Context(), plan.NewActor(plan.ChannelMCP, "codex"), a, nil)
				testenv.Check(t, err)
			}
			change(setUp())
			changed := false
			s.onShare = func(in teamwire.ShareRequest) {
				if in.Last == isLast && !changed {
					changed = true
					change(begun("at the same time"))
				}
			}
			n, err := l.copy.Share(t.Context(), l.log)
			_, isCopy, _ := team.PlaceOf(l.dir)
			switch refused := new(plan.ValidationError); {
			case !isLast && (err != nil || n != 2 || len(s.shared) != 2 || !isCopy):
				t.Errorf("%d records, copy %t: %v", len(s.shared), isCopy, err)
			case isLast && (!errors.As(err, &refused) || !strings.Contains(refused.Fix, "planloop team pull main") || isCopy):
				t.Errorf("copy %t: %v", isCopy, err)
			}
		})
	}
}

// TestNoCopy: a track may be left between the look at its file and the next question about its copy.
func TestNoCopy(t *testing.T) {
	var none *team.Copy
	if !none.IsFresh() || none.IsClosed() || none.Stale() != "" || !none.IsSame(nil) || none.DecidePage() != "" {
		t.Error("a track of this machine is a copy")
	}
}

// TestEnginesOnOtherMachines: an engine without signs of life here is gone only if it has left a file here.
func TestEnginesOnOtherMachines(t *testing.T) {
	for name, c := range map[string]struct {
		local plan.Sighting
		left  bool
		want  bool
	}{
		"on another machine": {local: plan.Sighting{IsGone: true}},
		"swept":              {local: plan.Sighting{IsGone: true}, left: true, want: true},
		"dead":               {local: plan.Sighting{IsGone: true, At: time.Now()}, want: true},
		"alive":              {local: plan.Sighting{At: time.Now()}, left: true},
	} {
		l := team.NewCopy(team.Membership{Member: "ann"}, team.Place{}, "", nil)
		seen := l.Presence(fixedSigns{sighting: c.local}, func(_, engine string) bool { return c.left && engine == "engine#abcdefgh" })
		for _, engine := range []string{"ann/engine#abcdefgh", "engine#abcdefgh"} {
			if got := seen.Seen(engine).IsGone; got != c.want {
				t.Errorf("%s: %s is gone: %t", name, engine, got)
			}
		}
		if seen.Seen("bob/engine#abcdefgh").IsGone {
			t.Errorf("%s: another member's engine is gone", name)
		}
	}
}

type signs struct{}

func (signs) Touch(string)              {}
func (signs) Join(string) func()        { return func() {} }
func (signs) Seen(string) plan.Sighting { return plan.Sighting{At: time.Now()} }
func (signs) LastActivity() time.Time   { return time.Now() }

// TestALeftCopyIsNotFilled: a process that still follows a copy does not fill it again after the machine has left.
func TestALeftCopyIsNotFilled(t *testing.T) {
	s := newServer(t)
	l := s.join(t)
	testenv.Check(t, l.do(t, setUp()))
	for what, end := range map[string]func() error{
		"left":                   func() error { return os.Remove(filepath.Join(l.dir, team.PlaceFile)) },
		"left for another track": func() error { return team.Place{Team: "acme", Workspace: "blog", Track: "main"}.Save(l.dir) },
	} {
		testenv.Check(t, end())
		if err := l.copy.Update(t.Context(), l.session); err == nil || !strings.Contains(err.Error(), "has left the track") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// mortal is a listener that can let its connections die: nothing that is sent to them arrives.
type mortal struct {
	net.Listener
	deaths atomic.Int32
}

type mortalConn struct {
	net.Conn
	of   *mortal
	born int32
}

func (m *mortal) Accept() (net.Conn, error) {
	conn, err := m.Listener.Accept()
	return mortalConn{conn, m, m.deaths.Load()}, err
}

func (c mortalConn) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	for err == nil && c.of.deaths.Load() > c.born {
		n, err = c.Conn.Read(data)
	}
	return n, err
}

// TestADeadConnectionIsLeft: calls soon take a new connection if theirs died without a word, as when a laptop moves. HTTP/2 keeps a
// connection in spite of calls without an answer.
func TestADeadConnectionIsLeft(t *testing.T) {
	s := newServer(t)
	web := httptest.NewUnstartedServer(s.http.Config.Handler)
	listener := &mortal{Listener: web.Listener}
	web.Listener, web.EnableHTTP2 = listener, true
	web.StartTLS()
	t.Cleanup(web.Close)
	trusted := filepath.Join(t.TempDir(), "cert.pem")
	testenv.Check(t, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600))
	t.Setenv("SSL_CERT_FILE", trusted)
	m := s.member()
	m.Address = web.URL
	client, err := team.NewClient(m, discard)
	testenv.Check(t, err)
	t.Cleanup(client.Close)
	_, err = client.Me(t.Context())
	testenv.Check(t, err)
	listener.deaths.Add(1)
	for began := time.Now(); ; {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := client.Me(short)
		cancel()
		if err == nil {
			break
		}
		if time.Since(began) > 15*time.Second {
			t.Fatalf("the dead connection is still used: %v", err)
		}
	}
}
