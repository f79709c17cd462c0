// Package web is the review page's face over HTTP: who may look and decide, the guard
// before every path, the page's files, and what the page asks for, as JSON.
//
// It must not know plans or verbs beyond what internal/review tells of them, and it keeps
// nothing but who has entered: a session ends with the server, and when it was not used for half a day.
package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/planloop/planloop/internal/loopback"
	"github.com/planloop/planloop/internal/page"
	"github.com/planloop/planloop/internal/review"
)

// Options say what is shown, and to whom.
type Options struct {
	// Desk is what is shown, and where things are done.
	Desk review.Desk
	// Person is whose decisions are made here.
	Person string
	// File gives a file of the page by its name, with its content type. The default is page.File.
	File func(name string) (content []byte, contentType string, ok bool)
	// Refusal says why nobody may decide here, such as "planloop was started without a
	// terminal". With "" who came by a launch link may.
	Refusal string
	// Name is a host that names this server besides its addresses, such as one that no page was ever served by.
	Name string
	// Looking says who may look without a launch link.
	Looking Looking
	// ShowCode writes a code to the terminal that the server was started on, with what it
	// is for. Without it there is no such terminal.
	ShowCode func(workspace review.Place, code string) error
	// UsedTwice tells that a launch link came a second time, and that the session that it opened has ended
	// for that. It may be nil.
	UsedTwice func()
	// Logger takes what goes wrong. The default drops it.
	Logger *slog.Logger
	// Heartbeat is the pause between signs of life on a stream. The default is 20 s.
	Heartbeat time.Duration
	// BodyTimeout bounds the reading of a request body. The default is 10 s.
	BodyTimeout time.Duration
	// Now is the clock. The default is time.Now.
	Now func() time.Time
}

// Looking says who may look, but not decide, without a launch link.
type Looking struct {
	Token  string // who types it; "" nobody
	Anyone bool   // whoever reaches the page, which people of this machine alone do
}

// Server serves the page. It is made by New and ended by Close.
type Server struct {
	opts    Options
	log     *slog.Logger
	door    *door
	files   map[string]*file // by path
	routes  map[string]route
	enter   *rate.Limiter // wrong launch codes, and tokens
	codes   *rate.Limiter // codes that are written to the terminal
	streams *streams
	shared  *shared
	owner   func(client, server string) (uid int, known bool) // of a connection
}

// New prepares the page to be served.
func New(opts Options) (*Server, error) {
	if opts.Desk == nil || opts.Person == "" {
		return nil, errors.New("the page needs a desk, and the name of who decides at it")
	}
	if opts.File == nil {
		opts.File = page.File
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Heartbeat = cmp.Or(opts.Heartbeat, 20*time.Second)
	opts.BodyTimeout = cmp.Or(opts.BodyTimeout, 10*time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	files, err := static(opts.File)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, log: opts.Logger, door: newDoor(opts.Now), files: files, streams: newStreams(opts.Desk), shared: newShared(),
		owner: loopback.Owner,
		enter: rate.NewLimiter(5, 20), codes: rate.NewLimiter(rate.Every(2*time.Second), 3)}
	s.routes = s.api()
	return s, nil
}

// Handler answers all requests, with the guard before them.
func (s *Server) Handler() http.Handler { return s }

// Has tells whether a path, as it came, is of the page.
func (s *Server) Has(path string) bool {
	_, isFile := s.files[path]
	return isFile || len(path) > len(apiPrefix) && path[:len(apiPrefix)] == apiPrefix
}

// Link returns an address under base, http://127.0.0.1:PORT, that opens a session. It works
// once, and for half a minute: it may be seen by others later. What stands behind # is sent
// to nobody.
func (s *Server) Link(base string) string { return base + "/#enter=" + s.door.launchCode() }

// EndSessions ends every session. Who has a link that was not used yet can enter by it no more.
func (s *Server) EndSessions() { s.door.close() }

// Close ends every session and stream and waits for the streams.
func (s *Server) Close() {
	s.door.close()
	s.streams.close()
}

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16<<10 - 4<<10 // net/http reads 4 KB more than it is told to
	stopGrace     = time.Second    // for answers that are being written
)

// Serve answers requests on some listeners until ctx ends, then closes s. It closes the listeners.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	defer s.Close()
	hs := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),

		DisableGeneralOptionsHandler: true, // the guard answers OPTIONS *
	}
	var serving errgroup.Group
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		serving.Go(func() error {
			err := hs.Serve(Refusing(l))
			failed <- err
			return err
		})
	}
	select {
	case err := <-failed:
		_ = hs.Close()
		_ = serving.Wait()
		return err
	case <-ctx.Done():
	}
	s.Close() // streams end first: who waits for their end would wait for ever
	grace, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if hs.Shutdown(grace) != nil {
		_ = hs.Close()
	}
	_ = serving.Wait() // says only that they were closed
	return nil
}
