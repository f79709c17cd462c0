// Package web is the review page's face over HTTP: the rights to look and decide, the guard before every path, the
// page's files, and its data as JSON.
//
// It must not know plans or verbs except through internal/review, and it stores nothing but sessions, which end with
// the server, or after half a day without use. Unsent texts are stored by internal/review.
package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/plan"
)

// Options configure the server.
type Options struct {
	Workspaces review.Workspaces // supplies the shown data and performs acts
	Person     plan.Actor        // by whom decisions are recorded
	// File returns a file of the page by name, with its content type. The default is review.PageFile.
	File func(name string) (content []byte, contentType string, ok bool)
	// Refusal is the reason all decisions are refused, such as "planloop was started without a terminal". If "", sessions
	// opened by a launch link may decide.
	Refusal    string
	Name       string     // an additional host name of this server, such as one that never served a page
	ViewAccess ViewAccess // the rights to look without a launch link
	Public     *Public    // this is the page of a team's server; nil: it is only for this machine and user
	// ShowCode writes a code, and its purpose, to the terminal that the server was started on; nil without one.
	ShowCode     func(workspace review.Place, code string) error
	OnReusedLink func()           // called when a launch link was used again, which ends the session that it opened; may be nil
	OnWrongCode  func()           // called when a page sent a wrong code; may be nil
	Logger       *slog.Logger     // receives errors; the default discards them
	Heartbeat    time.Duration    // between signs of life on a stream; by default 20 s
	BodyTimeout  time.Duration    // for the reading of a request body; by default 10 s
	Now          func() time.Time // by default time.Now
}

// ViewAccess sets the rights to look, but not decide, without a launch link.
type ViewAccess struct {
	Token  string // opens a session that looks; "": no token
	Anyone bool   // any browser on this machine may look
}

// Public describes a page that people reach over HTTPS from other machines. The caller admits only requests of Options.Person after a
// sign-in, which replaces launch links, sessions and the code from the terminal: the page keeps nothing that another process lacks.
type Public struct {
	Host string                            // of its address, as browsers send it
	Age  func(*http.Request) time.Duration // since the person of a request signed in
}

// Server serves the page. It is made by New and ended by Close.
type Server struct {
	opts     Options
	log      *slog.Logger
	sessions *sessionStore
	files    map[string]*file // by path
	routes   map[string]route
	enter    *rate.Limiter // wrong launch codes, and tokens
	codes    *rate.Limiter // codes written to the terminal
	streams  *streams
	shared   *renderCache
	views    sentViews
	keeping  sync.Mutex                                        // held while unsent texts are stored
	owner    func(client, server string) (uid int, known bool) // of a connection
}

// New prepares the page to be served.
func New(opts Options) (*Server, error) {
	if opts.Workspaces == nil || opts.Person.Name == "" {
		return nil, errors.New("the page needs workspaces and the name of its user")
	}
	if opts.File == nil {
		opts.File = review.PageFile
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Heartbeat = cmp.Or(opts.Heartbeat, 20*time.Second)
	opts.BodyTimeout = cmp.Or(opts.BodyTimeout, 10*time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	files, err := readFiles(opts.File)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, log: opts.Logger, files: files, streams: newStreams(opts.Workspaces), shared: newRenderCache(),
		sessions: &sessionStore{now: opts.Now, launches: map[digest]time.Time{}, sessions: map[digest]*session{}},
		owner:    origin.ConnectionOwner,
		enter:    rate.NewLimiter(5, 20), codes: rate.NewLimiter(rate.Every(2*time.Second), 3)}
	s.routes = s.api()
	if opts.Public != nil {
		maps.DeleteFunc(s.routes, func(path string, _ route) bool {
			return path == enterPath || path == "/api/code" || path == "/api/unlock"
		})
	}
	return s, nil
}

// Has reports whether a raw path belongs to the page.
func (s *Server) Has(path string) bool {
	_, isFile := s.files[path]
	return isFile || len(path) > len(apiPrefix) && path[:len(apiPrefix)] == apiPrefix
}

// Link returns an address under base, http://127.0.0.1:PORT, that opens a session. It works once, for half a minute,
// because others may see it later. Browsers do not send the part after #.
func (s *Server) Link(base string) string { return base + "/#enter=" + s.sessions.newLaunchCode() }

// IsWatched reports whether a browser that came by a link has the page open.
func (s *Server) IsWatched() bool {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	for _, session := range s.sessions.sessions {
		if session.decides && session.streams > 0 {
			return true
		}
	}
	return false
}

// EndSessions ends every session and invalidates unused links.
func (s *Server) EndSessions() { s.sessions.close() }

// Close ends every session and stream and waits for the streams.
func (s *Server) Close() {
	s.sessions.close()
	s.streams.close()
}

const stopGrace = time.Second // for answers being written

// Serve answers requests on some listeners until ctx ends, then closes s. It closes the listeners.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	defer s.Close()
	hs := origin.NewServer(s, s.log)
	hs.DisableGeneralOptionsHandler = true // the guard answers OPTIONS *
	var serving errgroup.Group
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		serving.Go(func() error {
			err := hs.Serve(WithPolicy(l))
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
	s.Close() // streams first: Shutdown would wait for them for ever
	grace, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if hs.Shutdown(grace) != nil {
		_ = hs.Close()
	}
	_ = serving.Wait() // only reports that they were closed
	return nil
}

// file is a file of the page. It contains no secret.
type file struct {
	content     []byte
	contentType string
	zipped      func() []byte // made once
}

func readFiles(read func(name string) ([]byte, string, bool)) (map[string]*file, error) {
	files := map[string]*file{}
	for path, name := range map[string]string{"/": "index.html", "/page.js": "page.js", "/page.css": "page.css", "/graph.js": "graph.js",
		"/icon.svg": "icon.svg"} {
		content, contentType, ok := read(name)
		if !ok {
			return nil, fmt.Errorf("the page lacks its file %s", name)
		}
		files[path] = &file{content: content, contentType: contentType, zipped: sync.OnceValue(func() []byte {
			var out bytes.Buffer
			w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a valid level
			_, _ = w.Write(content)                                 // to memory: cannot fail
			_ = w.Close()
			return out.Bytes()
		})}
	}
	return files, nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, f *file) {
	if err := checkGet(w, r); err != nil {
		s.refuse(w, r, err)
		return
	}
	content := f.content
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") { // browsers never refuse it with q=0
		w.Header().Set("Content-Encoding", "gzip")
		content = f.zipped()
	}
	w.Header().Set("Content-Type", f.contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // a client that has gone needs no answer
}

// checkGet refuses other methods, and a body: left unread, it keeps net/http from noticing that a client has gone.
func checkGet(w http.ResponseWriter, r *http.Request) error {
	if err := checkMethod(w, r, http.MethodGet); err != nil {
		return err
	}
	if r.ContentLength != 0 {
		return &refusal{Kind: wrongForm, Problem: "GET must not have a body", Fix: "send none"}
	}
	return nil
}

func checkMethod(w http.ResponseWriter, r *http.Request, method string) error {
	if r.Method == method {
		return nil
	}
	w.Header().Set("Allow", method)
	return &refusal{Kind: wrongMethod, Problem: "this path does not accept this method", Fix: "send " + method}
}
