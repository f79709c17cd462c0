// Package httpserve serves an mcp-go server over HTTP: the streamable
// transport of both protocol eras on /mcp, and the older HTTP with SSE on /sse
// and /message for the handshake revisions. A guard stands before every path:
// it decides on Host, Origin, token, content type and size before a byte
// reaches the protocol.
//
// The package knows transports only. It must not know tools, resources,
// prompts, plans or workspaces: those come with the server it is given.
package httpserve

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

// Server serves one MCP server over HTTP. It is made by New and ended by Serve
// or Close.
type Server struct {
	opts       Options
	log        *slog.Logger
	mcp        *server.MCPServer
	streamable *server.StreamableHTTPServer
	sessions   *sessions
	sse        *sseStreams
	calls      *calls
	slots      chan struct{} // one is held by every open stream
	handler    http.Handler

	ending     context.Context // done when the streams are to end
	endStreams context.CancelFunc
	closeOnce  sync.Once
}

// New prepares srv to be served over HTTP. It refuses options that would open
// the server to others without a token.
func New(srv *server.MCPServer, opts Options) (*Server, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts:     opts,
		log:      opts.Logger,
		mcp:      srv,
		sessions: newSessions(),
		sse:      newSSEStreams(),
		calls:    newCalls(),
		slots:    make(chan struct{}, opts.MaxStreams),
	}
	s.ending, s.endStreams = context.WithCancel(context.Background())
	s.streamable = server.NewStreamableHTTPServer(srv,
		server.WithSessionIdManager(s.sessions),
		server.WithSessionIdleTTL(opts.SessionIdle),
		// A ping on the listening stream keeps the session of a silent client
		// alive, and keeps clients from ending a stream that looks dead.
		server.WithHeartbeatInterval(opts.KeepAlive),
		server.WithEventStore(newEvents()),
		server.WithStreamableHTTPLogger(opts.Logger),
	)
	s.handler = s.guard(s.routes())
	return s, nil
}

// Handler returns the guarded handler of all paths.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends every stream and session at once. Serve does it by itself; it is
// for those who mount Handler in a server of their own.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		s.calls.stop()
		s.endStreams()
		if err := s.streamable.Shutdown(context.Background()); err != nil {
			s.log.Warn("closing the HTTP sessions", "err", err)
		}
	})
}

func (s *Server) routes() http.Handler {
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
		// Paths are compared as they came: no cleaning, no redirects.
		allowed, found := routes[r.URL.Path]
		if !found {
			refuse(w, http.StatusNotFound, "there is nothing at this path; MCP is served at /mcp (streamable HTTP) and /sse (older clients)")
			return
		}
		allowed.ServeHTTP(w, r)
	})
}
