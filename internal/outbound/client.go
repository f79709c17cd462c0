// Package outbound is the only way in which planloop sends data to an address that the user configured: a
// webhook or another server. It reads such an address and the variables with its secrets, posts to it within
// limits, retries when that may help, and describes failures in its own words, without the secrets.
//
// An endpoint is not trusted. It may hang, drip, redirect, flood or echo the request. So a call ends in time,
// sends nothing elsewhere, and shows at most one printable line of the endpoint's own words.
//
// The package must not know the content of requests or the meaning of answers. It starts no goroutine that
// outlives a call; only a client made by NewStream keeps connections between calls.
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
	"unicode"

	"github.com/planloop/planloop/internal/safetext"
)

// Message is the content of a request.
type Message struct {
	Header  http.Header // only for Send
	Body    []byte
	Secrets []string // removed from every error text
}

// Client sends to one address. It is safe for concurrent use and need not be closed.
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
	client := *cmp.Or(given, &http.Client{Transport: transport(address.Scheme == "http" && loopback(address.Hostname()))})
	client.CheckRedirect = sameEndpoint
	client.Jar = nil
	client.Timeout = 0 // the limits apply instead
	return &Client{address: address, limits: limits, http: &client, logger: logger}
}

// NewStream returns a client for answers that are read as they arrive. It keeps connections until Close, and does not retry.
func NewStream(address *url.URL, given *http.Client, logger *slog.Logger) *Client {
	c := New(address, Limits{}, given, logger)
	if own, ok := c.http.Transport.(*http.Transport); ok && given == nil {
		own.DisableKeepAlives, own.MaxIdleConnsPerHost, own.IdleConnTimeout = false, 4, time.Minute
		own.HTTP2 = &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 3 * time.Second} // else a dead connection is kept
	}
	return c
}

// At returns the client for a path, which may have a query, below the address. It shares the connections.
func (c *Client) At(path string) (*Client, error) {
	address, err := url.Parse(strings.TrimSuffix(c.address.String(), "/") + path)
	if err != nil || address.Host != c.address.Host || address.Scheme != c.address.Scheme {
		return nil, errors.New("the path leads to another address")
	}
	to := *c
	to.address = address
	return &to, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Send sends a message once, in the time that ctx allows, and returns the answer as soon as it begins, with any status. The
// caller must limit its reading of the body, and close it.
func (c *Client) Send(ctx context.Context, method string, m Message) (*http.Response, *Error) {
	allowed := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		allowed = time.Until(deadline)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.address.String(), bytes.NewReader(m.Body))
	var response *http.Response
	if err == nil {
		request.Header = m.Header.Clone()
		request.Header.Set("User-Agent", "planloop")
		response, err = c.http.Do(request)
	}
	if err != nil {
		return nil, c.noAnswerError(ctx, 0, allowed, err, m.Secrets)
	}
	return response, nil
}

// Origin returns the public part of the address: scheme, host and port.
func (c *Client) Origin() string { return c.address.Scheme + "://" + strings.ToLower(c.address.Host) }

// transport returns a transport that keeps no connections: requests are rare, and nothing should outlive
// them. With loopbackOnly, for unencrypted addresses with a local name, it connects only to this machine,
// whatever a name server or a proxy says.
func transport(loopbackOnly bool) *http.Transport {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true,
	}
	allows := func(netip.Addr) bool { return true }
	if loopbackOnly {
		allows = netip.Addr.IsLoopback
	}
	dialTo(t, allows, "the host name points to another machine; unencrypted requests go only to this one")
	return t
}

// dialTo lets a transport connect only to the allowed IP addresses, which are known after the host's name was looked up.
func dialTo(t *http.Transport, allows func(netip.Addr) bool, refusal string) {
	dialer := net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		if to, err := netip.ParseAddrPort(address); err != nil || !allows(to.Addr().Unmap()) {
			return errors.New(refusal)
		}
		return nil
	}}
	t.DialContext = dialer.DialContext
}

// Public returns a client for addresses that other people choose. It connects only to public IP addresses, and through no proxy.
func Public() *http.Client {
	t := transport(false)
	t.Proxy = nil
	dialTo(t, isPublic, "the host name points to an address that is not public")
	return &http.Client{Transport: t}
}

// isPublic reports whether an IP address belongs to a host on the Internet, and leads to no address of another kind.
func isPublic(ip netip.Addr) bool {
	for _, reserved := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4",
		"64:ff9b::/32", "2001::/32", "2002::/16", "fec0::/10"} {
		if netip.MustParsePrefix(reserved).Contains(ip) {
			return false
		}
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && ip.Zone() == ""
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

// ErrConfig is wrapped by every *ConfigError.
var ErrConfig = errors.New("the configuration cannot be used")

// ConfigError is an unusable key of the configuration. It never repeats a value that might be a secret.
type ConfigError struct {
	Section string // agents, model, notify, servers
	Key     string // as written below the section
	Problem string
	Want    string // what to write instead
}

// Error names the wrong key and the correction.
func (e *ConfigError) Error() string {
	return e.Section + "." + e.Key + " " + e.Problem + "; " + e.Want
}

// Unwrap returns ErrConfig.
func (e *ConfigError) Unwrap() error { return ErrConfig }

// Rules have the corrections to suggest for an invalid address.
type Rules struct {
	Example     string // such as "webhook: https://example.com/hook"
	Credentials string // instead of credentials in the address
	Unencrypted string // instead of http:// to another machine
}

// Parse checks an address. The error repeats no part of it, and leaves section and key empty.
func (r Rules) Parse(text string) (*url.URL, *ConfigError) {
	example := "write it as in " + r.Example
	u, err := url.Parse(text)
	switch {
	case err != nil || !IsHeaderValue(text) || strings.Contains(text, " "):
		return nil, &ConfigError{Problem: "is not a URL", Want: example}
	case u.User != nil:
		return nil, &ConfigError{Problem: "has credentials before the host", Want: r.Credentials}
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, &ConfigError{Problem: "does not start with https://", Want: example}
	case u.Hostname() == "" || u.Opaque != "" || !IsHeaderValue(u.Host):
		return nil, &ConfigError{Problem: "has no host", Want: example}
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, &ConfigError{Problem: "has a part after #, which is never sent", Want: "leave that out"}
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, &ConfigError{Problem: "would send unencrypted to another machine", Want: r.Unencrypted}
	}
	return u, nil
}

// loopback reports whether a host name means this machine.
func loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// IsHeaderValue reports whether text is a single line of visible characters and plain spaces, as a header, a name
// or an address may hold.
func IsHeaderValue(text string) bool {
	return safetext.PrintableLine(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
