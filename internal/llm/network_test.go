package llm_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/outbound/outboundtest"
)

func TestNobodyListens(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		_, err := ask(t.Context(), w.client(nil))
		var failure *outbound.Error
		if !errors.Is(err, llm.ErrUnavailable) || !errors.As(err, &failure) || failure.Tries != 3 ||
			!strings.Contains(err.Error(), "connection refused") {
			t.Error(err)
		}
	})
}

// TestUnknownHost: a name that nobody has is not asked for again.
func TestUnknownHost(t *testing.T) {
	unknown := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "model.invalid", IsNotFound: true}}
	}
	c, err := llm.New(llm.Config{BaseURL: "https://model.invalid/v1", Model: "m-1"}, environment(planted),
		llm.Options{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: unknown}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(t.Context(), c)
	var failure *outbound.Error
	if !errors.As(err, &failure) || failure.Tries != 1 || !errors.Is(err, llm.ErrUnavailable) ||
		!strings.Contains(err.Error(), "DNS") {
		t.Error(err)
	}
}

// TestOverSockets asks over a real connection with a client of our own making.
func TestOverSockets(t *testing.T) {
	e := &outboundtest.Endpoint{Script: []http.HandlerFunc{answers(500, ``, "Retry-After-Ms", "1"), says("because")}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	config := llm.Config{BaseURL: server.URL + "/v1", Model: "m-1"}
	c, err := llm.New(config, environment(planted), llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t.Context(), c); got != "because" || err != nil {
		t.Error(got, err)
	}
	server.Close()
	config.Retries = new(int)
	if c, err = llm.New(config, environment(planted), llm.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), c); !errors.Is(err, llm.ErrUnavailable) {
		t.Error(err)
	}
}

// TestUntrustedCertificate: the key is not sent, and it is not tried again.
func TestUntrustedCertificate(t *testing.T) {
	e := &outboundtest.Endpoint{Script: []http.HandlerFunc{says("because")}}
	server := httptest.NewUnstartedServer(e)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	c, err := llm.New(llm.Config{BaseURL: server.URL + "/v1", Model: "m-1"}, environment(planted), llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(t.Context(), c)
	var failure *outbound.Error
	if !errors.As(err, &failure) || failure.Tries != 1 || !strings.Contains(err.Error(), "certificate") || len(e.Requests()) != 0 {
		t.Error(err)
	}
}

func TestRedirectsDoNotTakeTheKeyAway(t *testing.T) {
	for _, to := range []string{
		"http://127.0.0.1:9999/v1/chat/completions", "http://evil.test:80/v1", "http://sub.127.0.0.1:11434/v1",
		"https://127.0.0.1:11434/v1/chat/completions", "http://" + planted + ":x@evil.test:80/", "http://" + planted + ".test:80/",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprint(status, " ", strings.ReplaceAll(to, "/", "|")), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					w.serve(host, answers(status, ``, "Location", to))
					others := []*outboundtest.Endpoint{w.serve("127.0.0.1:9999", says("mine")), w.serve("evil.test:80", says("mine")),
						w.serve("sub.127.0.0.1:11434", says("mine"))}
					answer, err := ask(t.Context(), w.client(nil))
					if answer != "" || !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "base_url") {
						t.Errorf("%q, %v", answer, err)
					}
					for _, other := range others {
						if len(other.Requests()) > 0 {
							t.Errorf("reached: %v", other.Requests())
						}
					}
					w.mustNotLeak(err)
				})
			})
		}
	}
}

// TestRedirectThatDropsTheQuestion: a POST that becomes a GET asks nothing.
func TestRedirectThatDropsTheQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, answers(302, ``, "Location", "/login"), says("mine"))
		if _, err := ask(t.Context(), w.client(nil)); !errors.Is(err, llm.ErrUnavailable) || len(e.Requests()) != 1 {
			t.Error(err, e.Requests())
		}
	})
}

func TestRedirectsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, answers(307, ``, "Location", "/again"))
		if _, err := ask(t.Context(), w.client(nil)); !errors.Is(err, llm.ErrUnavailable) || len(e.Requests()) != 4 {
			t.Error(err, len(e.Requests()))
		}
	})
}

