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
		return c.gaveUp(ctx, 0)
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
			return c.gaveUp(ctx, tries)
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
		return c.unanswered(ctx, status, allowed, err, m.Secrets)
	case status < 200 || status > 299:
		return c.unsuccessful(response, nil, m.Secrets)
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
				return errors.New("the host name points to another machine, and nothing is sent there unencrypted")
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
