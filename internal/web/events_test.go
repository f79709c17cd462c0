package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/plan"
)

func TestStreamTellsOfChanges(t *testing.T) {
	f := serve(t, func(o *Options) { o.Heartbeat = 5 * time.Millisecond })
	b := f.launch()
	lines, _ := b.stream()
	if got := next(t, lines); got != ": here" {
		t.Errorf("a sign of life: %q", got)
	}
	f.submit("w2")
	for got := range lines {
		if got != ": here" {
			if got != `data: {"workspace":"w2","revision":1}` {
				t.Errorf("the change: %q", got)
			}
			break
		}
	}
	resp := b.f.open(http.MethodGet, "/api/events", "", b.in)
	defer func() { _ = resp.Body.Close() }()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type: %s", got)
	}
}

// TestSlowStreamGetsSeveralAsOne: more changes happen than an unread stream can hold.
func TestSlowStreamGetsSeveralAsOne(t *testing.T) {
	n := &changes{latest: map[string]numberedChange{}}
	for i := range 1000 {
		n.tell(review.Change{Workspace: fmt.Sprint("w", i%3), Revision: plan.Revision(i)})
	}
	list, sent := n.since(0)
	if len(list) != 3 || list[0].Revision != 997 || list[2].Revision != 999 || sent != 1000 {
		t.Errorf("%+v, %d", list, sent)
	}
	n.tell(review.Change{Workspace: "w1", Revision: 3})
	if list, _ = n.since(sent); len(list) != 1 || list[0].Revision != 3 {
		t.Errorf("%+v", list)
	}
}

func TestStreamsEnd(t *testing.T) {
	for what, end := range map[string]func(*fixture, *http.Response){
		"with the server":  func(f *fixture, _ *http.Response) { f.stop() },
		"with Close":       func(f *fixture, _ *http.Response) { f.Close() },
		"with the session": func(f *fixture, _ *http.Response) { f.sessions.close() },
		"with the page":    func(_ *fixture, resp *http.Response) { _ = resp.Body.Close() },
	} {
		f := serve(t, nil)
		resp := f.open(http.MethodGet, "/api/events", "", f.launch().in)
		lines := bufio.NewReader(resp.Body)
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		end(f, resp)
		if _, err := io.ReadAll(lines); err != nil && what != "with the page" {
			t.Errorf("%s: the stream ends with %v", what, err)
		}
		eventually(t, what, func() bool {
			f.streams.mu.Lock()
			defer f.streams.mu.Unlock()
			return f.streams.open == 0
		})
	}
}

// deadlines notes the time limit of writes.
type deadlines struct {
	*httptest.ResponseRecorder
	last time.Time
}

func (d *deadlines) SetWriteDeadline(until time.Time) error {
	d.last = until
	return nil
}

// TestIdleStreamHasNoTimeLimit: in HTTP/2, a time limit that passes between two writes resets the stream.
func TestIdleStreamHasNoTimeLimit(t *testing.T) {
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	ctx, cancel := context.WithCancel(t.Context())
	out := &eventWriter{w: d, limits: http.NewResponseController(d), ctx: ctx}
	err := out.send(": here\n\n")
	cancel()
	if out.cut(); err != nil || !d.last.IsZero() {
		t.Errorf("%v, the limit is %v", err, d.last)
	}
}

// TestPageThatDoesNotReadIsDropped: such a stream ends with the server.
func TestPageThatDoesNotReadIsDropped(t *testing.T) {
	f := serve(t, nil)
	b := f.launch()
	resp := f.open(http.MethodGet, "/api/events", "", b.in)
	defer func() { _ = resp.Body.Close() }()
	long := strings.Repeat("x", 1<<20)
	for i := range 30 { // more than the sockets hold
		f.workspaces.changes <- review.Change{Workspace: fmt.Sprint(long, i), Revision: 1}
	}
	closed := make(chan struct{})
	go func() {
		f.Close()
		close(closed)
	}()
	next(t, closed)
}

