package presence_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// clock only advances when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// at opens a book as another process would see it at the clock's time.
func (c *clock) at(dir string) *presence.Registry {
	return presence.Open(dir, presence.Options{Now: c.Now})
}

func check(t *testing.T, b *presence.Registry, name string, at time.Time, gone bool) {
	t.Helper()
	if got := b.Seen(name); !got.At.Equal(at) || got.IsGone != gone {
		t.Errorf("%s: got %+v, want %v, gone %v", name, got, at, gone)
	}
}

// both runs a test on files and in memory. another is the same book or, on files, a second book on the same state.
func both(t *testing.T, test func(t *testing.T, c *clock, b, another *presence.Registry)) {
	t.Run("files", func(t *testing.T) {
		c, dir := newClock(), t.TempDir()
		test(t, c, c.at(dir), c.at(dir))
	})
	t.Run("memory", func(t *testing.T) {
		c := newClock()
		b := c.at("")
		test(t, c, b, b)
	})
}

func TestTouch(t *testing.T) {
	both(t, func(t *testing.T, c *clock, b, another *presence.Registry) {
		check(t, another, "ann", time.Time{}, false)
		b.Touch("ann")
		first := c.Now()
		check(t, another, "ann", first, false)
		check(t, another, "bob", time.Time{}, false)
		later := c.pass(10 * time.Second)
		check(t, another, "ann", first, false)
		b.Touch("ann")
		check(t, another, "ann", later, false)
	})
}

// TestLastLife: one file has the time of the last sign of any name on a track, and another track's signs do not change it.
func TestLastLife(t *testing.T) {
	shared, now := t.TempDir(), time.Now().Add(-time.Hour).Round(time.Second)
	track := filepath.Join(shared, "tracks", "docs")
	testenv.Check(t, os.MkdirAll(track, 0o700))
	open := func(state string, at time.Time) *presence.Registry {
		return presence.Open(state, presence.Options{Shared: shared, Now: func() time.Time { return at }})
	}
	if at := presence.LastLife(track); !at.IsZero() {
		t.Errorf("before any: %v", at)
	}
	open(shared, now).Touch("ann")
	open(track, now.Add(time.Minute)).Join("bob#1")()
	if main, docs := presence.LastLife(shared), presence.LastLife(track); !main.Equal(now) || !docs.Equal(now.Add(time.Minute)) {
		t.Errorf("%v, %v, want %v and a minute later", main, docs, now)
	}
}

func TestConnections(t *testing.T) {
	both(t, func(t *testing.T, c *clock, b, another *presence.Registry) {
		const name = "client#1a2b3c"
		check(t, another, name, time.Time{}, false) // never seen: nothing is known
		leave := b.Join(name)
		joined := c.Now()
		check(t, b, name, joined, false)
		check(t, another, name, joined, false)
		leaveAgain := b.Join(name)
		leave()
		leave() // once is enough
		check(t, b, name, joined, false)
		check(t, another, name, joined, false)
		leaveAgain()
		check(t, b, name, joined, true)
		check(t, another, name, joined, true)
		back := c.pass(time.Minute)
		leave = b.Join(name)
		check(t, another, name, back, false)
		leave()
		b.Touch(name) // a call that ends after its connection does not revive it
		check(t, another, name, back, true)
	})
}

func TestJoinOfANameWithoutConnection(t *testing.T) {
	both(t, func(t *testing.T, c *clock, b, another *presence.Registry) {
		leave := b.Join("builder")
		check(t, another, "builder", c.Now(), false)
		leave()
		leave()
		check(t, another, "builder", c.Now(), false)
	})
}

func TestAConnectionOfAnotherBookCanBeTakenOver(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	one, two, judge := c.at(dir), c.at(dir), c.at(dir)
	const name = "client#1"
	leaveOne, leaveTwo := one.Join(name), two.Join(name)
	leaveOne()
	c.pass(2 * time.Second)
	two.Touch(name)
	check(t, judge, name, c.Now(), false)
	leaveTwo()
	check(t, judge, name, c.Now(), true)
}

