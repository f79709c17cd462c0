package session_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

var alice = plan.Actor{Kind: plan.Agent, Name: "alice"}

func open(t *testing.T, dir string) *session.Session {
	t.Helper()
	s := session.New(sqlite.New(dir, sqlite.Options{}), session.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func do(t *testing.T, s *session.Session, a plan.Action) session.Outcome {
	t.Helper()
	outcome, err := s.Do(t.Context(), alice, a, nil)
	testenv.Check(t, err)
	return outcome
}

func setUp(titles ...string) plan.SetUp {
	a := plan.SetUp{Outline: plan.Outline{Objective: "Test"}}
	for _, title := range titles {
		a.Steps = append(a.Steps, plan.NewStep{Spec: plan.Spec{Title: title}})
	}
	return a
}

func state(t *testing.T, s *session.Session) plan.State {
	t.Helper()
	now, err := s.State(t.Context())
	testenv.Check(t, err)
	return now
}

// written returns the written form of a state, to compare.
func written(t *testing.T, s plan.State) string {
	t.Helper()
	data, err := store.EncodeState(s)
	testenv.Check(t, err)
	return string(data)
}

// TestTwoSessionsAgree has two sessions, as of two processes, write in turn.
func TestTwoSessionsAgree(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	do(t, a, setUp("One", "Two"))
	do(t, b, plan.MarkStep{Step: 1, Status: plan.Done})
	do(t, a, plan.MarkStep{Step: 2, Status: plan.Done, Note: "last"})
	if diff := cmp.Diff(written(t, state(t, a)), written(t, state(t, b))); diff != "" {
		t.Error(diff)
	}
	if got := state(t, b).Plan.Status; got != plan.StatusCompleted {
		t.Errorf("the plan is %s", got)
	}
}

// TestRefusalChangesNothing compares state and log before and after a refusal.
func TestRefusalChangesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	do(t, s, setUp("One"))
	before := written(t, state(t, s))
	_, err := s.Do(t.Context(), alice, plan.MarkStep{Step: 9, Status: plan.Done}, nil)
	var refused *plan.ValidationError
	if !errors.As(err, &refused) || refused.Kind != plan.NotFound {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(before, written(t, state(t, s))); diff != "" {
		t.Error(diff)
	}
}

// TestNothingToDoIsNotRecorded repeats an action that changes nothing.
func TestNothingToDoIsNotRecorded(t *testing.T) {
	s := open(t, t.TempDir())
	do(t, s, setUp("One", "Two"))
	do(t, s, plan.MarkStep{Step: 1, Status: plan.Done})
	again := do(t, s, plan.MarkStep{Step: 1, Status: plan.Done})
	if again.Before.Revision != 2 || again.After.Revision != 2 {
		t.Errorf("revision %d became %d", again.Before.Revision, again.After.Revision)
	}
}

// TestReplayEqualsSnapshotAndTail opens a log with and without its snapshots.
func TestReplayEqualsSnapshotAndTail(t *testing.T) {
	dir := t.TempDir()
	writer := session.New(sqlite.New(dir, sqlite.Options{}), session.Options{})
	do(t, writer, setUp("One", "Two"))
	for i := range 600 {
		do(t, writer, plan.MarkStep{Step: 1, Status: plan.InProgress, Note: fmt.Sprint(i)})
	}
	want := written(t, state(t, writer))
	testenv.Check(t, writer.Close())
	log := sqlite.New(dir, sqlite.Options{})
	snapshot, err := log.Snapshot(t.Context(), 0)
	if err != nil || snapshot == nil {
		t.Fatalf("no snapshot was written: %v", err)
	}
	var replayed plan.State
	for record, err := range log.Read(t.Context(), 0) {
		testenv.Check(t, err)
		replayed = plan.Fold(replayed, record)
	}
	testenv.Check(t, log.Close())
	if diff := cmp.Diff(want, written(t, replayed)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, written(t, state(t, open(t, dir)))); diff != "" {
		t.Error(diff)
	}
}

// TestRestore brings back a cleared and a replaced plan, from another session.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	first := do(t, s, setUp("One", "Two")).After.Plan.ID
	do(t, s, plan.MarkStep{Step: 1, Status: plan.Done, Note: "kept"})
	do(t, s, plan.Clear{})
	other, person := open(t, dir), plan.NewActor(plan.ChannelTerminal, "ann")
	outcome, err := other.Restore(t.Context(), person, first)
	testenv.Check(t, err)
	step, _ := outcome.After.Plan.Steps.Get(1)
	if outcome.After.Plan.Status != plan.StatusActive || step.Status != plan.Done || len(step.Notes) != 1 {
		t.Errorf("restored as %+v", outcome.After.Plan)
	}
	second := do(t, s, setUp("Three")).After.Plan.ID
	if _, err := s.Restore(t.Context(), person, first); err != nil {
		t.Fatal(err)
	}
	body, err := s.PlanBody(t.Context(), second)
	if err != nil || body.Steps.Len() != 1 {
		t.Errorf("the plan restored over is %v, %v", body, err)
	}
	if _, err := s.Restore(t.Context(), alice, "nonsense"); err == nil {
		t.Error("an unknown plan was restored")
	}
}

// TestWatch is notified of changes by its own session and by another.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	changes, err := s.Watch(ctx)
	testenv.Check(t, err)
	do(t, other, setUp("One"))
	for state(t, s).Revision < 1 {
		<-changes
	}
	do(t, s, plan.MarkStep{Step: 1, Status: plan.InProgress})
	<-changes
	cancel()
	for range changes { // closed when the context ends
	}
}

