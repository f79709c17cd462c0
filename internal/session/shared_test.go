package session_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// team is a Decider with its log in memory.
type team struct {
	*session.Session
	log store.Log

	offline  error                  // all calls fail
	lose     bool                   // the answer to the next decision is lost
	atMost   int                    // records of a feed; 0: all
	before   func()                 // called before each decision
	distort  func(*session.Feed)    // changes each feed
	mu       sync.Mutex             // of prepared
	prepared []plan.Revision        // of the states that decisions were prepared on
	relies   func(s plan.State) int // what an action relies on; nil: nothing
}

func newTeam() *team {
	log := store.NewMemory()
	return &team{Session: session.New(log, session.Options{}), log: log}
}

func (d *team) feed(ctx context.Context, after store.Head) (feed session.Feed, err error) {
	if feed.Head, err = d.log.Head(ctx); err != nil {
		return feed, err
	}
	from := after.Seq
	if after.Chain != feed.Head.Chain {
		from = 0
	}
	for record, err := range d.log.Read(ctx, from) {
		if err != nil {
			return feed, err
		}
		if d.atMost > 0 && len(feed.Records) == d.atMost {
			feed.More = true
			break
		}
		line, err := store.EncodeRecord(record)
		if err != nil {
			return feed, err
		}
		feed.Records = append(feed.Records, string(line))
	}
	if d.distort != nil {
		d.distort(&feed)
	}
	return feed, nil
}

func (d *team) Pull(ctx context.Context, after store.Head) (session.Feed, error) {
	if d.offline != nil {
		return session.Feed{}, d.offline
	}
	return d.feed(ctx, after)
}

func (d *team) Decide(ctx context.Context, r session.Request, after store.Head) (session.Feed, error) {
	if d.before != nil {
		d.before()
	}
	d.mu.Lock()
	d.prepared = append(d.prepared, r.On.Revision)
	d.mu.Unlock()
	outcome, err := d.Do(ctx, r.By, r.Action, func(now plan.State, f *plan.Facts) error {
		if d.relies != nil && d.relies(now) != d.relies(r.On) {
			return session.ErrChanged
		}
		f.Missing, f.Definitions, f.Resolutions = r.Facts.Missing, r.Facts.Definitions, r.Facts.Resolutions
		return nil
	})
	if err != nil {
		return session.Feed{}, err
	}
	if d.lose {
		d.lose = false
		return session.Feed{}, errOffline
	}
	feed, err := d.feed(ctx, after)
	if outcome.Before.Revision != outcome.After.Revision {
		feed.Own = outcome.After.Revision
	}
	return feed, err
}

var errOffline = errors.New("offline since 14:05; nothing was changed")

// join returns a session on a copy, and the copy.
func join(t *testing.T, d session.Decider) (*session.Session, store.Log) {
	t.Helper()
	log := sqlite.New(t.TempDir(), sqlite.Options{})
	s := session.New(log, session.Options{Decider: d})
	t.Cleanup(func() { testenv.Check(t, s.Close()) })
	return s, log
}

// sameLog fails unless both logs end alike and fold to the same state.
func sameLog(t *testing.T, d *team, s *session.Session, log store.Log) {
	t.Helper()
	want, err := d.log.Head(t.Context())
	testenv.Check(t, err)
	got, err := log.Head(t.Context())
	testenv.Check(t, err)
	if got != want {
		t.Errorf("the copy ends at %+v, the log at %+v", got, want)
	}
	if diff := cmp.Diff(written(t, state(t, d.Session)), written(t, state(t, s))); diff != "" {
		t.Error(diff)
	}
}

// TestCopiesFollowTheTeam has two laptops change a plan in turn, over feeds of any size.
func TestCopiesFollowTheTeam(t *testing.T) {
	for _, atMost := range []int{0, 1, 2} {
		d := newTeam()
		d.atMost = atMost
		a, logA := join(t, d)
		b, logB := join(t, d)
		do(t, a, setUp("One", "Two", "Three"))
		do(t, a, plan.MarkStep{Step: 1, Status: plan.Done})
		outcome := do(t, b, plan.MarkStep{Step: 2, Status: plan.Done})
		if outcome.Before.Revision != 2 || outcome.After.Revision != 3 || len(outcome.Events) == 0 {
			t.Errorf("%d at most: %d became %d with %d events", atMost, outcome.Before.Revision, outcome.After.Revision,
				len(outcome.Events))
		}
		sameLog(t, d, b, logB)
		testenv.Check(t, a.Pull(t.Context()))
		sameLog(t, d, a, logA)
		again := do(t, a, plan.MarkStep{Step: 2, Status: plan.Done})
		if again.Before.Revision != 3 || again.After.Revision != 3 || len(again.Events) > 0 {
			t.Errorf("nothing to do became %+v", again)
		}
	}
}

