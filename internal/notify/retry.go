package notify

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Bounds of the tries of one delivery.
const (
	maxTries    = 4
	maxDelivery = 30 * time.Second // all tries and the waits between them
	firstWait   = time.Second
	longestWait = 8 * time.Second
	// longestAsked is the longest wait that an endpoint may ask for; where it wants
	// more, the delivery is given up.
	longestAsked = 15 * time.Second
)

// deliver tries until the endpoint took the notice, another try would not help,
// or there is no time for one.
func (w *webhook) deliver(ctx context.Context, e envelope) error {
	body, err := w.encode(e)
	if err != nil {
		return &failure{problem: "the notice cannot be encoded"}
	}
	ctx, cancel := context.WithTimeout(ctx, maxDelivery)
	defer cancel()
	tries := 0
	var last *failure
	_, _ = backoff.Retry(ctx, func() (struct{}, error) {
		tries++
		if last = w.try(ctx, body); last == nil {
			return struct{}{}, nil
		}
		last.tries = tries
		return struct{}{}, paced(last)
	}, w.pace(ctx)...)
	if last == nil {
		return nil
	}
	return last
}

// pace says how often and how fast to try. A wait that is longer than the time
// that is left is not begun.
func (w *webhook) pace(ctx context.Context) []backoff.RetryOption {
	return []backoff.RetryOption{
		backoff.WithBackOff(&backoff.ExponentialBackOff{
			InitialInterval: firstWait, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: longestWait,
		}),
		backoff.WithMaxTries(maxTries),
		backoff.WithMaxElapsedTime(maxDelivery),
		backoff.WithNotify(func(err error, wait time.Duration) {
			w.logger.LogAttrs(ctx, slog.LevelDebug, "a notice is sent again", slog.String("to", w.shown), slog.Duration("wait", wait))
		}),
	}
}

// paced tells the library when to try again: never, when the endpoint asks, or
// when it thinks best.
func paced(f *failure) error {
	switch {
	case !f.again:
		return backoff.Permanent(f)
	case f.after > longestAsked:
		f.problem += "; it asks to wait " + f.after.Round(time.Second).String() + ", which is too long"
		return backoff.Permanent(f)
	case f.after > 0:
		return &backoff.RetryAfterError{Duration: f.after}
	}
	return f
}

// retryAfter reads how long an endpoint asks to wait: a number of seconds, whole
// or not, or a date. 0 when it does not say, or says nothing sensible.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return positive(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return positive(float64(at.Sub(now)))
	}
	return 0
}

// positive returns a duration of so many nanoseconds, within 0 and a day: more is
// as good as never, and what is not a number is nothing.
func positive(ns float64) time.Duration {
	if !(ns > 0) {
		return 0
	}
	return time.Duration(min(ns, float64(24*time.Hour)))
}