// TestCloseEndsWatching closes the channels of the remaining listeners.
func TestCloseEndsWatching(t *testing.T) {
	s := session.New(store.NewMemory(), session.Options{})
	changes, err := s.Watch(t.Context())
	testenv.Check(t, err)
	testenv.Check(t, s.Close())
	for range changes {
	}
	if _, err := s.Watch(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("watching a closed session: %v", err)
	}
}

// TestConcurrentSessions has several sessions and goroutines mark at once: no mark is lost or
// applied twice.
func TestConcurrentSessions(t *testing.T) {
	const sessions, marks = 4, 50
	dir := t.TempDir()
	do(t, open(t, dir), setUp("One", "Two", "Three", "Four"))
	var all sync.WaitGroup
	for i := range sessions {
		s := open(t, dir)
		all.Go(func() {
			for n := range marks {
				a := plan.MarkStep{Step: plan.StepID(i + 1), Status: plan.InProgress, Note: fmt.Sprintf("%d-%d", i, n)}
				if _, err := s.Do(t.Context(), plan.Actor{Kind: plan.Agent, Name: fmt.Sprint(i)}, a, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	now := state(t, open(t, dir))
	for step := range now.Plan.Steps.All() {
		if len(step.Notes) != marks {
			t.Errorf("%s has %d notes, want %d", step.ID, len(step.Notes), marks)
		}
		for n, note := range step.Notes {
			if want := fmt.Sprintf("%d-%d", step.ID-1, n); note != want {
				t.Fatalf("%s: note %d is %s, want %s", step.ID, n, note, want)
			}
		}
	}
}

// TestChanges yields the changes after a revision, each record with the state before it, from the
// beginning, the middle or the end.
func TestChanges(t *testing.T) {
	s := open(t, t.TempDir())
	states := []string{written(t, plan.State{}), written(t, do(t, s, setUp("One", "Two")).After)}
	for _, status := range []plan.StepStatus{plan.InProgress, plan.Done, plan.Pending} {
		states = append(states, written(t, do(t, s, plan.MarkStep{Step: 1, Status: status}).After))
	}
	for after := range plan.Revision(len(states) + 1) {
		next := after
		for change, err := range s.Changes(t.Context(), after, false) {
			testenv.Check(t, err)
			if next++; change.Record.Seq != next || written(t, change.Before) != states[next-1] {
				t.Errorf("after %d: %d was accepted in\n%s", after, change.Record.Seq, written(t, change.Before))
			}
		}
		if last := max(after, plan.Revision(len(states)-1)); next != last {
			t.Errorf("after %d it ends at %d", after, next)
		}
	}
}

// TestChangesAreFollowed yields changes by another session, a purge, and the changes after it,
// until it is ended.
func TestChangesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	do(t, b, setUp("One"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	heard := make(chan string)
	go func() {
		defer close(heard)
		for change, err := range a.Changes(ctx, 1, true) {
			if err != nil {
				heard <- err.Error()
				return
			}
			heard <- fmt.Sprint(change.Record.Seq, " ", change.Record.Action, " in ", change.Before.Revision)
		}
	}()
	expect := func(want string) {
		t.Helper()
		if got := <-heard; got != want {
			t.Fatalf("heard %q, want %q", got, want)
		}
	}
	do(t, b, plan.MarkStep{Step: 1, Status: plan.InProgress})
	expect("2 mark_step in 1")
	do(t, b, plan.MarkStep{Step: 1, Status: plan.Done})
	expect("3 mark_step in 2")
	for range 2 {
		testenv.Check(t, b.Purge(t.Context(), plan.NewActor(plan.ChannelTerminal, "bob")))
		expect("1 purge in 0")
		do(t, b, setUp("One"))
		expect("2 set_up_plan in 1")
	}
	stop()
	if more, open := <-heard; open {
		t.Errorf("heard %q after the end", more)
	}
}

// TestPurge begins a new history, which another session sees.
// The owner is told of each change that the session made, and of nothing else.
func TestOwnChangesAreReported(t *testing.T) {
	dir, reports := t.TempDir(), 0
	s := session.New(sqlite.New(dir, sqlite.Options{}), session.Options{Changed: func() { reports++ }})
	defer s.Close()
	expect := func(when string, want int) {
		t.Helper()
		if reports != want {
			t.Errorf("%s: %d reports, want %d", when, reports, want)
		}
	}
	do(t, s, setUp("one"))
	expect("a change", 1)
	if _, err := s.Do(t.Context(), alice, plan.MarkStep{Step: 9, Status: plan.Done}, nil); err == nil {
		t.Error("not refused")
	}
	do(t, open(t, dir), plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "two"}}}})
	state(t, s)
	expect("a refusal, and another's change", 1)
	if err := s.Purge(t.Context(), plan.NewActor(plan.ChannelTerminal, "bob")); err != nil {
		t.Error(err)
	}
	expect("a purge", 2)
}

func TestPurge(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	do(t, s, setUp("One"))
	do(t, other, plan.MarkStep{Step: 1, Status: plan.InProgress})
	testenv.Check(t, s.Purge(t.Context(), plan.NewActor(plan.ChannelTerminal, "bob")))
	if now := state(t, other); now.Plan != nil || now.Revision != 1 {
		t.Errorf("after the purge: revision %d, plan %v", now.Revision, now.Plan)
	}
	do(t, other, setUp("New"))
	if now := state(t, s); now.Plan == nil || now.Revision != 2 {
		t.Errorf("after a new plan: revision %d, plan %v", now.Revision, now.Plan)
	}
}

// seen is a presence that is asked once.
type seen map[string]plan.Sighting

func (s seen) Seen(name string) plan.Sighting { return s[name] }
func (seen) LastActivity() time.Time          { return time.Time{} }

// TestClaims asks presence about the owner of a claimed step.
func TestClaims(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	presence := seen{}
	s := session.New(store.NewMemory(), session.Options{Presence: presence, Now: func() time.Time { return now }})
	t.Cleanup(func() { s.Close() })
	do(t, s, setUp("One"))
	do(t, s, plan.MarkStep{Step: 1, Status: plan.InProgress})
	bob := plan.Actor{Kind: plan.Agent, Name: "bob"}
	take := plan.MarkStep{Step: 1, Status: plan.InProgress}
	if _, err := s.Do(t.Context(), bob, take, nil); err == nil {
		t.Error("bob took a claimed step")
	}
	now = now.Add(31 * time.Minute)
	presence["alice"] = plan.Sighting{At: now.Add(-time.Minute)}
	if _, err := s.Do(t.Context(), bob, take, nil); err == nil {
		t.Error("bob took a step whose owner was seen a minute ago")
	}
	presence["alice"] = plan.Sighting{At: now, IsGone: true}
	if _, err := s.Do(t.Context(), bob, take, nil); err != nil {
		t.Error(err)
	}
}

// TestTimesRise: times give the order of the records, even if the clock stops or is set back.
func TestTimesRise(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	log := store.NewMemory()
	s := session.New(log, session.Options{Now: func() time.Time { return now }})
	t.Cleanup(func() { s.Close() })
	var last time.Time
	for i := range 6 {
		if i > 2 {
			now = now.Add(-time.Second)
		}
		do(t, s, setUp(fmt.Sprint(i)))
		at := state(t, s)
		if !at.UpdatedAt.After(last) || !at.Plan.CreatedAt.Equal(at.UpdatedAt) {
			t.Errorf("record %d is of %v, its plan of %v; the one before was of %v", i, at.UpdatedAt, at.Plan.CreatedAt, last)
		}
		last = at.UpdatedAt
	}
}

// TestPrepareRefuses lets the caller's facts refuse under the lock.
func TestPrepareRefuses(t *testing.T) {
	s := open(t, t.TempDir())
	no := errors.New("no")
	_, err := s.Do(t.Context(), alice, setUp("One"), func(plan.State, *plan.Facts) error { return no })
	if !errors.Is(err, no) || state(t, s).Revision != 0 {
		t.Errorf("got %v at revision %d", err, state(t, s).Revision)
	}
}

// TestCancelledBeforeItsTurn gives up while another call has the turn.
func TestCancelledBeforeItsTurn(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Do(ctx, alice, setUp("One"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// stuckSnapshots is a log that fails to write snapshots in time.
type stuckSnapshots struct {
	store.Log
	asked chan plan.Revision
}

func (l stuckSnapshots) SaveSnapshot(ctx context.Context, s store.Snapshot) error {
	l.asked <- s.Head.Seq
	<-ctx.Done()
	return ctx.Err()
}

// TestSnapshotsGoOnAfterOneIsGivenUp writes none in time, repeatedly: the next one is still tried.
func TestSnapshotsGoOnAfterOneIsGivenUp(t *testing.T) {
	const every, tries = 128, 8
	synctest.Test(t, func(t *testing.T) {
		log := stuckSnapshots{store.NewMemory(), make(chan plan.Revision, tries)}
		s := session.New(log, session.Options{})
		do(t, s, setUp("One"))
		status := []plan.StepStatus{plan.Pending, plan.InProgress}
		for revision := 2; revision <= every*tries; revision++ {
			do(t, s, plan.MarkStep{Step: 1, Status: status[(revision+1)%2]})
			if revision%every == 0 {
				time.Sleep(time.Hour) // the bubble's clock, until the snapshot is given up
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := len(log.asked); got != tries {
			t.Errorf("%d snapshots were tried, want %d", got, tries)
		}
	})
}

// mark is a mark in memory.
type mark struct {
	at     time.Time
	listed []bool // whether the track was listed as open, at each change
}

func (m *mark) Mark(on bool) error {
	if m.at = (time.Time{}); on {
		m.at = time.Now()
	}
	return nil
}

func (m *mark) Marked() (time.Duration, bool) { return time.Since(m.at), !m.at.IsZero() }

func (m *mark) ListOpen(on bool) error { m.listed = append(m.listed, on); return nil }

// TestOpenIsNoted: each change notes beside the log whether the track is open. An open track is listed before the change is on disk, and a
// closed one removed after it.
func TestOpenIsNoted(t *testing.T) {
	dir, m := t.TempDir(), &mark{}
	s := session.New(sqlite.New(dir, sqlite.Options{}), session.Options{Mark: m})
	defer s.Close()
	want := func(when string, want bool) {
		t.Helper()
		isOpen, known, written := sqlite.Overview(dir)
		if isOpen != want || !known || written.IsZero() || len(m.listed) == 0 || m.listed[len(m.listed)-1] != want {
			t.Errorf("%s: %t, %t, %v, listed %v", when, isOpen, known, written, m.listed)
		}
	}
	do(t, s, setUp("One"))
	want("set up", true)
	do(t, s, plan.Clear{})
	want("cleared", false)
	do(t, s, plan.EnterMode{Reason: "It is large"})
	want("in planning mode", true)
	ann := plan.Actor{Kind: plan.Person, Name: "ann", Channel: plan.ChannelTerminal}
	if _, err := s.Do(t.Context(), ann, plan.CancelMode{}, nil); err != nil {
		t.Fatal(err)
	}
	want("cancelled", false)
	do(t, s, setUp("Two"))
	do(t, s, plan.MarkStep{Step: 1, Status: plan.Done})
	want("completed", false)
	do(t, s, setUp("Three"))
	testenv.Check(t, s.Purge(t.Context(), ann))
	want("purged", false)
}

// TestOpenIsInDoubt: a process killed between a change that opens a closed track and the note of it leaves the track unknown, not closed.
func TestOpenIsInDoubt(t *testing.T) {
	dir := t.TempDir()
	log := sqlite.New(dir, sqlite.Options{})
	s := session.New(log, session.Options{})
	defer s.Close()
	do(t, s, setUp("One"))
	do(t, s, plan.Clear{})
	state, err := s.State(t.Context())
	testenv.Check(t, err)
	// A record that does not follow the last one is refused after the doubt is written.
	if _, err := log.Append(t.Context(), plan.Record{Seq: state.Revision + 5, IsOpen: true, Opens: true}); err == nil {
		t.Fatal("the record is accepted")
	}
	if isOpen, known, _ := sqlite.Overview(dir); isOpen || known {
		t.Errorf("open %t, known %t", isOpen, known)
	}
	do(t, s, setUp("Two"))
	if isOpen, known, _ := sqlite.Overview(dir); !isOpen || !known {
		t.Errorf("open %t, known %t", isOpen, known)
	}
}

// TestMark: planning mode is marked outside the log before a change is answered, and unmarked after it. The next look mends the mark that a
// killed process left or lacks, and a mark without a log is an error.
func TestMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, m := t.TempDir(), &mark{}
		reopen := func() *session.Session {
			s := session.New(sqlite.New(dir, sqlite.Options{}), session.Options{Mark: m})
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
		want := func(when string, want bool) {
			t.Helper()
			if _, got := m.Marked(); got != want {
				t.Errorf("%s: %t", when, got)
			}
		}
		s := reopen()
		do(t, s, setUp("One"))
		want("without the mode", false)
		do(t, s, plan.EnterMode{Reason: "It is large"})
		want("in the mode", true)
		m.at = time.Time{} // killed before it was marked
		_, err := reopen().Head(t.Context())
		want("mended by a hook", err == nil)
		m.at = time.Time{}
		state(t, reopen())
		want("mended by a command", true)
		ann := plan.Actor{Kind: plan.Person, Name: "ann", Channel: plan.ChannelTerminal}
		if _, err := s.Do(t.Context(), ann, plan.CancelMode{}, nil); err != nil {
			t.Fatal(err)
		}
		want("after the mode", false)
		m.at = time.Now() // killed before it was unmarked
		state(t, reopen())
		want("another process may have just begun the mode", true)
		time.Sleep(time.Minute)
		state(t, reopen())
		want("mended", false)

		m.at, dir = time.Now().Add(-time.Minute), t.TempDir()
		s = reopen()
		_, stateErr := s.State(t.Context())
		_, headErr := s.Head(t.Context())
		_, cachedErr := s.CachedHead(t.Context())
		_, doErr := s.Do(t.Context(), alice, setUp("One"), nil)
		for what, err := range map[string]error{"state": stateErr, "head": headErr, "cached head": cachedErr, "change": doErr} {
			if !errors.Is(err, session.ErrDeleted) || !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s: %v", what, err)
			}
		}
		want("the log was deleted", true)
	})
}
