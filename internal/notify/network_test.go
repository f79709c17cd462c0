package notify_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/outbound/outboundtest"
	"github.com/planloop/planloop/internal/testenv"
)

// plantedPath is the end of an address, which must not appear anywhere.
const plantedPath = "1190000000000000001/Zq8vT3nLw0xR5bYkHd2mUcJ7"

const (
	host = "127.0.0.1:9300"
	hook = "http://" + host + "/api/webhooks/" + plantedPath
)

// record is a log that can be read while it is written.
type record struct {
	mu    sync.Mutex
	text  bytes.Buffer
	words string        // to wait for
	found chan struct{} // closed when they are written
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found != nil && bytes.Contains(p, []byte(r.words)) {
		close(r.found)
		r.found = nil
	}
	return r.text.Write(p)
}

// await returns a channel that is closed when a line with these words is written.
func (r *record) await(words string) <-chan struct{} {
	found := make(chan struct{})
	r.words, r.found = words, found
	return found
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// world is one test's bubble: endpoints by address, and a log.
type world struct {
	t   *testing.T
	net outboundtest.Network
	log record
}

// inBubble runs a test on the bubble's clock, and checks that the log does not contain the planted path.
func inBubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: outboundtest.Network{}}
		test(t, w)
		mustNotLeak(t, w.log.String())
	})
}

func mustNotLeak(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{plantedPath, "Zq8vT3nLw0xR5bYkHd2mUcJ7", "/api/webhooks"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is shown: %s", secret, text)
		}
	}
}

// serve starts an endpoint at an address.
func (w *world) serve(address string, script ...http.HandlerFunc) *outboundtest.Endpoint {
	return w.net.Serve(w.t, address, script...)
}

func (w *world) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))
}

// notifier returns a Notifier with one webhook.
func (w *world) notifier() *notify.Notifier {
	w.t.Helper()
	return testenv.Must(notify.New(notify.Config{Webhook: hook}, notify.Options{Logger: w.logger(), HTTPClient: w.net.Client()}))(w.t)
}

// settle lets a notifier deliver its queue, without the limits of Close.
func settle() { synctest.Wait(); time.Sleep(time.Hour); synctest.Wait() }

// closed closes a notifier with an empty queue.
func closed(t *testing.T, n *notify.Notifier) {
	t.Helper()
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// answers sends a status, and headers as pairs.
func answers(status int, headers ...string) http.HandlerFunc {
	return outboundtest.Answer(status, "", headers...)
}

var hangs = outboundtest.Hang

// floods answers without end until the client disconnects.
func floods(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
			return
		}
	}
}

// breaks ends the connection without an answer.
func breaks(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// aPlan returns a notice of a waiting plan.
func aPlan() notify.Notice {
	return notify.Notice{
		Event: "plan_waits", Workspace: "/home/ann/shop", PlanID: "move-login-20261103",
		Title: "Move the login to OAuth", Text: "Sessions live in *Redis*.\nSee `auth/session.go`.",
		Steps: []notify.Step{
			{ID: "S001", Title: "Read auth/session.go", Risk: "low"},
			{ID: "S002", Title: "Add the callback route", Risk: "medium"},
			{ID: "S003", Title: "Drop the table sessions", Risk: "high"},
			{Title: "Tell the team"},
		},
		Questions: []string{"Keep the old cookies?"},
	}
}
