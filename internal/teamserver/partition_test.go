package teamserver_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Limits of waiting, with the time that a busy machine takes.
const (
	busy     = 5 * time.Second
	catchUp  = 3*time.Second + busy
	callWait = 5*time.Second + busy               // a call's limit at the laptop
	silence  = teamwire.Heartbeat + 2*time.Second // until a follower opens its stream again
)

// within fails unless something happens in a time.
func within(t *testing.T, limit time.Duration, what string, isDone func() bool) {
	t.Helper()
	began := time.Now()
	for ; !isDone(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > limit {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
	t.Logf("%s after %v", what, time.Since(began).Round(time.Millisecond))
}

// note has a laptop add a note at its first server, and returns the record's number.
func (l *laptop) note(t *testing.T, text string) plan.Revision {
	t.Helper()
	seq, err := l.change(t.Context(), text, plan.ReportStep{Step: 1, Note: text})
	check(t, err)
	return seq
}

// count returns how many records have a text.
func (l *laptop) count(t *testing.T, text string) (n int) {
	t.Helper()
	_, list := l.readAll(t)
	for _, record := range list {
		for _, event := range record.Events {
			if noted, is := event.(plan.StepReported); is && noted.Note == text {
				n++
			}
		}
	}
	return n
}

// TestALaptopIsCutOff: a laptop on silent connections says so in time, its changes are recorded once, and the copy that it follows is
// current soon after the connections have healed, or after they were forgotten and it has noticed.
func TestALaptopIsCutOff(t *testing.T) {
	t.Parallel()
	laptops, servers := newFleet(t, postgrestest.Start(t), 1, 2, 1)
	cutOff, other := laptops[0], laptops[1]
	w := newTCPWire(t, servers...)
	s, c := cutOff.copyVia(t, w)
	me := plan.NewActor(plan.ChannelMCP, "codex")
	note := func(text string) error {
		_, err := s.Do(t.Context(), c.Actor(me), plan.ReportStep{Step: 1, Note: text}, nil)
		return err
	}
	offline := func(err error, limit time.Duration, began time.Time, mayHaveChanged bool) {
		t.Helper()
		is, ok := errors.AsType[*team.Offline](err)
		if !ok || is.MayHaveChanged != mayHaveChanged || time.Since(began) > limit {
			t.Errorf("after %v the change said %v", time.Since(began), err)
		}
	}
	followed := cutOff.followVia(t, w, silence)
	check(t, note("before"))
	within(t, catchUp, "the follower has the first note", func() bool { return followed(2) })

	w.silence()
	seq := other.note(t, "from another laptop")
	began := time.Now()
	offline(note("not sent"), callWait, began, false)
	if _, err := s.State(t.Context()); err != nil {
		t.Errorf("the copy cannot be read: %v", err)
	}
	w.heal(false)
	within(t, catchUp, "the follower has caught up", func() bool { return followed(seq) })

	var pulls errgroup.Group // leave several idle connections
	for range 4 {
		pulls.Go(func() error { return s.Pull(t.Context()) })
	}
	check(t, pulls.Wait())
	w.silenceAfter("/do HTTP/1.1")
	began = time.Now()
	offline(note("without an answer"), 3*callWait, began, true)
	seq = other.note(t, "again from another laptop")
	w.heal(true)
	within(t, silence+catchUp, "the follower has caught up on a new connection", func() bool { return followed(seq) })
	if err := note("after"); err != nil {
		t.Errorf("the first change after the healing said %v", err)
	}
	for text, want := range map[string]int{"not sent": 0, "without an answer": 1, "after": 1} {
		if n := other.count(t, text); n != want {
			t.Errorf("%q was recorded %d times, want %d", text, n, want)
		}
	}
}

// followVia follows the laptop's track through a wire, until the test ends. It returns a function that reports whether the copy has a
// record.
func (l *laptop) followVia(t *testing.T, w *wire, silence time.Duration) func(plan.Revision) bool {
	t.Helper()
	home, log := t.TempDir(), store.NewMemory()
	_, c := l.copyVia(t, w)
	check(t, c.Membership.Save(filepath.Join(home, "teams")))
	check(t, c.Place.Save(filepath.Join(home, "state", "shop-1")))
	follower := team.Follower{Folder: filepath.Join(home, "teams"), StateHome: filepath.Join(home, "state"), Silence: silence,
		Retry: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Open: func(_ string, c *team.Copy) (*session.Session, team.Signs) {
			return session.New(log, session.Options{Decider: c}), unseen{}
		}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { follower.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return func(seq plan.Revision) bool {
		head, err := log.Head(t.Context())
		check(t, err)
		return head.Seq >= seq
	}
}

// unseen has no signs of life.
type unseen struct{}

func (unseen) Touch(string)              {}
func (unseen) Join(string) func()        { return func() {} }
func (unseen) Seen(string) plan.Sighting { return plan.Sighting{} }
func (unseen) LastActivity() time.Time   { return time.Time{} }

// TestAServerIsCutOffFromItsDatabase: a server without an answer of PostgreSQL says so, others continue, and its
// streams have the newest changes soon after the connections have healed, although the old ones are forgotten.
func TestAServerIsCutOffFromItsDatabase(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Start(t)
	laptops, _ := newFleet(t, dsn, 1, 2, 1)
	other := laptops[1]
	w, through := newDatabaseWire(t, dsn)
	w.mu.Lock()
	w.only = "LISTEN planloop"
	w.mu.Unlock()
	server := &process{dsn: through, address: "127.0.0.1:0"}
	check(t, server.start())
	t.Cleanup(server.kill)
	cutOff := laptops[0]
	cutOff.servers = []*process{server}
	var following sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	following.Go(func() { cutOff.follow(ctx) })
	defer following.Wait()
	defer cancel()
	heard := func(what string, seq plan.Revision) {
		t.Helper()
		within(t, catchUp, what, func() bool { return cutOff.seen("t0").Seq >= seq })
	}
	heard("the stream begins", cutOff.note(t, "before"))

	w.silence() // of LISTEN alone
	for n := range 2 {
		heard("a change is noticed by polling", other.note(t, fmt.Sprint("silent ", n)))
	}
	within(t, 15*time.Second+busy, "the server has noticed that LISTEN is silent", func() bool { return w.named() > 1 })
	w.heal(false)

	w.mu.Lock()
	w.only = ""
	w.mu.Unlock()
	w.silence()
	lost, err := store.EncodeAction(plan.ReportStep{Step: 1, Note: "without an answer"})
	check(t, err)
	var asking sync.WaitGroup
	for path, limit := range map[string]time.Duration{"/readyz": 2 * time.Second, "/v1/me": 5 * time.Second, "/v1/members": 5 * time.Second,
		"/v1/w/shop/tracks": 20 * time.Second, "/v1/w/shop/t/t0/records?after=0": 20 * time.Second, "/v1/w/shop/t/t0/do": 20 * time.Second,
		"/v1/w/shop/seen": 20 * time.Second} {
		asking.Go(func() {
			body, method := "", "GET"
			switch {
			case strings.HasSuffix(path, "/do"):
				method, body = "POST", `{"key":"lost","after":0,"agent":"codex0","action":`+string(lost)+`}`
			case strings.HasSuffix(path, "/seen"):
				method, body = "POST", `{"agents":{}}`
			}
			began := time.Now()
			status := cutOff.status(t, method, path, body)
			if took := time.Since(began); status != 503 || took > limit+busy {
				t.Errorf("%s was answered with %d after %v", path, status, took)
			}
		})
	}
	other.note(t, "at the other server")
	asking.Wait()
	seq := other.note(t, "again at the other server")
	w.heal(true)
	heard("the stream has caught up", seq)
	began := time.Now()
	cutOff.note(t, "after")
	if took := time.Since(began); took > catchUp {
		t.Errorf("the first change after the healing took %v", took)
	}
	if n := other.count(t, "without an answer"); n > 1 {
		t.Errorf("a change was recorded %d times", n)
	}
}

// named returns how many connections have sent wire.only.
func (w *wire) named() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		if c.isNamed {
			n++
		}
	}
	return n
}

// status sends a request to the laptop's first server, without a limit of time, and returns the answer's status.
func (l *laptop) status(t *testing.T, method, path, body string) int {
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.servers[0].address+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+l.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}