// TestTime holds how long calls take by the bubble's clock.
func TestTime(t *testing.T) {
	answersLate := func(after time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(after):
				w.WriteHeader(500)
			case <-r.Context().Done():
			}
		}
	}
	date := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))
		w.WriteHeader(429)
	}
	for name, row := range map[string]struct {
		script      []http.HandlerFunc
		least, most time.Duration
	}{
		"a hang":              {[]http.HandlerFunc{hangs}, time.Minute, time.Minute},
		"a drip":              {[]http.HandlerFunc{drips(200)}, time.Minute, time.Minute},
		"an error that drips": {[]http.HandlerFunc{drips(401)}, 3 * time.Second, 3 * time.Second},
		// its status comes with the first byte
		"errors that come late": {[]http.HandlerFunc{answersLate(59 * time.Second)}, 118 * time.Second, 2 * time.Minute},
		"a wait in seconds": {[]http.HandlerFunc{answers(429, ``, "Retry-After", "7"), says("because")}, 7 * time.Second,
			7 * time.Second},
		"a wait in milliseconds": {[]http.HandlerFunc{answers(429, ``, "Retry-After-Ms", "250", "Retry-After", "9"),
			says("because")}, 250 * time.Millisecond, 250 * time.Millisecond},
		"a wait until a date": {[]http.HandlerFunc{date, says("because")}, 19 * time.Second, 20 * time.Second},
		"a wait of nonsense": {[]http.HandlerFunc{answers(429, ``, "Retry-After", "NaN"), says("because")},
			250 * time.Millisecond, time.Second},
		"a wait below nothing": {[]http.HandlerFunc{answers(503, ``, "Retry-After", "-5"), says("because")},
			250 * time.Millisecond, time.Second},
		"a wait of an hour":    {[]http.HandlerFunc{answers(429, ``, "Retry-After", "3600")}, 0, 0},
		"a wait of many years": {[]http.HandlerFunc{answers(429, ``, "Retry-After", "1e300")}, 0, 0},
		"two waits of our own": {[]http.HandlerFunc{answers(500, ``)}, 750 * time.Millisecond, 2250 * time.Millisecond},
		"a wait there is no time left": {[]http.HandlerFunc{answersLate(55 * time.Second), answersLate(50 * time.Second),
			answers(429, ``)}, 105 * time.Second, 108 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.serve(host, row.script...)
				c := w.client(nil)
				began := time.Now()
				_, err := ask(t.Context(), c)
				if took := time.Since(began); took < row.least || took > row.most {
					t.Errorf("took %s, want %s to %s; %v", took, row.least, row.most, err)
				}
			})
		})
	}
}

func TestCallerGivesUp(t *testing.T) {
	enough := errors.New("enough")
	for name, row := range map[string]struct {
		script []http.HandlerFunc
		end    func(context.Context) (context.Context, context.CancelFunc)
		is     []error
	}{
		"cancelled in a hang": {[]http.HandlerFunc{hangs}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(5*time.Second, func() { cancel(enough) })
			return ctx, func() { cancel(nil) }
		}, []error{enough}},
		"cancelled in a wait": {[]http.HandlerFunc{answers(429, ``, "Retry-After", "20")},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(5*time.Second, cancel)
				return ctx, cancel
			}, []error{context.Canceled}},
		"a deadline in a hang": {[]http.HandlerFunc{hangs}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 5*time.Second)
		}, []error{llm.ErrUnavailable, context.DeadlineExceeded}},
		"a deadline before the wait is over": {[]http.HandlerFunc{answers(429, ``, "Retry-After", "20")},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 5*time.Second)
			}, []error{llm.ErrUnavailable}},
		"cancelled before": {[]http.HandlerFunc{says("because")}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, []error{context.Canceled}},
		"over before": {[]http.HandlerFunc{says("because")}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Now().Add(-time.Second))
		}, []error{llm.ErrUnavailable, context.DeadlineExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.serve(host, row.script...)
				ctx, cancel := row.end(t.Context())
				defer cancel()
				began := time.Now()
				answer, err := ask(ctx, w.client(nil))
				for _, is := range row.is {
					if answer != "" || !errors.Is(err, is) {
						t.Errorf("%q, %v; want %v", answer, err, is)
					}
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("took %s", took)
				}
				w.mustNotLeak(err)
			})
		})
	}
}