// TestLostAnswer loses the answer to an accepted change: the next pull shows it once.
func TestLostAnswer(t *testing.T) {
	d := newTeam()
	s, log := join(t, d)
	do(t, s, setUp("One"))
	d.lose = true
	mark := plan.MarkStep{Step: 1, Status: plan.InProgress, Note: "begun"}
	if _, err := s.Do(t.Context(), alice, mark, nil); !errors.Is(err, errOffline) {
		t.Fatalf("got %v", err)
	}
	testenv.Check(t, s.Pull(t.Context()))
	sameLog(t, d, s, log)
	if step, _ := state(t, s).Plan.Steps.Get(1); len(step.Notes) != 1 {
		t.Errorf("the notes are %v", step.Notes)
	}
}

// TestChangedBasis changes the plan between preparing and deciding, twice and then always.
func TestChangedBasis(t *testing.T) {
	d := newTeam()
	s, log := join(t, d)
	do(t, s, setUp("One"))
	d.relies = func(s plan.State) int { return s.Plan.Steps.Len() }
	changes := 2
	d.before = func() {
		if changes--; changes >= 0 {
			more := plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: fmt.Sprint("More ", changes)}}}}
			_, err := d.Do(t.Context(), alice, more, nil)
			testenv.Check(t, err)
		}
	}
	d.prepared = nil
	outcome := do(t, s, plan.MarkStep{Step: 1, Status: plan.Done})
	if !slices.Equal(d.prepared, []plan.Revision{1, 2, 3}) || outcome.Before.Plan.Steps.Len() != 3 {
		t.Errorf("prepared on %v, decided with %d steps", d.prepared, outcome.Before.Plan.Steps.Len())
	}
	sameLog(t, d, s, log)

	changes, d.prepared = 100, nil
	if _, err := s.Do(t.Context(), alice, plan.MarkStep{Step: 2, Status: plan.Done}, nil); !errors.Is(err, session.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if len(d.prepared) != 5 {
		t.Errorf("it was prepared %d times", len(d.prepared))
	}
}

// TestOffline reads without the server, and changes nothing.
func TestOffline(t *testing.T) {
	d := newTeam()
	s, log := join(t, d)
	do(t, s, setUp("One"))
	d.offline = errOffline
	isAsked := false
	_, err := s.Do(t.Context(), alice, plan.MarkStep{Step: 1, Status: plan.Done}, func(plan.State, *plan.Facts) error {
		isAsked = true
		return nil
	})
	if !errors.Is(err, errOffline) || isAsked {
		t.Errorf("got %v, asked: %t", err, isAsked)
	}
	sameLog(t, d, s, log)
	if got := state(t, s).Plan.Body().Objective; got != "Test" {
		t.Errorf("read %q", got)
	}
}

// TestRefusalOfTheTeam passes a refusal on.
func TestRefusalOfTheTeam(t *testing.T) {
	d := newTeam()
	s, log := join(t, d)
	do(t, s, setUp("One"))
	var refused *plan.ValidationError
	if _, err := s.Do(t.Context(), alice, plan.MarkStep{Step: 9, Status: plan.Done}, nil); !errors.As(err, &refused) {
		t.Fatalf("got %v", err)
	}
	if err := s.Purge(t.Context(), plan.NewActor(plan.ChannelTerminal, "ann")); !errors.As(err, &refused) {
		t.Errorf("a copy was purged: %v", err)
	}
	sameLog(t, d, s, log)
}

