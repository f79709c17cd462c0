package llm

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// Bounds of what is read of an answer that is none: its first words are wanted,
// and not for long.
const (
	maxComplaint      = 64 << 10
	maxComplaintDelay = 2 * time.Second
)

// unsuccessful judges an answer by its status, and by the endpoint's words as far
// as they come in.
func (x *exchange) unsuccessful(response *http.Response) *Error {
	late := time.AfterFunc(maxComplaintDelay, x.cancel)
	defer late.Stop()
	// What was read counts, however the reading ended: the status is known.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxComplaint))
	f := x.judged(response.StatusCode, complaintOf(body))
	f.RetryAfter = retryAfter(response.Header, time.Now())
	if f.transient && f.RetryAfter > longestAsked {
		f.Want = fmt.Sprintf("it asks to wait %s; try again then", f.RetryAfter.Round(time.Second))
	}
	return f
}

// judged sorts a status into the kinds of failure.
func (x *exchange) judged(status int, c complaint) *Error {
	x.status = status
	problem := fmt.Sprintf("answered %d", status)
	if c.page {
		problem += " with a web page"
	}
	// An endpoint that refuses a key likes to quote it: its words are not shown.
	if f := x.refusal(status, c, problem); f != nil {
		return f
	}
	f := x.rejection(status, problem)
	f.Says, f.lacks = x.excerpt(c.text), c.lacks()
	return f
}

// refusal judges what is about the key or its account; nil when it is neither.
func (x *exchange) refusal(status int, c complaint, problem string) *Error {
	config := x.client.config
	switch {
	case x.key == "" && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return x.failure(ErrRefused, problem+": it asks for a key", "put one into an environment variable and name it with api_key_env under model")
	case status == http.StatusUnauthorized:
		return x.failure(ErrRefused, problem, "check that "+config.APIKeyEnv+" holds a whole, current key of this endpoint")
	case status == http.StatusForbidden:
		return x.failure(ErrRefused, problem, "check that the key in "+config.APIKeyEnv+" may use model "+config.Model+" there")
	case status == http.StatusPaymentRequired, c.is("insufficient_quota", "billing_hard_limit_reached"):
		return x.failure(ErrRefused, problem+": the account has nothing left to spend", "check its balance and limits")
	}
	return nil
}

// rejection judges every other status.
func (x *exchange) rejection(status int, problem string) *Error {
	var f *Error
	switch {
	case status == http.StatusTooManyRequests:
		f = x.failure(ErrUnavailable, problem+": too many requests", "try again later")
		f.transient = true
	case status >= http.StatusInternalServerError:
		f = x.failure(ErrUnavailable, problem, "try again later")
		f.transient = true
	case status == http.StatusNotFound:
		f = x.failure(ErrRejected, problem, "check model "+x.client.config.Model+" and base_url, which most often ends in /v1")
	case status == http.StatusRequestEntityTooLarge:
		f = x.failure(ErrRejected, problem+": the question is too long", "ask about less")
	default:
		f = x.failure(ErrRejected, problem, "check the section model and what the endpoint supports")
	}
	return f
}

// is reports whether the endpoint used one of these words for what is wrong.
func (c complaint) is(codes ...string) bool {
	return slices.Contains(codes, c.code) || slices.Contains(codes, c.kind)
}
