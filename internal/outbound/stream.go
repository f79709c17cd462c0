package outbound

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Stream is the way to an address whose answers are read as they come, and to which
// connections are kept until Close. It may be used by several goroutines.
type Stream struct{ client *Client }

// NewStream returns a stream to an address that Rules.Parse accepted. A given http.Client is
// used as by New. Nothing is contacted.
func NewStream(address *url.URL, given *http.Client, logger *slog.Logger) *Stream {
	s := &Stream{New(address, Limits{}, given, logger)}
	if own, ok := s.client.http.Transport.(*http.Transport); ok && given == nil {
		own.DisableKeepAlives, own.MaxIdleConnsPerHost, own.IdleConnTimeout = false, 4, time.Minute
	}
	return s
}

// Send sends a message once, in the time that ctx has, and returns the answer as soon as it
// begins, whatever its status. Its body is the caller's to read, in bounds, and to close. The
// error is an *Error.
func (s *Stream) Send(ctx context.Context, method string, m Message) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.client.address.String(), bytes.NewReader(m.Body))
	if err == nil {
		request.Header = m.Header.Clone()
		request.Header.Set("User-Agent", "planloop")
		var response *http.Response
		if response, err = s.client.http.Do(request); err == nil {
			return response, nil
		}
	}
	allowed := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		allowed = time.Until(deadline)
	}
	return nil, s.client.unanswered(ctx, 0, allowed, err, m.Secrets)
}

// Refused says what an answer means whose status is no success, of which the beginning was read.
func (s *Stream) Refused(response *http.Response, body []byte, secrets []string) *Error {
	return s.client.unsuccessful(response, body, secrets)
}

// Broken says that an answer was not read to its end.
func (s *Stream) Broken(ctx context.Context, response *http.Response, err error, secrets []string) *Error {
	return s.client.unanswered(ctx, response.StatusCode, 0, err, secrets)
}

// How much of an unsuccessful answer is read, and for how long at most.
const (
	maxComplaint      = 64 << 10
	maxComplaintDelay = 2 * time.Second
)

// Complaint reads the beginning of an answer that is no success, and not for long.
func Complaint(response *http.Response) []byte {
	late := time.AfterFunc(maxComplaintDelay, func() { _ = response.Body.Close() })
	defer late.Stop()
	complaint, _ := io.ReadAll(io.LimitReader(response.Body, maxComplaint)) // what was read counts: the status is known
	return complaint
}

// Close closes the connections that are idle.
func (s *Stream) Close() { s.client.http.CloseIdleConnections() }
