package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	openai "github.com/sashabaranov/go-openai"
)

// Bounds of the waiting between tries.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 8 * time.Second
	// longestAsked is the longest wait an endpoint may ask for.
	longestAsked = 30 * time.Second
)

// retried asks until there is an answer, an error that another try would not
// mend, no try left, or no time for the next wait.
func (c *Client) retried(ctx context.Context, key string, request openai.ChatCompletionRequest) (string, error) {
	var last *Error
	tries := 0
	answer, err := backoff.Retry(ctx, func() (string, error) {
		tries++
		answer, failure := c.try(ctx, key, request)
		if failure == nil {
			return answer, nil
		}
		failure.Tries, last = tries, failure
		return "", paced(failure)
	}, c.pace(ctx)...)
	if err == nil {
		return answer, nil
	}
	if last == nil { // ctx was over before the first try
		return "", gaveUp(ctx)
	}
	if last.Tries > 1 {
		last.Problem += fmt.Sprintf(", at try %d", last.Tries)
	}
	return "", last
}

// pace says how often and how fast to try. A wait that ctx has no time for is
// not begun.
func (c *Client) pace(ctx context.Context) []backoff.RetryOption {
	wait := &backoff.ExponentialBackOff{
		InitialInterval: firstWait, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: longestWait,
	}
	pace := []backoff.RetryOption{
		backoff.WithBackOff(wait),
		backoff.WithMaxTries(uint(*c.config.Retries) + 1),
		backoff.WithNotify(func(_ error, wait time.Duration) {
			c.logger.DebugContext(ctx, "asking the model again", "endpoint", c.host, "wait", wait)
		}),
	}
	if deadline, ok := ctx.Deadline(); ok {
		pace = append(pace, backoff.WithMaxElapsedTime(max(time.Until(deadline), time.Nanosecond)))
	}
	return pace
}

// paced tells the library when to try again: never, when the endpoint asks, or
// when it thinks best.
func paced(failure *Error) error {
	switch {
	case !failure.transient, failure.RetryAfter > longestAsked:
		return backoff.Permanent(failure)
	case failure.RetryAfter > 0:
		return &backoff.RetryAfterError{Duration: failure.RetryAfter}
	}
	return failure
}

// retryAfter reads how long an endpoint asks to wait: a number of seconds, a
// date, or a number of milliseconds in a header some of them add. 0 when it does
// not say, or says nothing sensible.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return positive(ms * float64(time.Millisecond))
	}
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return positive(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return positive(float64(at.Sub(now)))
	}
	return 0
}

// positive returns a duration of so many nanoseconds, within 0 and a day: more
// is as good as never, and what is not a number is nothing.
func positive(ns float64) time.Duration {
	const day = float64(24 * time.Hour)
	if !(ns > 0) {
		return 0
	}
	return time.Duration(min(ns, day))
}

func gaveUp(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return &Error{Kind: ErrTimeout, Problem: "there was no time left to ask", Want: "give the call more time", cause: cause}
	}
	return fmt.Errorf("the model was not waited for: %w", cause)
}
