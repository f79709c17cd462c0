package httpserve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// net/http reads 4 KB more than it is told to.
	maxHeader = 16<<10 - 4<<10
	// streamsGrace bounds the wait for streams to write their last event.
	streamsGrace = time.Second
)

// Listen binds addr, host:port. Without a host it is the loopback address, and
// port 0 is any free one.
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

// Serve answers requests on l until ctx ends. Then no new call is taken,
// running ones are given the grace time to be answered, streams are ended, and
// Serve returns nil. It closes l, and can be called once. The hooks the MCP
// server runs at the end of a session must not block: Serve waits for them.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer s.Close()
	if err := s.opts.checkExposure(l.Addr().String()); err != nil {
		_ = l.Close()
		return err
	}
	hs := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		_ = hs.Close()
		return fmt.Errorf("serve HTTP on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	_ = l.Close()
	<-failed // says only that l was closed
	s.stop(hs)
	return nil
}

// stop ends calls before streams: an answer may have to go out on a stream.
func (s *Server) stop(hs *http.Server) {
	grace := time.NewTimer(s.opts.Grace)
	defer grace.Stop()
	select {
	case <-s.calls.stop():
	case <-grace.C:
		s.log.Warn("stopped before every call was answered", "grace", s.opts.Grace)
	}
	s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), streamsGrace)
	defer cancel()
	if hs.Shutdown(ctx) != nil {
		_ = hs.Close()
	}
}
