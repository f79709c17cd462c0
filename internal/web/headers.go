package web

import (
	"bytes"
	"net"
	"net/http"
	"slices"
	"strings"
)

// policy returns the headers of every response: the page runs only its own scripts, connects only to this server, is
// shown in no frame, and is not cached; no referrer is sent.
func policy() [][2]string {
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

func setPolicy(h http.Header) {
	for _, header := range policy() {
		h.Set(header[0], header[1])
	}
}

// WithPolicy adds the policy to net/http's own refusals, such as of a header that is too long.
func WithPolicy(l net.Listener) net.Listener { return refusing{l} }

type refusing struct{ net.Listener }

func (l refusing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return refusingConn{conn}, nil
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
	for _, header := range policy() {
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
