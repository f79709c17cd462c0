package downstream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/tail"
)

// State is how far a server has come.
type State string

// The states there are.
const (
	Idle     State = "idle"     // it is started when it is needed
	Starting State = "starting" // or listed anew
	Ready    State = "ready"
	Failed   State = "failed"
	Disabled State = "disabled"
)

// Status is how a server does.
type Status struct {
	Name      string
	State     State
	Error     string // why it failed, or ended; of a server that goes on without what it says, what is amiss
	Tools     []Tool // as far as they are known
	Unusable  []Unusable
	Heard     bool      // the list is of this process, not of an earlier one
	Version   string    // of the protocol, while there is a connection
	Transport string    // stdio or http
	RetryAt   time.Time // before that it is not started again; zero: at once
	Lines     []string  // the last that it printed for people
}

const (
	firstWait   = time.Second // after a start that failed
	longestWait = time.Minute
	shownLines  = 5
)

// server is one server, running or not.
type server struct {
	name     string
	settings Server
	options  Options
	key      string
	changed  func() // the list is another

	complaints *tail.Writer
	life       context.Context // ends with Close
	links      sync.WaitGroup  // what waits for the end of a connection

	mu       sync.Mutex
	target   *target // nil: it cannot be used, or is not
	conn     *conn
	flight   chan struct{} // closed when a start or a listing that goes on has ended; nil: none does
	stale    bool          // the list is to be asked for again
	lists    *rate.Limiter // how often
	late     *time.Timer   // when; nil: no time is set
	failure  error
	useful   bool // it has answered a call
	failures int  // in a row
	retryAt  time.Time

	loaded bool
	heard  bool
	cut    string
	tools  []Tool
	bad    []Unusable
}

// list returns the tools that are known, from the disk if need be.
func (s *server) list() []Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	return s.tools
}

func (s *server) load() {
	if s.loaded || s.settings.Disabled {
		return
	}
	s.loaded = true
	c, _ := s.recall()
	s.cut, s.bad = c.Cut, c.Bad
	taken := map[string]bool{}
	for _, raw := range c.Tools {
		if tool, err := s.tool(raw, taken); err == nil {
			s.tools = append(s.tools, tool)
		}
	}
}

// defines reports whether a tool is still defined as it was.
func (s *server) defines(own, definition string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.tools, func(t Tool) bool { return t.Own == own && t.Definition() == definition })
}

// ready returns the connection to a server that is running and whose list is known. It
// starts it, and lists it anew, if need be; that goes on when ctx has ended.
func (s *server) ready(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	s.bury(s.conn)
	switch {
	case s.settings.Disabled:
		s.mu.Unlock()
		return nil, &Error{Server: s.name, Problem: "is disabled in the configuration"}
	case s.target == nil || s.life.Err() != nil:
		defer s.mu.Unlock()
		return nil, s.failed()
	case s.conn != nil && (s.flight == nil && !s.stale || s.late != nil): // what always changes is as good as it was a moment ago
		defer s.mu.Unlock()
		return s.conn, nil
	case s.flight == nil && time.Now().Before(s.retryAt):
		defer s.mu.Unlock()
		return nil, s.failed()
	case s.flight == nil:
		s.flight = make(chan struct{})
		go s.fly(s.flight)
	}
	flight := s.flight
	s.mu.Unlock()
	select {
	case <-flight:
	case <-ctx.Done():
		return nil, &Error{Server: s.name, Problem: "was still starting when the call was ended", cause: context.Cause(ctx),
			TimedOut: ctx.Err() == context.DeadlineExceeded}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil, s.failed()
	}
	return s.conn, nil
}

// failed is why there is no connection for a call.
func (s *server) failed() error {
	e := &Error{Server: s.name, Problem: "is closed"}
	if s.life.Err() == nil && s.failure != nil {
		e.Problem = s.failure.Error()
		if was, ok := s.failure.(*Error); ok {
			e.Problem = was.Problem
		}
		e.Problem += "; the call was not made"
		if wait := time.Until(s.retryAt); wait > 0 {
			e.Problem += ": call again in " + max(wait.Round(100*time.Millisecond), 100*time.Millisecond).String()
		}
	}
	return e
}

