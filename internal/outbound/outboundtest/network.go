// Package outboundtest provides a network without sockets and its endpoints for tests, so that a synctest bubble
// controls the clock.
package outboundtest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Network maps addresses to the endpoints served there.
type Network map[string]chan net.Conn

// Client returns a client in the network.
func (n Network) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: n.dial, DisableKeepAlives: true}}
}

func (n Network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if n[address] == nil {
		return nil, &net.OpError{Op: "dial", Err: &net.AddrError{Err: "connection refused", Addr: address}}
	}
	here, there := net.Pipe()
	select {
	case n[address] <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Serve serves an endpoint at an address, such as 127.0.0.1:80, until the test ends.
func (n Network) Serve(t *testing.T, address string, script ...http.HandlerFunc) *Endpoint {
	e := &Endpoint{Script: script}
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	n[address] = l.conns
	server := &http.Server{Handler: e, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return e
}

// listener accepts the connections to one address.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Endpoint answers each request with the next step of its script, and repeats the last step.
type Endpoint struct {
	Script []http.HandlerFunc

	mu   sync.Mutex
	seen []Request
}

// Request is a request to an endpoint.
type Request struct {
	Path   string
	Header http.Header
	Body   string
	At     time.Time
}

// ServeHTTP records the request and runs the next step.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body)) // for the step
	e.mu.Lock()
	step := e.Script[min(len(e.seen), len(e.Script)-1)]
	e.seen = append(e.seen, Request{r.URL.Path, r.Header.Clone(), string(body), time.Now()})
	e.mu.Unlock()
	step(w, r)
}

// Requests returns the requests so far.
func (e *Endpoint) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Request(nil), e.seen...)
}

// Answer sends a status, a body, and headers given as pairs.
func Answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Hang does not answer, and returns when the client has gone.
func Hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
