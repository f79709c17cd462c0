// Package outbound is the only way in which planloop sends data to an address that the user configured: a
// webhook or another server. It reads such an address and the variables with its secrets, posts to it within
// limits, retries when that may help, and describes failures in its own words, without the secrets. A Stream
// is for answers that are read as they arrive.
//
// An endpoint is not trusted. It may hang, drip, redirect, flood or echo the request. So a call ends in time,
// sends nothing elsewhere, and shows at most one printable line of the endpoint's own words.
//
// The package must not know the content of requests or the meaning of answers. It starts no goroutine that
// outlives a call; only a Stream keeps connections between calls.
package outbound

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
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

// Message is the content of a request.
type Message struct {
	Header  http.Header // only for Stream
	Body    []byte
	Secrets []string // removed from every error text
}

// Client posts to one address. It is safe for concurrent use and need not be closed.
type Client struct {
	address *url.URL
	limits  Limits
	http    *http.Client
	logger  *slog.Logger
}

// New returns a client for an address that Rules.Parse accepted. A given http.Client is copied; its
// redirects, cookies and timeout are not used. The logger gets tries and waits, never text, headers or more
// of the address than its origin. New contacts nothing.
func New(address *url.URL, limits Limits, given *http.Client, logger *slog.Logger) *Client {
	client := http.Client{}
	if given != nil {
		client = *given
	} else {
		client.Transport = transport(address.Scheme == "http" && loopback(address.Hostname()))
	}
	client.CheckRedirect = sameEndpoint
	client.Jar = nil
	client.Timeout = 0 // the limits apply instead
	return &Client{address: address, limits: limits, http: &client, logger: logger}
}

// Origin returns the public part of the address: scheme, host and port.
func (c *Client) Origin() string { return c.address.Scheme + "://" + strings.ToLower(c.address.Host) }

// Post sends a message until an answer has a status from 200 to 299, another try would not help, or time is
// up. It does not read the answer's body. Its error is an *Error; if ctx was cancelled, it wraps the cause.
func (c *Client) Post(ctx context.Context, m Message) error {
	if ctx.Err() != nil {
		return c.cancelledError(ctx, 0)
	}
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
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// try sends a message once.
func (c *Client) try(ctx context.Context, m Message) *Error {
	allowed := c.limits.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		allowed = min(allowed, time.Until(deadline))
	}
	ctx, cancel := context.WithTimeout(ctx, allowed)
	defer cancel()
	began := time.Now()
	response, err := c.send(ctx, m)
	status := 0
	if response != nil {
		status = response.StatusCode
	}
	c.logger.DebugContext(ctx, "sent a request", "to", c.Origin(), "status", status, "took", time.Since(began))
	switch {
	case err != nil:
		return c.noAnswerError(ctx, status, allowed, err, m.Secrets)
	case status < 200 || status > 299:
		return c.statusError(response, nil, m.Secrets)
	}
	return nil
}

// send sends a message once and returns the response, its body closed.
func (c *Client) send(ctx context.Context, m Message) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address.String(), bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "planloop")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close() // only the status and the headers are used
	return response, nil
}

// transport returns a transport that keeps no connections: requests are rare, and nothing should outlive
// them. With loopbackOnly, for unencrypted addresses with a local name, it connects only to this machine,
// whatever a name server or a proxy says.
func transport(loopbackOnly bool) *http.Transport {
	const maxHeader = 64 << 10
	dialer := net.Dialer{Timeout: 10 * time.Second}
	if loopbackOnly {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
				return errors.New("the host name points to another machine; unencrypted requests go only to this one")
			}
			return nil
		}
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true,
	}
}

// redirected is the error for a redirect to another place.
type redirected struct{ to string }

// Error returns the target of the redirect.
func (e *redirected) Error() string { return "redirected to " + e.to }

// sameEndpoint allows a redirect only with the same scheme, host, port and method. The standard client would
// send headers to another port, to a subdomain or over an unencrypted connection, and would drop the body if
// the method changes.
func sameEndpoint(next *http.Request, via []*http.Request) error {
	const maxRedirects = 3
	first := via[0]
	same := next.URL.Scheme == first.URL.Scheme && strings.EqualFold(next.URL.Host, first.URL.Host) && next.Method == first.Method
	if same && len(via) <= maxRedirects {
		return nil
	}
	return &redirected{to: next.URL.Scheme + "://" + next.URL.Host}
}

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
	return nil, s.client.noAnswerError(ctx, 0, allowed, err, m.Secrets)
}

// Refused returns the error for an answer without success; body is the start of its body.
func (s *Stream) Refused(response *http.Response, body []byte, secrets []string) *Error {
	return s.client.statusError(response, body, secrets)
}

// Broken returns the error for an answer that could not be read to its end.
func (s *Stream) Broken(ctx context.Context, response *http.Response, err error, secrets []string) *Error {
	return s.client.noAnswerError(ctx, response.StatusCode, 0, err, secrets)
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
