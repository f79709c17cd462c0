package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Error is a failed request. It contains none of the message's secrets.
type Error struct {
	Host       string        // with the port, if one is given
	Answered   bool          // without success, or with a redirect elsewhere
	Status     int           // of the answer; 0 without one
	Tries      int           // how often the request was sent
	RetryAfter time.Duration // wait that the endpoint asked for; 0 if none
	Problem    string        // the failure in words of this package; the sentence begins with the host
	Quote      string        // message of the endpoint or the system: one printable line of at most 4 KiB

	transient bool  // a retry may succeed
	cause     error // of the caller's context
}

// Error returns one printable line.
func (e *Error) Error() string {
	text := e.Host + " " + e.Problem
	if e.Tries > 1 {
		text += fmt.Sprintf(", on attempt %d", e.Tries)
	}
	switch {
	case e.Quote == "":
		return text
	case e.Answered:
		return text + ` (it says "` + plan.Shorten(e.Quote, quotedLength) + `")`
	}
	return text + ": " + plan.Shorten(e.Quote, quotedLength)
}

// Unwrap returns the cause that ended the caller's context, or the deadline that passed.
func (e *Error) Unwrap() error { return e.cause }

func (c *Client) cancelledError(ctx context.Context, tries int) *Error {
	e := &Error{Host: c.address.Host, Tries: tries, Problem: "had not answered when the request was cancelled",
		cause: context.Cause(ctx)}
	if errors.Is(e.cause, context.DeadlineExceeded) {
		e.Problem = "was not called because the time was up"
	}
	return e
}

// noAnswerError returns the error for a missing or incomplete answer.
func (c *Client) noAnswerError(ctx context.Context, status int, allowed time.Duration, err error, secrets []string) *Error {
	e := &Error{Host: c.address.Host, Status: status}
	var elsewhere *redirected
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case errors.As(err, &elsewhere):
		e.Answered, e.Problem = true, "redirects to another address, which planloop does not follow"
		e.Quote = shown(elsewhere.to, secrets)
	case ctx.Err() != nil:
		e.Problem = "did not answer in time (" + allowed.Round(time.Millisecond).String() + ")"
		e.transient, e.cause = true, ctx.Err()
	case errors.As(err, &certificate):
		e.Problem = "has a certificate that is not trusted"
		e.Quote = shown(certificate.Err.Error(), secrets)
	case errors.As(err, &name) && name.IsNotFound:
		e.Problem = "has no address in DNS"
	default:
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // its text repeats the address
			err = wrapped.Err
		}
		e.Problem, e.transient = "could not be reached", true
		if status != 0 {
			e.Problem = "cut its answer short"
		}
		e.Quote = shown(err.Error(), secrets)
	}
	return e
}

// BrokenError returns the error for an answer that could not be read to its end.
func (c *Client) BrokenError(ctx context.Context, response *http.Response, err error, secrets []string) *Error {
	return c.noAnswerError(ctx, response.StatusCode, 0, err, secrets)
}

// StatusError returns the error for an answer without success; body is the start of its body.
func (c *Client) StatusError(response *http.Response, body []byte, secrets []string) *Error {
	status := response.StatusCode
	e := &Error{Answered: true, Host: c.address.Host, Status: status, Problem: fmt.Sprintf("answered %d", status)}
	if body = bytes.TrimSpace(body); bytes.HasPrefix(body, []byte("<")) {
		e.Problem += " with a web page"
	} else {
		e.Quote = shown(serviceMessage(body), secrets)
	}
	if e.transient = status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500; e.transient {
		e.RetryAfter = retryAfter(response.Header, time.Now())
	}
	if e.RetryAfter > c.limits.LongestAsked {
		e.Problem += " and asks to wait " + e.RetryAfter.Round(time.Second).String() + ", which is too long"
	}
	return e
}

// serviceMessage returns the message in an error's body: from message, error or detail, possibly nested or in
// a list. If the body has none of these, it returns the whole body.
func serviceMessage(body []byte) string {
	var value any
	if json.Unmarshal(body, &value) == nil {
		if message := messageIn(value); message != "" {
			return message
		}
	}
	return string(body)
}

func messageIn(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case []any:
		if len(value) > 0 {
			return messageIn(value[0])
		}
	case map[string]any:
		for _, key := range []string{"error", "message", "detail"} {
			if message := messageIn(value[key]); message != "" {
				return message
			}
		}
	}
	return ""
}

// retryAfter returns the wait that an endpoint asks for, in seconds or as a date. It returns 0 without a valid one.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return toDuration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return toDuration(float64(at.Sub(now)))
	}
	return 0
}

// toDuration converts nanoseconds to a duration from 0 to a day, since longer is as good as never. NaN becomes
// 0.
func toDuration(ns float64) time.Duration {
	if !(ns > 0) {
		return 0
	}
	return time.Duration(min(ns, float64(24*time.Hour)))
}
