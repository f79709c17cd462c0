package transport

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/planloop/planloop/internal/origin"
	"golang.org/x/time/rate"
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
	rates      *rates
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
		rates:    &rates{limit: opts.Rate, clients: map[string]*rate.Limiter{}},
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
		allowed, found := routes[r.URL.Path]
		if !found {
			refuse(w, http.StatusNotFound,
				"this path does not exist; MCP is served at /mcp (streamable HTTP) and /sse (older clients)")
			return
		}
		allowed.ServeHTTP(w, r)
	})
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