func TestStreamsAreBounded(t *testing.T) {
	f := prepare(t, nil)
	var leave []func()
	join := func(decides bool) error {
		_, done, err := f.streams.join(decides)
		if err == nil {
			leave = append(leave, done)
		}
		return err
	}
	for range maxViewStreams {
		if err := join(false); err != nil {
			t.Fatal(err)
		}
	}
	if err := join(false); err == nil || refusalOf(err).Kind != busy {
		t.Errorf("one more that looks: %v", err)
	}
	for range maxStreams - maxViewStreams {
		if err := join(true); err != nil {
			t.Fatal(err)
		}
	}
	if err := join(true); err == nil || refusalOf(err).Kind != busy {
		t.Errorf("one more: %v", err)
	}
	leave[0]()
	if err := join(true); err != nil {
		t.Errorf("when one has left: %v", err)
	}
	for _, done := range leave[1:] {
		done()
	}
	f.Close()
	if err := join(true); err == nil {
		t.Error("a stream was opened after the end")
	}
	if f.streams.open != 0 || f.streams.looking != 0 {
		t.Errorf("%d are open, %d of them look", f.streams.open, f.streams.looking)
	}
}

// TestDeskThatFallsSilent ends the streams, so that pages notice, and the next stream follows the workspaces again.
func TestDeskThatFallsSilent(t *testing.T) {
	f := prepare(t, nil)
	defer f.Close()
	silent, told := make(chan struct{}), make(chan review.Change, 1)
	f.streams.watch = func(ctx context.Context) <-chan review.Change {
		out := make(chan review.Change)
		go func() {
			defer close(out)
			select {
			case <-silent:
			case change := <-told:
				out <- change
				<-ctx.Done()
			}
		}()
		return out
	}
	news, leave, err := f.streams.join(true)
	if err != nil {
		t.Fatal(err)
	}
	heard := news.hub.Listen(t.Context())
	close(silent)
	if _, more := <-heard; more {
		t.Error("there is news")
	}
	leave()
	silent = make(chan struct{})
	told <- review.Change{Workspace: "w1", Revision: 7}
	again, leave, err := f.streams.join(true)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	heard = again.hub.Listen(t.Context())
	eventually(t, "news", func() bool {
		list, _ := again.since(0)
		return len(list) == 1
	})
	_ = heard
}

// TestNothingLeaks opens 50 streams, sends them 10,000 changes, and checks for leftovers.
func TestNothingLeaks(t *testing.T) {
	f := serve(t, nil)
	before, heap := runtime.NumGoroutine(), heapInUse()
	b := f.launch()
	var hangUps []func()
	last := make(chan struct{}, 50)
	for range 50 {
		lines, hangUp := b.stream()
		hangUps = append(hangUps, hangUp)
		go func() {
			for line := range lines {
				if line == `data: {"workspace":"w1","revision":10000}` {
					last <- struct{}{}
				}
			}
		}()
	}
	for i := range 10_000 {
		f.workspaces.changes <- review.Change{Workspace: fmt.Sprint("w", 1+(i+1)%2), Revision: plan.Revision(i + 1)}
	}
	for range 50 {
		next(t, last)
	}
	for _, hangUp := range hangUps {
		hangUp()
	}
	eventually(t, "no stream", func() bool {
		f.streams.mu.Lock()
		defer f.streams.mu.Unlock()
		return f.streams.open == 0
	})
	if grown := heapInUse() - heap; grown > 4<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	f.stop()
	if err := next(t, f.served); err != nil {
		t.Error(err)
	}
	eventually(t, "as few goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
	if _, err := f.sessions.unlock(&session{}, ""); err == nil || len(f.sessions.sessions)+len(f.sessions.launches) > 0 {
		t.Error("sessions are left")
	}
}

func heapInUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// eventually waits for a condition that has no event.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// BenchmarkActToWatcher measures the time from an act to another person's page.
func BenchmarkActToWatcher(b *testing.B) {
	f := serve(b, nil)
	presses := f.launch()
	presses.typeCode()
	lines, _ := f.launch().stream()
	for b.Loop() {
		if answer := presses.act("w1", "comment", map[string]any{"text": "go on"}); answer.status != http.StatusOK {
			b.Fatal(answer.body)
		}
		next(b, lines)
	}
}

// BenchmarkView measures the cost of a page that looks.
func BenchmarkView(b *testing.B) {
	f := serve(b, nil)
	f.submit("w1")
	looks := f.launch()
	for b.Loop() {
		looks.view("w1")
	}
}

// TestStreamListensBeforeItSaysSo: after a stream reports that it is open, it misses nothing.
func TestStreamListensBeforeItSaysSo(t *testing.T) {
	listens := false // read once join has returned, as the stream does before it reports open
	s := &streams{watch: func(context.Context) <-chan review.Change {
		listens = true
		changes := make(chan review.Change)
		close(changes)
		return changes
	}}
	s.ending, s.end = context.WithCancel(t.Context())
	_, leave, err := s.join(true)
	if err != nil || !listens {
		t.Errorf("it is open and does not listen yet: %v", err)
	}
	leave()
	s.close()
}