func TestNothingIsMadeBeforeTheState(t *testing.T) {
	c, state := newClock(), filepath.Join(t.TempDir(), "state")
	b, judge := c.at(state), c.at(state)
	const name = "client#1"
	leave := b.Join(name)
	b.Touch(name)
	b.Touch("ann")
	if _, err := os.Stat(state); err == nil {
		t.Fatal("the state folder was made")
	}
	check(t, b, name, c.Now(), false)
	testenv.Check(t, os.Mkdir(state, 0o700))
	// The state was just made by the claiming call: other processes do not know the connection yet and must not
	// consider it gone.
	check(t, judge, name, time.Time{}, false)
	b.Touch(name)
	check(t, judge, name, c.Now(), false)
	leave()
	check(t, judge, name, c.Now(), true)
}

func TestStateThatIsRemovedUnderneath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows removes no open file")
	}
	c, state := newClock(), t.TempDir()
	b, judge := c.at(state), c.at(state)
	const name = "client#1"
	leave := b.Join(name)
	testenv.Check(t, os.RemoveAll(filepath.Join(state, "seen")))
	c.pass(2 * time.Second)
	b.Touch(name)
	check(t, judge, name, c.Now(), false)
	leave()
	check(t, judge, name, c.Now(), true)
}

func files(t *testing.T, state, pattern string) []string {
	t.Helper()
	found := testenv.Must(filepath.Glob(filepath.Join(state, "seen", pattern)))(t)
	return found
}

func TestAtMostOneWriteASecond(t *testing.T) {
	c, state := newClock(), t.TempDir()
	b := c.at(state)
	b.Touch("ann")
	path := files(t, state, "*.seen")[0]
	mark := time.Unix(1_000_000_000, 0)
	for _, step := range []struct {
		pass  time.Duration
		write bool
	}{{0, false}, {999 * time.Millisecond, false}, {time.Millisecond, true}, {time.Hour, true}, {-2 * time.Hour, true}} {
		testenv.Check(t, os.Chtimes(path, mark, mark))
		now := c.pass(step.pass)
		b.Touch("ann")
		info := testenv.Must(os.Stat(path))(t)
		if written := !info.ModTime().Equal(mark); written != step.write {
			t.Errorf("after %v: written %v", step.pass, written)
		}
		check(t, b, "ann", now, false) // unwritten signs are known here
	}
}

func TestTimesFromTheFuture(t *testing.T) {
	c, state := newClock(), t.TempDir()
	b := c.at(state)
	c.pass(10 * 365 * 24 * time.Hour) // the clock is wrong for a while
	leave := b.Join("client#1")
	b.Touch("ann")
	right := c.pass(-10 * 365 * 24 * time.Hour)
	check(t, b, "ann", time.Time{}, false)
	check(t, c.at(state), "ann", time.Time{}, false)
	b.Touch("ann")
	check(t, c.at(state), "ann", right, false)
	leave()
	check(t, c.at(state), "client#1", time.Time{}, true) // gone in any case
	c.pass(-30 * time.Second)
	check(t, c.at(state), "ann", right, false) // a little ahead does not count as wrong
}

func TestSweep(t *testing.T) {
	c, state := newClock(), t.TempDir()
	b := c.at(state)
	leave := b.Join("alive#1")
	defer leave()
	b.Touch("ann")
	dead := filepath.Join(state, "seen", strings.Repeat("0", 32)+".live")
	young := filepath.Join(state, "seen", strings.Repeat("1", 32)+".live")
	other := filepath.Join(state, "seen", "note.txt")
	old := filepath.Join(state, "seen", strings.Repeat("2", 32)+".seen")
	set := func(path string, at time.Time) {
		t.Helper()
		if file, err := os.OpenFile(path, os.O_CREATE, 0o600); err != nil {
			t.Fatal(err)
		} else if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		testenv.Check(t, os.Chtimes(path, at, at))
	}
	day := 24 * time.Hour
	set(dead, c.Now().Add(-day-time.Minute))
	set(young, c.Now().Add(-day+time.Minute))
	set(other, c.Now().Add(-100*day))
	set(old, c.Now().Add(-31*day))
	for _, live := range files(t, state, "*.live") {
		if live != young && live != dead {
			set(live, c.Now().Add(-9*day)) // a connection of nine days
		}
	}
	leaveNew := c.at(state).Join("new#1")
	defer leaveNew()
	for path, kept := range map[string]bool{dead: false, young: true, other: true, old: false} {
		if _, err := os.Stat(path); (err == nil) != kept {
			t.Errorf("%s kept: %v", filepath.Base(path), err == nil)
		}
	}
	check(t, c.at(state), "alive#1", c.Now(), false)
	check(t, c.at(state), "ann", c.Now(), false)
}

