package notify_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/outbound/outboundtest"
	"github.com/planloop/planloop/internal/testenv"
)

func TestNoticeIsDelivered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, answers(204))
		n := w.notifier()
		n.Notify(aPlan())
		closed(t, n)
		seen := e.Requests()
		if len(seen) != 1 {
			t.Fatalf("%d requests", len(seen))
		}
		got := seen[0]
		if got.Path != "/api/webhooks/"+plantedPath || got.Header.Get("Content-Type") != "application/json" ||
			got.Header.Get("User-Agent") != "planloop" || !strings.Contains(got.Body, `"event":"plan_waits"`) {
			t.Errorf("%+v", got)
		}
		if log := w.log.String(); !strings.Contains(log, `"to":"http://`+host+`"`) || !strings.Contains(log, "was delivered") ||
			strings.Contains(log, "WARN") {
			t.Error(log)
		}
	})
}

// TestTries checks how often a request is sent for each kind of answer, and the final log line.
func TestTries(t *testing.T) {
	for name, row := range map[string]struct {
		script []http.HandlerFunc
		tries  int
		says   string
		took   time.Duration // from the first try to the last
	}{
		"at once":                        {[]http.HandlerFunc{answers(200)}, 1, "was delivered", 0},
		"a body without end":             {[]http.HandlerFunc{floods}, 1, "was delivered", 0},
		"500, then well":                 {[]http.HandlerFunc{answers(500), answers(200)}, 2, "was delivered", time.Second},
		"a broken connection, then well": {[]http.HandlerFunc{breaks, answers(200)}, 2, "was delivered", time.Second},
		"a hang, then well":              {[]http.HandlerFunc{hangs, answers(200)}, 2, "was delivered", 11 * time.Second},
		"429 in seconds":                 {[]http.HandlerFunc{asksFor("7"), answers(200)}, 2, "was delivered", 7 * time.Second},
		"429 in parts of a second":       {[]http.HandlerFunc{asksFor("0.25"), answers(200)}, 2, "was delivered", time.Second / 4},
		"429 until a date":               {[]http.HandlerFunc{until(9 * time.Second), answers(200)}, 2, "was delivered", 9 * time.Second},
		"429 of nonsense":                {[]http.HandlerFunc{asksFor("NaN"), answers(200)}, 2, "was delivered", time.Second},
		"429 in the past":                {[]http.HandlerFunc{asksFor("-5"), answers(200)}, 2, "was delivered", time.Second},
		"429 for an hour":                {[]http.HandlerFunc{asksFor("3600")}, 1, "asks to wait 1h0m0s", 0},
		"429 for ever":                   {[]http.HandlerFunc{asksFor("1e300")}, 1, "too long", 0},
		"429 always":                     {[]http.HandlerFunc{asksFor("14")}, 3, "answered 429", 28 * time.Second},
		"429 beyond the time":            {[]http.HandlerFunc{asksFor("15")}, 2, "answered 429", 15 * time.Second},
		"503 always":                     {[]http.HandlerFunc{answers(503)}, 3, "answered 503", 3 * time.Second},
		"broken always":                  {[]http.HandlerFunc{breaks}, 3, "could not be reached", 3 * time.Second},
		"a hang always":                  {[]http.HandlerFunc{hangs}, 3, "did not answer in time", 23 * time.Second},
		"400":                            {[]http.HandlerFunc{answers(400)}, 1, "answered 400", 0},
		"404":                            {[]http.HandlerFunc{echoes(404)}, 1, "check notify.webhook", 0},
		"304":                            {[]http.HandlerFunc{answers(304)}, 1, "answered 304", 0},
		"a redirect on the same host":    {[]http.HandlerFunc{answers(307, "Location", "/moved"), answers(200)}, 2, "was delivered", 0},
		"redirects without end":          {[]http.HandlerFunc{answers(308, "Location", "/moved")}, 4, "redirects", 0},
		"a redirect that drops the body": {[]http.HandlerFunc{answers(302, "Location", "/login"), answers(200)}, 1, "redirects", 0},
		"a redirect to nowhere": {[]http.HandlerFunc{answers(307, "Location", "http://%zz/"+plantedPath)}, 3, "could not be reached",
			3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				e := w.serve(host, row.script...)
				n := w.notifier()
				n.Notify(aPlan())
				settle()
				closed(t, n)
				seen := e.Requests()
				if len(seen) != row.tries {
					t.Errorf("%d tries, want %d", len(seen), row.tries)
				}
				if took := seen[len(seen)-1].At.Sub(seen[0].At); took != row.took {
					t.Errorf("took %s, want %s", took, row.took)
				}
				if log := w.log.String(); !strings.Contains(log, row.says) ||
					strings.Contains(log, "WARN") == strings.Contains(row.says, "was delivered") {
					t.Error(log)
				}
				for _, r := range seen {
					if r.Body != seen[0].Body || r.Body == "" {
						t.Errorf("another body: %s", r.Body)
					}
				}
			})
		})
	}
}

