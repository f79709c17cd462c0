package llm

import (
	"errors"
	"strings"
	"time"
)

// The kinds of failure. Every error of this package wraps one of them, but for
// that of a caller who gave up, which wraps the cause of its context.
var (
	// ErrNotConfigured: there is no model to ask, or no key to ask it with.
	ErrNotConfigured = errors.New("no model is configured")
	// ErrInvalid: the configuration, or the request, cannot be used as it is.
	ErrInvalid = errors.New("the model cannot be asked this way")
	// ErrUnavailable: no answer was to be had, after the tries allowed; a later call may fare better.
	ErrUnavailable = errors.New("the model is unavailable")
	// ErrTimeout: the answer was not complete in time.
	ErrTimeout = errors.New("the model did not answer in time")
	// ErrRefused: the endpoint does not accept the key, or the account behind it.
	ErrRefused = errors.New("the model endpoint refused the key")
	// ErrRejected: the endpoint does not accept the request; another try of the same will not help.
	ErrRejected = errors.New("the model endpoint rejected the request")
	// ErrDeclined: the model, or a filter before it, declined to answer.
	ErrDeclined = errors.New("the model declined to answer")
	// ErrTooLong: the answer is longer than is read, or was cut off at the limit of tokens.
	ErrTooLong = errors.New("the model's answer is too long")
	// ErrMalformed: what came back is not the answer of a model, or not the JSON asked for.
	ErrMalformed = errors.New("the model's answer cannot be used")
)

// Error is a failed call. Its text holds no key, no header, and at most 200
// printable characters of what the endpoint said.
type Error struct {
	Kind       error         // one of the kinds above
	Endpoint   string        // host and port
	Status     int           // of the endpoint's answer, 0 without one
	Tries      int           // how often the endpoint was asked
	RetryAfter time.Duration // how long the endpoint asks to wait, 0 when it does not say
	Problem    string        // what happened
	Says       string        // what the endpoint said, shortened; it may be anything
	Want       string        // what to do about it

	cause     error // of the standard library: a deadline, a cancellation
	transient bool
	lacks     lack // what the endpoint does not support
}

// Error says what kind of failure it is, what happened, and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind.Error() + ": ")
	if e.Endpoint != "" {
		b.WriteString(e.Endpoint + " ")
	}
	b.WriteString(e.Problem)
	if e.Says != "" {
		b.WriteString(` (it says "` + e.Says + `")`)
	}
	if e.Want != "" {
		b.WriteString("; " + e.Want)
	}
	return b.String()
}

// Unwrap returns the kind, and the deadline that passed if one did.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}

// ConfigError is a key of the configuration that cannot be used. It wraps
// ErrInvalid. It never repeats a value that might be a key.
type ConfigError struct {
	Key     string // as it is written in the configuration, below model
	Problem string
	Want    string
}

// Error says which key is wrong and what to write.
func (e *ConfigError) Error() string { return "model: " + e.Key + " " + e.Problem + "; " + e.Want }

// Unwrap returns ErrInvalid.
func (e *ConfigError) Unwrap() error { return ErrInvalid }
