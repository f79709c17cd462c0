package notify_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/notify"
)

// What must never be seen again: the end of an address, and a header's value.
const (
	plantedPath   = "1190000000000000001/Zq8vT3nLw0xR5bYkHd2mUcJ7"
	plantedHeader = "Bearer-kP4sW9eXo1ViBt6GfQzN"
)

const (
	host = "127.0.0.1:9300"
	hook = "http://" + host + "/api/webhooks/" + plantedPath
)

// request is what an endpoint was sent.
type request struct {
	path   string
	header http.Header
	body   string
	at     time.Time
}

// endpoint answers its requests by a script: the first by the first step, and so
// on; the last step answers all that follow.
type endpoint struct {
	script []http.HandlerFunc

	mu   sync.Mutex
	seen []request
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	step := e.script[min(len(e.seen), len(e.script)-1)]
	e.seen = append(e.seen, request{r.URL.Path, r.Header.Clone(), string(content), time.Now()})
	e.mu.Unlock()
	step(w, r)
}

func (e *endpoint) requests() []request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]request(nil), e.seen...)
}

// pipes is a network without sockets, so that the clock of a synctest bubble
// stands for the real one.
type pipes map[string]chan net.Conn

func (p pipes) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, ok := p[address]
	if !ok {
		return nil, &net.OpError{Op: "dial", Err: fmt.Errorf("nobody at %s", address)}
	}
	here, there := net.Pipe()
	select {
	case host <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listener accepts what is dialled to one host.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// record is a log that may be read while it is written.
type record struct {
	mu    sync.Mutex
	text  bytes.Buffer
	words string // that are waited for
	heard chan struct{}
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heard != nil && bytes.Contains(p, []byte(r.words)) {
		close(r.heard)
		r.heard = nil
	}
	return r.text.Write(p)
}

// hears returns a channel that is closed when a line with these words is written.
func (r *record) hears(words string) <-chan struct{} {
	heard := make(chan struct{})
	r.words, r.heard = words, heard
	return heard
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// world is one test's bubble: endpoints by address, and a log.
type world struct {
	t   *testing.T
	net pipes
	log record
}

// inBubble runs a test on the bubble's clock, and looks for what was planted in
// the log.
func inBubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: pipes{}}
		test(t, w)
		mustNotLeak(t, w.log.String())
	})
}

func mustNotLeak(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{plantedPath, "Zq8vT3nLw0xR5bYkHd2mUcJ7", plantedHeader, "/api/webhooks"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is shown: %s", secret, text)
		}
	}
}

// serve puts an endpoint at an address.
func (w *world) serve(address string, script ...http.HandlerFunc) *endpoint {
	w.t.Helper()
	e := &endpoint{script: script}
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	w.net[address] = l.conns
	server := &http.Server{Handler: e, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	w.t.Cleanup(func() { _ = server.Close(); <-ended })
	return e
}

func (w *world) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))
}

// notifier returns a Notifier for a configuration; by default one webhook.
func (w *world) notifier(config notify.Config) *notify.Notifier {
	w.t.Helper()
	if config.Webhooks == nil && !config.Desktop {
		config.Webhooks = []notify.Webhook{{URL: hook}}
	}
	n, err := notify.New(config, environment, notify.Options{
		Logger:     w.logger(),
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: w.net.dial, DisableKeepAlives: true}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func environment(name string) string {
	return map[string]string{
		"HOOK": hook, "HOOK_AUTHORIZATION": plantedHeader, "BLANK": "  ", "TWO_LINES": "a\r\nX-Other: b",
		"HOOK_PLAIN": "http://example.com/" + plantedPath, "HOOK_USER": "https://ann:" + plantedHeader + "@example.com/",
	}[name]
}

// settle lets a notifier deliver what waits, without the bounds of Close.
func settle() { synctest.Wait(); time.Sleep(time.Hour); synctest.Wait() }

// closed closes a notifier that has nothing left.
func closed(t *testing.T, n *notify.Notifier) {
	t.Helper()
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// answers sends a status, and headers as pairs.
func answers(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
	}
}

// hangs answers nothing until the client has gone.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// floods answers without end until the client has gone.
func floods(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
			return
		}
	}
}

// breaks ends the connection without an answer.
func breaks(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// echoes answers with all it was sent.
func echoes(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization")+r.URL.Path)
		w.WriteHeader(status)
		fmt.Fprint(w, r.Header, r.URL)
	}
}

// aPlan is a notice that a plan waits.
func aPlan() notify.Notice {
	return notify.Notice{
		Event: notify.PlanWaits, Workspace: "/home/ann/shop", PlanID: "move-login-20261103",
		Title: "Move the login to OAuth", Text: "Sessions live in *Redis*.\nSee `auth/session.go`.",
		Steps: []notify.Step{
			{ID: "S001", Title: "Read auth/session.go", Risk: "low"},
			{ID: "S002", Title: "Add the callback route", Risk: "medium"},
			{ID: "S003", Title: "Drop the table sessions", Risk: "high"},
			{Title: "Tell the team"},
		},
		Questions: []string{"Keep the old cookies?"},
		Time:      time.Date(2026, 11, 3, 9, 30, 0, 0, time.UTC),
	}
}