// fly starts the server unless it runs, and asks for its list. What changes while it is
// told is heard, and asked for again.
func (s *server) fly(flight chan struct{}) {
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	var err error
	fresh := c == nil || c.over() != nil
	if fresh {
		c, err = s.start()
	}
	if err == nil {
		s.mu.Lock()
		s.stale = false
		s.mu.Unlock()
		err = s.ask(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fell(err)
		c.end(err)
		c = nil
	}
	s.conn, s.flight = c, nil
	close(flight)
	if s.stale && c != nil {
		s.renew(c)
	}
}

// fell notes that a start came to nothing, or that a server ended. One that had been of use
// is started again at once.
func (s *server) fell(err error) {
	s.failure, s.retryAt = err, time.Time{}
	if s.useful {
		s.useful, s.failures = false, 0
		return
	}
	s.retryAt = time.Now().Add(min(firstWait<<min(s.failures, 10), longestWait))
	s.failures++
}

// answered notes that the server does what it is for.
func (s *server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.useful = true
}

// start starts the server and greets it. One that fails is given a second chance: one that answered may have been too
// slow for the probe and know no older era; one that ended may have done so at a greeting that it does not know.
func (s *server) start() (*conn, error) {
	long := max(startTime, s.settings.idle())
	ctx, cancel := context.WithTimeout(s.life, long)
	defer cancel()
	c, err := s.connect(ctx, stateless, probe)
	var failed *Error
	switch {
	case !errors.As(err, &failed), ctx.Err() != nil:
	case failed.Answered && failed.Code < 0: // in JSON-RPC
		c, err = s.connect(ctx, stateless, long)
	case s.target.address == nil:
		c, err = s.connect(ctx, handshake, probe)
	}
	return c, err
}

func (s *server) connect(ctx context.Context, version string, patience time.Duration) (*conn, error) {
	c := newConn(s.life, s.name, s.target, s.options.Version)
	c.changed = func() { s.relist(c) }
	transport, err := s.transport(c)
	if err == nil {
		err = c.connect(ctx, transport, version, patience)
	}
	if err != nil {
		c.end(err)
		return c, err
	}
	s.links.Go(func() {
		c.follow()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bury(c)
	})
	return c, nil
}

func (s *server) transport(c *conn) (mcp.Transport, error) {
	if s.target.address != nil {
		return reach(outbound.NewStream(s.target.address, s.options.HTTP, s.options.Logger), s.target, c), nil
	}
	return startStdio(s.options.Launcher, s.target, c, s.complaints)
}

// startTime is what a server has to start: some are fetched from a registry first.
const startTime = time.Minute

// bury notes that a connection is over, if it is, and nobody has yet.
func (s *server) bury(c *conn) {
	if c != nil && s.conn == c && c.over() != nil {
		s.conn = nil
		s.fell(c.over())
	}
}

// relist asks for the list anew, since it has changed.
func (s *server) relist(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
	s.renew(c)
}

// renew asks for a list that has changed: later, if it changes all the time.
func (s *server) renew(c *conn) {
	if !s.stale || s.flight != nil || s.conn != c || s.life.Err() != nil {
		return
	}
	if !s.lists.Allow() {
		if s.late == nil {
			s.late = time.AfterFunc(listPause, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.late = nil
				s.renew(c)
			})
		}
		return
	}
	s.flight = make(chan struct{})
	go s.fly(s.flight)
}

// A list may change so often in a row, and then once in so long.
const (
	listsInARow = 5
	listPause   = time.Second
)

// ask asks for the list.
func (s *server) ask(c *conn) error {
	ctx, cancel := context.WithTimeout(s.life, max(startTime, s.settings.idle()))
	defer cancel()
	raw, cut, err := c.list(ctx, s.settings.idle())
	if err != nil {
		return err
	}
	usable, tools, bad := s.offered(raw)
	s.mu.Lock()
	s.load()
	same := s.cut == cut && slices.Equal(s.bad, bad) &&
		slices.EqualFunc(s.tools, tools, func(a, b Tool) bool { return a.Definition() == b.Definition() })
	s.heard, s.tools, s.bad, s.cut = true, tools, bad, cut
	s.mu.Unlock()
	if !same {
		s.keep(cached{Tools: usable, Bad: bad, Cut: cut})
		s.changed()
	}
	return nil
}

// knows reports whether there is nothing to be heard of the server that is not known.
func (s *server) knows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard || s.settings.Disabled || s.target == nil
}

// close waits until the server, whose life has ended, is gone.
func (s *server) close() {
	s.mu.Lock()
	flight := s.flight
	s.mu.Unlock()
	if flight != nil {
		<-flight
	}
	s.links.Wait()
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	st := Status{Name: s.name, State: Idle, Tools: s.tools, Unusable: s.bad, Heard: s.heard, Transport: "stdio", RetryAt: s.retryAt}
	if s.settings.URL != "" {
		st.Transport = "http"
	}
	switch {
	case s.settings.Disabled:
		st.State = Disabled
	case s.flight != nil:
		st.State = Starting
	case s.conn != nil:
		st.State, st.Version, st.Error = Ready, s.conn.version(), s.cut
	case s.failure != nil:
		st.State, st.Error = Failed, s.failure.Error()
	}
	if s.target != nil {
		st.Lines = lastLines(s.complaints, shownLines, s.target.secrets)
	}
	return st
}
