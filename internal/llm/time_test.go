package llm_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/llm"
)

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
		"a hang":                       {[]http.HandlerFunc{hangs}, time.Minute, time.Minute},
		"a drip":                       {[]http.HandlerFunc{drips(200)}, time.Minute, time.Minute},
		"an error that drips":          {[]http.HandlerFunc{drips(401)}, 3 * time.Second, 3 * time.Second}, // its status comes with the first byte
		"errors that come late":        {[]http.HandlerFunc{answersLate(59 * time.Second)}, 118 * time.Second, 2 * time.Minute},
		"a wait in seconds":            {[]http.HandlerFunc{answers(429, ``, "Retry-After", "7"), says("because")}, 7 * time.Second, 7 * time.Second},
		"a wait in milliseconds":       {[]http.HandlerFunc{answers(429, ``, "Retry-After-Ms", "250", "Retry-After", "9"), says("because")}, 250 * time.Millisecond, 250 * time.Millisecond},
		"a wait until a date":          {[]http.HandlerFunc{date, says("because")}, 19 * time.Second, 20 * time.Second},
		"a wait of nonsense":           {[]http.HandlerFunc{answers(429, ``, "Retry-After", "NaN"), says("because")}, 250 * time.Millisecond, time.Second},
		"a wait below nothing":         {[]http.HandlerFunc{answers(503, ``, "Retry-After", "-5"), says("because")}, 250 * time.Millisecond, time.Second},
		"a wait of an hour":            {[]http.HandlerFunc{answers(429, ``, "Retry-After", "3600")}, 0, 0},
		"a wait of many years":         {[]http.HandlerFunc{answers(429, ``, "Retry-After", "1e300")}, 0, 0},
		"two waits of our own":         {[]http.HandlerFunc{answers(500, ``)}, 750 * time.Millisecond, 2250 * time.Millisecond},
		"a wait there is no time left": {[]http.HandlerFunc{answersLate(55 * time.Second), answersLate(50 * time.Second), answers(429, ``)}, 105 * time.Second, 108 * time.Second},
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
		"cancelled in a wait": {[]http.HandlerFunc{answers(429, ``, "Retry-After", "20")}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(5*time.Second, cancel)
			return ctx, cancel
		}, []error{context.Canceled}},
		"a deadline in a hang": {[]http.HandlerFunc{hangs}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 5*time.Second)
		}, []error{llm.ErrUnavailable, context.DeadlineExceeded}},
		"a deadline before the wait is over": {[]http.HandlerFunc{answers(429, ``, "Retry-After", "20")}, func(ctx context.Context) (context.Context, context.CancelFunc) {
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
