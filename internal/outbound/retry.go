package outbound

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"
)

// Limits are the limits of a call.
type Limits struct {
	Timeout      time.Duration // of one try
	Total        time.Duration // of all tries and the waits between them
	Tries        int           // at least 1
	FirstWait    time.Duration // before the second try; the following waits double, up to 8 s
	LongestAsked time.Duration // the longest wait an endpoint may ask for; if it asks for more, the call fails
}

const longestWait = 8 * time.Second

// Post sends JSON until an answer has a status from 200 to 299, another try would not help, or time is up. It does not read
// the answer's body. Its error is an *Error; if ctx was cancelled, it wraps the cause.
func (c *Client) Post(ctx context.Context, m Message) error {
	if ctx.Err() != nil {
		return c.cancelledError(ctx, 0)
	}
	m.Header = http.Header{"Content-Type": {"application/json"}}
	bounded, cancel := context.WithTimeout(ctx, c.limits.Total)
	defer cancel()
	wait := c.limits.FirstWait
	for tries := 1; ; tries++ {
		failure := c.try(bounded, m)
		if failure == nil {
			return nil
		}
		failure.Tries = tries
		again := failure.transient && tries < c.limits.Tries && failure.RetryAfter <= c.limits.LongestAsked &&
			c.pause(bounded, cmp.Or(failure.RetryAfter, wait))
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return c.cancelledError(ctx, tries)
		case !again:
			return failure
		}
		wait = min(2*wait, longestWait)
	}
}

// pause waits before another try. It returns false at once if the time is too short.
func (c *Client) pause(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	c.logger.DebugContext(ctx, "a request is sent again", "to", c.Origin(), "wait", wait)
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// try sends a message once.
func (c *Client) try(ctx context.Context, m Message) *Error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.Timeout)
	defer cancel()
	began := time.Now()
	response, failure := c.Send(ctx, http.MethodPost, m)
	status := 0
	if response != nil {
		_ = response.Body.Close() // only the status and the headers are used
		status = response.StatusCode
	}
	c.logger.DebugContext(ctx, "sent a request", "to", c.Origin(), "status", status, "took", time.Since(began))
	if failure == nil && (status < 200 || status > 299) {
		failure = c.StatusError(response, nil, m.Secrets)
	}
	return failure
}
