package transport

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/origin"
)

// HTTPOptions configure the server. Zero fields have defaults, except Token and Rate.
type HTTPOptions struct {
	// Addr is the address to bind, as in Listen: "127.0.0.1:8137", ":8137" (loopback), ":0". The default is ":0".
	Addr string
	// Token is the bearer token that every request must carry. It may be empty only on loopback.
	Token string
	// AllowOrigins are web origins, scheme://host[:port], of pages that may use this server.
	AllowOrigins []string
	// Logger receives errors. The default discards them.
	Logger *slog.Logger
	// Rate bounds the requests per second of all clients with the token together, or of each address without it. 0
	// means unlimited.
	Rate int
	// MaxBody bounds a request body in bytes. The default is 4 MB.
	MaxBody int64
	// MaxStreams bounds the streams open at a time. The default is 100.
	MaxStreams int
	// SessionIdle ends a handshake session after this time without requests. An open listening stream keeps its
	// session. The default is 30 minutes.
	SessionIdle time.Duration
	// KeepAlive is the pause between signs of life on an open stream. The default is a minute.
	KeepAlive time.Duration
	// BodyTimeout bounds the reading of a request body. The default is 10 s.
	BodyTimeout time.Duration
	// Page answers its own paths instead of this server, with its own guard instead of this one's. The default is no
	// page.
	Page Page
	// Grace bounds the wait for running calls when Serve ends. The default is 5 s.
	Grace time.Duration
}

// Page is the page for people, served next to MCP. Access to one gives no access to the other.
type Page interface {
	http.Handler
	// Has reports whether a raw path belongs to the page.
	Has(path string) bool
}

// ErrTokenRequired means that an address others can reach was to be served without a token.
var ErrTokenRequired = errors.New("an address other machines can reach needs a token")

// minRemoteToken is the shortest token accepted where other machines could guess it.
const minRemoteToken = 16

func (o HTTPOptions) complete() (HTTPOptions, error) {
	addr, err := normalAddr(o.Addr)
	if err != nil {
		return o, err
	}
	o.Addr = addr
	if err := checkToken(o.Token); err != nil {
		return o, err
	}
	if err := o.checkExposure(addr); err != nil {
		return o, err
	}
	if o.Rate < 0 {
		return o, errors.New("the rate must be 0 for unlimited, or the allowed requests per second")
	}
	for _, origin := range o.AllowOrigins {
		if err := checkOrigin(origin); err != nil {
			return o, err
		}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.MaxBody = cmp.Or(o.MaxBody, MaxMessage)
	o.MaxStreams = cmp.Or(o.MaxStreams, 100)
	o.SessionIdle = cmp.Or(o.SessionIdle, 30*time.Minute)
	o.KeepAlive = cmp.Or(o.KeepAlive, time.Minute)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 10*time.Second)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	return o, nil
}

// checkExposure refuses an unprotected address that other machines can reach.
func (o HTTPOptions) checkExposure(addr string) error {
	if origin.IsLoopback(addr) {
		return nil
	}
	if o.Token == "" {
		return fmt.Errorf("cannot serve %s: %w; give one, or bind 127.0.0.1", addr, ErrTokenRequired)
	}
	if len(o.Token) < minRemoteToken {
		return fmt.Errorf("cannot serve %s: %w of at least %d characters; give a longer one, or bind 127.0.0.1", addr,
			ErrTokenRequired, minRemoteToken)
	}
	return nil
}

// normalAddr gives an address without a host the loopback one: exposing a server must be a decision, not a default.
func normalAddr(addr string) (string, error) {
	host, port, err := net.SplitHostPort(cmp.Or(addr, ":0"))
	if err != nil {
		return "", fmt.Errorf("address %q is not host:port, such as 127.0.0.1:8137: %w", addr, err)
	}
	return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port), nil
}

// checkOrigin refuses texts that a browser would never send as an Origin, including wildcards and null.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") ||
		u.Scheme+"://"+u.Host != origin || strings.Contains(origin, "*") || strings.ToLower(origin) != origin {
		return fmt.Errorf("allowed origin %q is not of the form https://host or https://host:port in lower case", origin)
	}
	return nil
}
