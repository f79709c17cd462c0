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

// Stream sends to one address, with answers that are read as they arrive. It keeps connections until Close,
// and is safe for concurrent use.
type Stream struct{ client *Client }

// NewStream returns a stream to an address that Rules.Parse accepted. A given http.Client is used as in New.
// NewStream contacts nothing.
func NewStream(address *url.URL, given *http.Client, logger *slog.Logger) *Stream {
	s := &Stream{New(address, Limits{}, given, logger)}
	if own, ok := s.client.http.Transport.(*http.Transport); ok && given == nil {
		own.DisableKeepAlives, own.MaxIdleConnsPerHost, own.IdleConnTimeout = false, 4, time.Minute
	}
	return s
}

// Send sends a message once, in the time that ctx allows, and returns the answer as soon as it begins, with
// any status. The caller must limit its reading of the body, and close it. The error is an *Error.
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

// Refused returns the error for an answer without success; body is the start of its body.
func (s *Stream) Refused(response *http.Response, body []byte, secrets []string) *Error {
	return s.client.unsuccessful(response, body, secrets)
}

// Broken returns the error for an answer that could not be read to its end.
func (s *Stream) Broken(ctx context.Context, response *http.Response, err error, secrets []string) *Error {
	return s.client.unanswered(ctx, response.StatusCode, 0, err, secrets)
}

// Limits on reading an unsuccessful answer: bytes, and time.
const (
	maxComplaint      = 64 << 10
	maxComplaintDelay = 2 * time.Second
)

// Complaint reads the start of an unsuccessful answer, within limits.
func Complaint(response *http.Response) []byte {
	late := time.AfterFunc(maxComplaintDelay, func() { _ = response.Body.Close() })
	defer late.Stop()
	complaint, _ := io.ReadAll(io.LimitReader(response.Body, maxComplaint)) // a partial text is enough: the status is known
	return complaint
}

// Close closes the idle connections.
func (s *Stream) Close() { s.client.http.CloseIdleConnections() }