// asksFor answers with a request to wait, in seconds.
func asksFor(seconds string) http.HandlerFunc { return answers(429, "Retry-After", seconds) }

// echoes answers with the path of the request.
func echoes(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.URL.Path)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, r.URL.Path)
	}
}

// until answers with a request to wait until a date.
func until(wait time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answers(429, "Retry-After", time.Now().Add(wait).UTC().Format(http.TimeFormat))(w, r)
	}
}

func TestRedirectsTakeNothingElsewhere(t *testing.T) {
	for _, to := range []string{
		"http://127.0.0.1:9999/hook", "http://evil.test/hook", "http://sub.127.0.0.1:9300/", "https://" + host + "/hook",
		"//evil.test/" + plantedPath,
		"http://ann:x@evil.test/", "http://ann.evil.test/",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			inBubble(t, func(t *testing.T, w *world) {
				w.serve(host, answers(status, "Location", to))
				others := []*outboundtest.Endpoint{w.serve("127.0.0.1:9999", answers(200)), w.serve("evil.test:80", answers(200)),
					w.serve("sub.127.0.0.1:9300", answers(200))}
				n := w.notifier()
				n.Notify(aPlan())
				settle()
				closed(t, n)
				for _, other := range others {
					if len(other.Requests()) > 0 {
						t.Errorf("%d to %s was followed", status, to)
					}
				}
				if log := w.log.String(); !strings.Contains(log, "redirects to another address") ||
					!strings.Contains(log, `on attempt 1;`) {
					t.Error(log)
				}
			})
		}
	}
}

// TestOverSockets sends over real connections, with our own client.
func TestOverSockets(t *testing.T) {
	e := &outboundtest.Endpoint{Script: []http.HandlerFunc{answers(503, "Retry-After", "0.001"), answers(200)}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	n := testenv.Must(notify.New(notify.Config{Webhook: outbound.Secret(server.URL)}, notify.Options{}))(t)
	n.Notify(aPlan())
	closed(t, n)
	if len(e.Requests()) != 2 {
		t.Errorf("%d requests", len(e.Requests()))
	}
}

// TestUntrustedCertificate: nothing is sent, and there is no retry.
func TestUntrustedCertificate(t *testing.T) {
	e := &outboundtest.Endpoint{Script: []http.HandlerFunc{answers(200)}}
	server := httptest.NewUnstartedServer(e)
	w := &world{t: t}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	n, err := notify.New(notify.Config{Webhook: outbound.Secret(server.URL + "/" + plantedPath)}, notify.Options{Logger: w.logger()})
	testenv.Check(t, err)
	n.Notify(aPlan())
	closed(t, n)
	if log := w.log.String(); len(e.Requests()) != 0 || !strings.Contains(log, "certificate that is not trusted") ||
		!strings.Contains(log, `on attempt 1;`) {
		t.Error(log)
	}
	mustNotLeak(t, w.log.String())
}

// TestNobodyListens: the port was open and is now closed.
func TestNobodyListens(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	w := &world{t: t}
	again := w.log.await("sent again")
	n, err := notify.New(notify.Config{Webhook: outbound.Secret(server.URL + "/" + plantedPath)}, notify.Options{Logger: w.logger()})
	testenv.Check(t, err)
	n.Notify(aPlan())
	<-again
	enough, cancel := context.WithCancel(t.Context())
	cancel()
	_ = n.Close(enough) // cut off between two tries
	mustNotLeak(t, w.log.String())
}