// TestWrongFeeds has a server answer with records that do not follow from the copy. The copy stays as it is.
func TestWrongFeeds(t *testing.T) {
	for name, distort := range map[string]func(*session.Feed){
		"wrong hash":        func(f *session.Feed) { f.Head.Hash[0]++ },
		"no log":            func(f *session.Feed) { *f = session.Feed{} },
		"shorter":           func(f *session.Feed) { f.Head.Seq, f.Records = 1, nil },
		"longer":            func(f *session.Feed) { f.Head.Seq++ },
		"a gap":             func(f *session.Feed) { f.Records = f.Records[1:] },
		"endless":           func(f *session.Feed) { f.Records, f.More = nil, true },
		"other order":       func(f *session.Feed) { slices.Reverse(f.Records) },
		"spaces in a line":  func(f *session.Feed) { f.Records[0] = " " + f.Records[0] },
		"no record":         func(f *session.Feed) { f.Records[0] = "{}" },
		"another word":      func(f *session.Feed) { f.Records[0] = strings.Replace(f.Records[0], "begun", "ended", 1) },
		"an unknown field":  func(f *session.Feed) { f.Records[0] = f.Records[0][:len(f.Records[0])-1] + `,"new":1}` },
		"an empty new log":  func(f *session.Feed) { *f = session.Feed{Head: store.Head{Chain: "ANOTHER"}} },
		"a new name for it": func(f *session.Feed) { f.Head.Chain = "ANOTHER" },
	} {
		d := newTeam()
		s, log := join(t, d)
		do(t, s, setUp("One", "Two"))
		before, err := log.Head(t.Context())
		testenv.Check(t, err)
		for _, note := range []string{"begun", "still"} {
			_, err := d.Do(t.Context(), alice, plan.MarkStep{Step: 1, Status: plan.InProgress, Note: note}, nil)
			testenv.Check(t, err)
		}
		d.distort = distort
		pulled := s.Pull(t.Context())
		_, changed := s.Do(t.Context(), alice, plan.MarkStep{Step: 2, Status: plan.Done}, nil)
		if pulled == nil || changed == nil {
			t.Errorf("%s: accepted: %v, %v", name, pulled, changed)
		}
		if after, err := log.Head(t.Context()); err != nil || after != before {
			t.Errorf("%s: the copy became %+v: %v", name, after, err)
		}
		d.distort = nil
		testenv.Check(t, s.Pull(t.Context()))
		sameLog(t, d, s, log)
	}
}

// TestForkedCopy changes a copy without the server.
func TestForkedCopy(t *testing.T) {
	d := newTeam()
	s, log := join(t, d)
	do(t, s, setUp("One", "Two"))
	do(t, session.New(log, session.Options{}), plan.MarkStep{Step: 1, Status: plan.Done})
	var first plan.Record
	for record, err := range d.log.Read(t.Context(), 0) {
		testenv.Check(t, err)
		first = record
	}
	for _, whole := range []bool{false, true} { // a server sends the whole log for a head that it does not have
		if d.distort = nil; whole {
			d.distort = func(f *session.Feed) {
				line, err := store.EncodeRecord(first)
				testenv.Check(t, err)
				f.Records = []string{string(line)}
			}
		}
		if err := s.Pull(t.Context()); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "restored from a backup") {
			t.Errorf("the longer copy: %v", err)
		}
	}
	d.distort = nil
	for range 2 {
		_, err := d.Do(t.Context(), alice, plan.MarkStep{Step: 2, Status: plan.InProgress, Note: rand.Text()}, nil)
		testenv.Check(t, err)
	}
	if err := s.Pull(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("the other copy: %v", err)
	}
}

// TestNewHistory replaces a copy after the team has purged its log.
func TestNewHistory(t *testing.T) {
	d := newTeam()
	s, log := join(t, d)
	do(t, s, setUp("A secret"))
	testenv.Check(t, d.Purge(t.Context(), plan.NewActor(plan.ChannelTerminal, "ann")))
	d.atMost = 1
	_, err := d.Do(t.Context(), alice, setUp("One"), nil)
	testenv.Check(t, err)
	testenv.Check(t, s.Pull(t.Context()))
	sameLog(t, d, s, log)
	do(t, s, plan.MarkStep{Step: 1, Status: plan.Done})
	sameLog(t, d, s, log)
}

// TestCopyOfManyProcesses has several sessions change and pull the same copy at once.
func TestCopyOfManyProcesses(t *testing.T) {
	d, dir := newTeam(), t.TempDir()
	var sessions []*session.Session
	for range 4 {
		s := session.New(sqlite.New(dir, sqlite.Options{}), session.Options{Decider: d})
		t.Cleanup(func() { testenv.Check(t, s.Close()) })
		sessions = append(sessions, s)
	}
	do(t, sessions[0], setUp("One"))
	var group sync.WaitGroup
	for i, s := range sessions {
		group.Go(func() {
			for j := range 10 {
				_, err := s.Do(t.Context(), alice, plan.MarkStep{Step: 1, Status: plan.InProgress, Note: fmt.Sprint(i, " ", j)}, nil)
				if err != nil {
					t.Error(err)
				}
				if err := s.Pull(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	sameLog(t, d, sessions[0], sqlite.New(dir, sqlite.Options{}))
	if got := state(t, sessions[0]).Revision; got != 41 {
		t.Errorf("the log ends at %d", got)
	}
}

// TestValues uploads a value first, and fetches one that another laptop has put.
func TestValues(t *testing.T) {
	d := newTeam()
	a, _ := join(t, d)
	b, log := join(t, d)
	name, err := a.PutValue(t.Context(), []byte("long"))
	testenv.Check(t, err)
	for _, get := range []func(context.Context, string) ([]byte, error){b.Value, log.Value} {
		if got, err := get(t.Context(), name); err != nil || string(got) != "long" {
			t.Errorf("got %q: %v", got, err)
		}
	}
}
