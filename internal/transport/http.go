package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/origin"
)

// HTTPServer serves one MCP server over HTTP: the streamable transport of both protocol eras on /mcp, and the older HTTP with
// SSE on /sse and /message for the handshake revisions. A guard before every path checks Host, Origin, token, content type and
// size before a byte reaches the protocol. It is made by NewHTTPServer and ended by Serve or Close.
type HTTPServer struct {
	opts       HTTPOptions
	log        *slog.Logger
	mcp        *server.MCPServer
	streamable *server.StreamableHTTPServer
	sessions   *sessions
	rates      origin.Rates
	sse        sync.Map // the open sessions of /sse by id
	calls      *calls
	slots      chan struct{} // every open stream holds one
	handler    http.Handler

	ending     context.Context // done when the streams must end
	endStreams context.CancelFunc
	closeOnce  sync.Once
}

// NewHTTPServer prepares srv to be served over HTTP. It refuses options that would open the server to others without a token.
func NewHTTPServer(srv *server.MCPServer, opts HTTPOptions) (*HTTPServer, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	s := &HTTPServer{
		opts:     opts,
		log:      opts.Logger,
		mcp:      srv,
		calls:    newCalls(maxCalls),
		sessions: &sessions{alive: map[string]*httpSession{}},
		slots:    make(chan struct{}, opts.MaxStreams),
	}
	s.ending, s.endStreams = context.WithCancel(context.Background())
	s.streamable = server.NewStreamableHTTPServer(srv,
		server.WithSessionIdManager(s.sessions),
		server.WithSessionIdleTTL(opts.SessionIdle),
		// A ping on the listening stream keeps the session of an idle client alive, and keeps clients from ending a
		// stream that looks dead.
		server.WithHeartbeatInterval(opts.KeepAlive),
		server.WithEventStore(newEvents()),
		server.WithStreamableHTTPLogger(opts.Logger),
	)
	s.handler = s.withPage(opts.Page, s.guard(s.routes()))
	return s, nil
}

// withPage gives the page its paths. MCP's own are never among them.
func (s *HTTPServer) withPage(page Page, mcp http.Handler) http.Handler {
	if page == nil {
		return mcp
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		if !slices.Contains([]string{"/mcp", "/sse", "/message"}, r.URL.Path) && page.Has(path) {
			page.ServeHTTP(w, r)
			return
		}
		mcp.ServeHTTP(w, r)
	})
}

// Close ends every stream and session at once. Serve calls it itself.
func (s *HTTPServer) Close() {
	s.closeOnce.Do(func() {
		s.calls.stop()
		s.endStreams()
		if err := s.streamable.Shutdown(context.Background()); err != nil {
			s.log.Warn("closing the HTTP sessions", "err", err)
		}
	})
}

// Routes returns the handler of the paths for a server with a guard of its own: it must check Host, Origin and token.
func (s *HTTPServer) Routes() http.Handler { return s.routes() }

func (s *HTTPServer) routes() http.Handler {
	routes := map[string]methods{
		"/mcp": {
			http.MethodPost:   s.postMCP,
			http.MethodGet:    s.getMCP,
			http.MethodDelete: s.deleteMCP,
		},
		"/sse":     {http.MethodGet: s.openSSE},
		"/message": {http.MethodPost: s.postSSE},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Paths are compared unchanged: no cleaning, no redirects.
		path := r.URL.Path
		if track, isTrack := strings.CutSuffix(path, "/mcp"); isTrack && strings.HasPrefix(track, "/t/") {
			name := strings.TrimPrefix(track, "/t/")
			if s.opts.HasTrack == nil || !s.opts.HasTrack(name) {
				refuse(w, http.StatusNotFound, "this track does not exist; an address begins none")
				return
			}
			path, r = "/mcp", r.WithContext(context.WithValue(r.Context(), trackInContext{}, name))
		}
		allowed, found := routes[path]
		if !found {
			refuse(w, http.StatusNotFound,
				"this path does not exist; MCP is served at /mcp (streamable HTTP) and /sse (older clients)")
			return
		}
		allowed.ServeHTTP(w, r)
	})
}

type trackInContext struct{}

// TrackOf returns the name of the track that the address of a request names, "" if it names none.
func TrackOf(ctx context.Context) string {
	name, _ := ctx.Value(trackInContext{}).(string)
	return name
}

// streamsGrace bounds the wait for streams to write their last event.
const streamsGrace = time.Second

// Listen binds addr, host:port. Without a host it binds the loopback address; port 0 is any free port.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	addr, err := normalAddr(addr)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s; choose another port, or 0 for a free one: %w", addr, err)
	}
	return l, nil
}

// Serve answers requests on l until ctx ends. Then it accepts no new calls, gives running ones the grace time to be
// answered, ends streams, and returns nil. It closes l, and can be called once. The hooks that the MCP server runs at
// the end of a session must not block: Serve waits for them.
func (s *HTTPServer) Serve(ctx context.Context, l net.Listener) error {
	defer s.Close()
	if err := s.opts.checkExposure(l.Addr().String()); err != nil {
		_ = l.Close()
		return err
	}
	hs := origin.NewServer(s.handler, s.log)
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		_ = hs.Close()
		return fmt.Errorf("serve HTTP on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	_ = l.Close()
	<-failed // only reports that l was closed
	s.stop(hs)
	return nil
}

// stop ends calls before streams: an answer may need a stream.
func (s *HTTPServer) stop(hs *http.Server) {
	s.calls.stop()
	answered := make(chan struct{})
	go func() { // ends with the last call
		s.calls.running.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(s.opts.Grace):
		s.log.Warn("stopped before every call was answered", "grace", s.opts.Grace)
	}
	s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), streamsGrace)
	defer cancel()
	if hs.Shutdown(ctx) != nil {
		_ = hs.Close()
	}
}

// methods are the handlers of one path by HTTP method.
type methods map[string]http.HandlerFunc

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handle, found := m[r.Method]
	if !found {
		allow := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
		w.Header().Set("Allow", allow)
		refuse(w, http.StatusMethodNotAllowed, "this path accepts only "+allow)
		return
	}
	// With an unread body, net/http does not notice that a stream's client has gone.
	if r.Method != http.MethodPost && r.ContentLength != 0 {
		refuse(w, http.StatusBadRequest, r.Method+" must not have a body")
		return
	}
	handle(w, r)
}

// maxCalls bounds the calls being answered, most of which wait for a person or an agent.
const maxCalls = 1000

// beginCall records a call, or answers with the reason it cannot run.
func (s *HTTPServer) beginCall(ctx context.Context, w http.ResponseWriter, session string, m Message) *call {
	k := s.calls.add(ctx, session, m)
	switch {
	case k != nil:
	case s.calls.isStopping():
		refuseStopping(w)
	default:
		w.Header().Set("Retry-After", "10")
		writeError(w, http.StatusServiceUnavailable, nil, mcp.INTERNAL_ERROR, "too many calls are running; try again later")
	}
	return k
}

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
	// HasTrack says whether a track exists, which then is served at /t/NAME/mcp. The default is none.
	HasTrack func(name string) bool
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
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return o, errors.New("the token has a character that an Authorization header cannot contain; use letters, digits and -._~+/=")
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
