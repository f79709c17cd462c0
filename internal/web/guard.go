package web

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"bytes"
	"net"

	"github.com/planloop/planloop/internal/origin"
)

// ServeHTTP answers a request. The guard checks its origin and form before anything else.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, header := range Policy() {
		w.Header().Set(header[0], header[1])
	}
	defer func() {
		switch trouble := recover(); trouble {
		case nil:
		case http.ErrAbortHandler:
			panic(trouble)
		default:
			s.refuse(w, r, fmt.Errorf("panic: %v\n%s", trouble, debug.Stack()))
		}
	}()
	origin.LimitWrite(w)
	if err := s.checkOrigin(r); err != nil {
		s.refuse(w, r, err)
		return
	}
	// Paths are compared unchanged: no cleaning, no redirects.
	path, query, _ := strings.Cut(r.RequestURI, "?")
	if file := s.files[path]; file != nil {
		s.serve(w, r, file)
		return
	}
	route, ok := s.routes[path]
	if !ok {
		s.refuse(w, r, &refusal{Kind: "not_found", Problem: "this path does not exist", Fix: "open the page at /"})
		return
	}
	if err := s.route(w, r, route, query); err != nil {
		s.refuse(w, r, err)
	}
}

// checkOrigin accepts requests from this machine, or any if the page is public, to a name of this server, from its page or none. No page
// can set these headers.
func (s *Server) checkOrigin(r *http.Request) error {
	elsewhere := func(problem string) error {
		return &refusal{Kind: forbidden, Problem: problem, Fix: "open the page at the address that planloop printed"}
	}
	public, scheme := s.opts.Public, "http://"
	if public != nil {
		scheme = "https://"
	}
	switch {
	case public == nil && !origin.IsLoopback(r.RemoteAddr):
		return elsewhere("the review page is only for this machine")
	case !strings.HasPrefix(r.RequestURI, "/"):
		return &refusal{Kind: wrongForm, Problem: "the request has no valid path", Fix: "send only the path, such as /"}
	case public != nil && r.Host != public.Host,
		public == nil && !slices.Contains(origin.RequestHosts(r, "", s.opts.Name), r.Host):
		return elsewhere("the Host header does not name this server")
	case r.Header.Get("Service-Worker") != "": // the page has no service worker
		return elsewhere("service workers are refused")
	case !origin.IsOwn(r, scheme):
		return elsewhere("requests from other web origins are refused")
	case !origin.IsSameSite(r):
		return elsewhere("requests from other sites are refused")
	}
	return nil
}

// singleHeader returns the single value of a header; ok is false if it is missing, empty or repeated.
func singleHeader(r *http.Request, header string) (value string, ok bool) {
	values := r.Header.Values(header)
	if len(values) != 1 || values[0] == "" {
		return "", false
	}
	return values[0], true
}

// Policy returns the headers of every response: only the page's own scripts, only this server, no frame, no cache, no referrer.
func Policy() [][2]string {
	return [][2]string{
		{"Content-Security-Policy", strings.Join([]string{"default-src 'none'", "script-src 'self'", "style-src 'self'",
			"img-src 'self' data:", "connect-src 'self'", "worker-src 'self'", "form-action 'none'", "base-uri 'none'",
			"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types planloop"}, "; ")},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cache-Control", "no-store"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"X-Frame-Options", "DENY"}, // for browsers without frame-ancestors
	}
}

// WithPolicy adds the policy to net/http's own refusals, such as of a header that is too long.
func WithPolicy(l net.Listener) net.Listener { return refusing{l} }

type refusing struct{ net.Listener }

func (l refusing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return refusingConn{conn}, err
}

type refusingConn struct{ net.Conn }

// ownRefusal follows the status line in net/http's own answers.
const ownRefusal = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write sends an answer, with the policy added if it is net/http's own. No body looks like such an answer: JSON has no
// bare line breaks, and the files are ours.
func (c refusingConn) Write(p []byte) (int, error) {
	line := bytes.IndexByte(p[:min(len(p), 100)], '\r')
	own := line > 0 && bytes.HasPrefix(p, []byte("HTTP/1.")) &&
		(bytes.HasPrefix(p[line:], []byte(ownRefusal)) || bytes.Contains(p[:line], []byte(" 417 ")))
	if !own {
		return c.Conn.Write(p)
	}
	var headers strings.Builder
	for _, header := range Policy() {
		headers.WriteString("\r\n" + header[0] + ": " + header[1])
	}
	if _, err := c.Conn.Write(slices.Concat(p[:line], []byte(headers.String()), p[line:])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite ends sending, so that a client that still sends can read the refusal.
func (c refusingConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