func TestLeaveLeavesNoLock(t *testing.T) {
	c, state := newClock(), t.TempDir()
	c.at(state).Join("client#1")()
	if left := files(t, state, "*.live"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestHostileNames(t *testing.T) {
	c, state := newClock(), t.TempDir()
	b := c.at(state)
	for _, name := range []string{"", "../../escape", "a/b\x00#", "#", strings.Repeat("x", 1<<16), "\xff\n"} {
		leave := b.Join(name)
		check(t, c.at(state), name, c.Now(), false)
		leave()
	}
	entries, err := os.ReadDir(state)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestManyNames(t *testing.T) {
	c, state := newClock(), t.TempDir()
	b := c.at(state)
	leave := b.Join("client#1")
	for i := range 2_500 {
		b.Touch(fmt.Sprint("name ", i))
	}
	check(t, b, "name 7", c.Now(), false)
	check(t, c.at(state), "client#1", c.Now(), false)
	leave()
	check(t, c.at(state), "client#1", c.Now(), true)
}

func TestFileSystemThatRefuses(t *testing.T) {
	state := t.TempDir()
	// A file is in the folder's place.
	testenv.Check(t, os.WriteFile(filepath.Join(state, "seen"), nil, 0o600))
	var log bytes.Buffer
	c := newClock()
	b := presence.Open(state, presence.Options{Now: c.Now, Logger: slog.New(slog.NewTextHandler(&log,
		&slog.HandlerOptions{Level: slog.LevelDebug}))})
	leave := b.Join("client#1")
	b.Touch("client#1")
	b.Touch("ann")
	if got := b.Seen("client#1"); got.IsGone || !got.At.Equal(c.Now()) {
		t.Errorf("%+v", got)
	}
	if got := c.at(state).Seen("client#1"); got != (plan.Sighting{}) {
		t.Errorf("%+v", got)
	}
	leave()
	if !strings.Contains(log.String(), "level=DEBUG") || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("logged %q", log.String())
	}
}

func TestConcurrentUse(t *testing.T) {
	state := t.TempDir()
	books := []*presence.Registry{presence.Open(state, presence.Options{}), presence.Open(state, presence.Options{})}
	steady := books[0].Join("steady#1")
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			b := books[worker%2]
			for i := range 60 {
				name := fmt.Sprintf("client#%d", i%3)
				leave := b.Join(name)
				b.Touch(name)
				b.Touch("shared")
				if b.Seen(name).IsGone {
					t.Errorf("%s is gone in the book it has joined", name)
				}
				if books[1].Seen("steady#1").IsGone {
					t.Error("steady#1 is gone")
				}
				leave()
			}
		})
	}
	all.Wait()
	for i := range 3 {
		if got := books[0].Seen(fmt.Sprintf("client#%d", i)); !got.IsGone {
			t.Errorf("client#%d: %+v", i, got)
		}
	}
	steady()
	if left := files(t, state, "*.live"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if got := presence.Open(state, presence.Options{}).Seen("shared"); time.Since(got.At) > time.Minute {
		t.Errorf("shared: %+v", got)
	}
}

func BenchmarkTouch(b *testing.B) {
	book := presence.Open(b.TempDir(), presence.Options{})
	book.Touch("ann")
	for b.Loop() {
		book.Touch("ann")
	}
}

func BenchmarkTouchThatWrites(b *testing.B) {
	c := newClock()
	book := c.at(b.TempDir())
	defer book.Join("client#1")()
	for b.Loop() {
		c.pass(time.Second)
		book.Touch("client#1")
	}
}

func BenchmarkSeen(b *testing.B) {
	dir := b.TempDir()
	defer presence.Open(dir, presence.Options{}).Join("client#1")()
	judge := presence.Open(dir, presence.Options{})
	for b.Loop() {
		if judge.Seen("client#1").IsGone {
			b.Fatal("gone")
		}
	}
}
