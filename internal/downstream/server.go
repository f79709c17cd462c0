package downstream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"net/http"
	"net/url"
	"strings"
	"unicode"

	"encoding/json"
	"path/filepath"

	strictjson "github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// State is the state of a server.
type State string

// The states of a server.
const (
	Idle     State = "idle"     // started when needed
	Starting State = "starting" // or being listed
	Ready    State = "ready"
	Failed   State = "failed"
	Disabled State = "disabled"
)

// Status is the state of a server with its reasons.
type Status struct {
	Name      string
	State     State
	Error     string               // why it failed or ended, or a problem of its list
	Tools     []toolbox.RemoteTool // known so far
	Unusable  []Unusable
	Listed    bool      // this process got the list, not an earlier one
	Version   string    // of the protocol, while connected
	Transport string    // stdio or http
	RetryAt   time.Time // earliest next start; zero: at once
	Lines     []string  // last printed for people
}

const (
	firstWait   = time.Second // after a start that failed
	longestWait = time.Minute
	maxLines    = 5
)

// server is one server, running or not.
type server struct {
	name     string
	settings Server
	options  Options
	key      string
	changed  func() // after the list has changed

	complaints *safetext.TailWriter
	life       context.Context // ends with Close
	links      sync.WaitGroup  // one per connection

	mu          sync.Mutex
	target      *target // nil: the configuration cannot be used
	conn        *conn
	starting    chan struct{} // closed after the current start or listing; nil: none
	stale       bool          // the list must be read again
	lists       *rate.Limiter // of reading it
	relistTimer *time.Timer   // until it is read; nil: not waiting
	failure     error
	hasAnswered bool // has answered a call
	failures    int  // in a row
	retryAt     time.Time

	loaded      bool
	isListed    bool
	listProblem string
	tools       []toolbox.RemoteTool
	unusable    []Unusable
}

// list returns the known tools, from the disk if necessary.
func (s *server) list() []toolbox.RemoteTool {
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
	c := s.readCache()
	s.listProblem, s.unusable = c.Cut, c.Bad
	taken := map[string]bool{}
	for _, raw := range c.Tools {
		if tool, err := s.tool(raw, taken); err == nil {
			s.tools = append(s.tools, tool)
		}
	}
}

func (s *server) defines(own, definition string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.tools, func(t toolbox.RemoteTool) bool { return t.Own == own && t.Definition() == definition })
}

// ready returns the connection to a running server with a known list. If necessary it starts
// the server or reads the list, which continues after ctx has ended.
func (s *server) ready(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	s.dropEnded(s.conn)
	switch {
	case s.settings.Disabled:
		s.mu.Unlock()
		return nil, &Error{Server: s.name, Problem: "is disabled in the configuration"}
	case s.target == nil || s.life.Err() != nil:
		defer s.mu.Unlock()
		return nil, s.failed()
	case s.conn != nil && (s.starting == nil && !s.stale || s.relistTimer != nil): // a list that changes all the time is used as it is
		defer s.mu.Unlock()
		return s.conn, nil
	case s.starting == nil && time.Now().Before(s.retryAt):
		defer s.mu.Unlock()
		return nil, s.failed()
	case s.starting == nil:
		s.starting = make(chan struct{})
		go s.startOrList(s.starting)
	}
	flight := s.starting
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

// failed returns the reason why a call has no connection.
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

// startOrList starts the server unless it runs, and reads its list. If the list changes during that, it is read again.
func (s *server) startOrList(flight chan struct{}) {
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	var err error
	fresh := c == nil || c.failure() != nil
	if fresh {
		c, err = s.start()
	}
	if err == nil {
		s.mu.Lock()
		s.stale = false
		s.mu.Unlock()
		err = s.readList(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.recordFailure(err)
		c.end(err)
		c = nil
	}
	s.conn, s.starting = c, nil
	close(flight)
	if s.stale && c != nil {
		s.refreshStale(c)
	}
}

// recordFailure notes that a start failed or a server ended. A server that answered a call may start again at once.
func (s *server) recordFailure(err error) {
	s.failure, s.retryAt = err, time.Time{}
	if s.hasAnswered {
		s.hasAnswered, s.failures = false, 0
		return
	}
	s.retryAt = time.Now().Add(min(firstWait<<min(s.failures, 10), longestWait))
	s.failures++
}

// start starts the server and greets it, twice if the first try fails. A server that answered may have been
// too slow for the probe and support only the stateless era. A server that ended may have done so because it
// does not know the first greeting.
func (s *server) start() (*conn, error) {
	long := max(startTime, s.settings.idle())
	ctx, cancel := context.WithTimeout(s.life, long)
	defer cancel()
	c, err := s.connect(ctx, stateless, probeTimeout)
	var failed *Error
	switch {
	case !errors.As(err, &failed), ctx.Err() != nil:
	case failed.Answered && failed.Code < 0: // in JSON-RPC
		c, err = s.connect(ctx, stateless, long)
	case s.target.address == nil:
		c, err = s.connect(ctx, handshake, probeTimeout)
	}
	return c, err
}

func (s *server) connect(ctx context.Context, version string, patience time.Duration) (*conn, error) {
	c := newConn(s.life, s.name, s.target, s.options.Version)
	c.changed = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stale = true
		s.refreshStale(c)
	}
	transport, err := s.transport(c)
	if err == nil {
		err = c.connect(ctx, transport, version, patience)
	}
	if err != nil {
		c.end(err)
		return c, err
	}
	s.links.Go(func() {
		c.waitForEnd()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dropEnded(c)
	})
	return c, nil
}

// transport returns the SDK's transport to the server, which it starts if it is a command.
func (s *server) transport(c *conn) (mcp.Transport, error) {
	if s.target.address == nil {
		return startStdio(s.options.Launcher, s.target, c, s.complaints)
	}
	stream := outbound.NewStream(s.target.address, s.options.HTTP, s.options.Logger)
	c.wait = stream.Close
	return &mcp.StreamableClientTransport{Endpoint: s.target.address.String(),
		HTTPClient: &http.Client{Transport: &httpTransport{conn: c, stream: stream, header: s.target.header}}}, nil
}

// startTime is the time for a start: some servers are fetched from a registry first.
const startTime = time.Minute

func (s *server) dropEnded(c *conn) {
	if c != nil && s.conn == c && c.failure() != nil {
		s.conn = nil
		s.recordFailure(c.failure())
	}
}

// refreshStale reads a stale list: later, if it changes all the time.
func (s *server) refreshStale(c *conn) {
	if !s.stale || s.starting != nil || s.conn != c || s.life.Err() != nil {
		return
	}
	if !s.lists.Allow() {
		if s.relistTimer == nil {
			s.relistTimer = time.AfterFunc(listPause, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.relistTimer = nil
				s.refreshStale(c)
			})
		}
		return
	}
	s.starting = make(chan struct{})
	go s.startOrList(s.starting)
}

// Limits of reading a list that changes all the time.
const (
	listsInARow = 5
	listPause   = time.Second // after those
)

func (s *server) readList(c *conn) error {
	ctx, cancel := context.WithTimeout(s.life, max(startTime, s.settings.idle()))
	defer cancel()
	raw, cut, err := c.list(ctx, s.settings.idle())
	if err != nil {
		return err
	}
	usable, tools, bad := s.checkTools(raw)
	s.mu.Lock()
	s.load()
	same := s.listProblem == cut && slices.Equal(s.unusable, bad) &&
		slices.EqualFunc(s.tools, tools, func(a, b toolbox.RemoteTool) bool { return a.Definition() == b.Definition() })
	s.isListed, s.tools, s.unusable, s.listProblem = true, tools, bad, cut
	s.mu.Unlock()
	if !same {
		s.writeCache(cached{Tools: usable, Bad: bad, Cut: cut})
		s.changed()
	}
	return nil
}

// hasList reports whether this process need not ask the server for its list.
func (s *server) hasList() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isListed || s.settings.Disabled || s.target == nil
}

// close returns when the server is gone. Its life must have ended.
func (s *server) close() {
	s.mu.Lock()
	flight := s.starting
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
	st := Status{Name: s.name, State: Idle, Tools: s.tools, Unusable: s.unusable,
		Listed: s.isListed, Transport: "stdio", RetryAt: s.retryAt}
	if s.settings.URL != "" {
		st.Transport = "http"
	}
	switch {
	case s.settings.Disabled:
		st.State = Disabled
	case s.starting != nil:
		st.State = Starting
	case s.conn != nil:
		st.State, st.Version, st.Error = Ready, s.conn.version(), s.listProblem
	case s.failure != nil:
		st.State, st.Error = Failed, s.failure.Error()
	}
	if s.target != nil {
		st.Lines = lastLines(s.complaints, maxLines, s.target.secrets)
	}
	return st
}

// Redacted returns the command or the address from the configuration, without parts that may be secret.
func (s Server) Redacted() string {
	words := []string{s.Command}
	if s.URL != "" {
		words = []string{address(s.URL)}
	}
	secret := false // the next argument is a secret
	for _, arg := range s.Args {
		name, value, valued := strings.Cut(arg, "=")
		option, telling := strings.HasPrefix(arg, "-"), outbound.IsSecretName(name)
		switch {
		case !option && (secret || looksRandom(arg)):
			arg = outbound.Hidden
		case !option && strings.Contains(arg, "://"):
			arg = address(arg)
		case valued && (telling || looksRandom(value)):
			arg = name + "=" + outbound.Hidden
		case valued:
			arg = name + "=" + address(value)
		}
		words, secret = append(words, arg), option && !valued && telling
	}
	return safetext.Line(plan.Shorten(strings.Join(words, " "), 300))
}

// address reduces a text that is a URL to its scheme, host and path.
func address(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return outbound.Hidden
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// looksRandom reports whether a text looks like a key: long, with letters, digits and few other characters.
func looksRandom(text string) bool {
	const shortest = 20
	return len(text) >= shortest && strings.ContainsFunc(text, unicode.IsDigit) && strings.ContainsFunc(text, unicode.IsLetter) &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=") == ""
}

// cached is a server's list, kept for the next process. Its tools were checked and need not be checked again.
type cached struct {
	Format int               `json:"format"`
	Tools  []json.RawMessage `json:"tools"`
	Bad    []Unusable        `json:"bad,omitempty"`
	Cut    string            `json:"cut,omitzero"`
}

const cacheFormat = 1

// cacheFile returns the path of a server's cached list. Each configuration and each workspace has its own
// file.
func (s *server) cacheFile() string {
	return filepath.Join(s.options.CacheDir, s.name+"-"+s.key[:16]+".json")
}

// readCache returns the cached list. An unreadable file counts as missing.
func (s *server) readCache() (c cached) {
	if s.options.CacheDir == "" {
		return c
	}
	text, err := safefile.Read(s.cacheFile(), maxListBytes+1<<20)
	if err != nil || strictjson.Unmarshal(text, &c) != nil || c.Format != cacheFormat || len(c.Tools) > maxTools {
		return cached{}
	}
	return c
}

// writeCache caches a list. If that fails, only the start of the next process is slower.
func (s *server) writeCache(c cached) {
	if s.options.CacheDir == "" {
		return
	}
	c.Format = cacheFormat
	text, err := strictjson.Marshal(c)
	if err == nil {
		err = safefile.MakeFolder(s.options.CacheDir)
	}
	if err == nil {
		err = safefile.WriteFile(s.cacheFile(), text, safefile.Options{Mode: safefile.FileMode})
	}
	if err != nil {
		s.options.Logger.Warn("the list of a server's tools is not kept", "server", s.name, "error", err)
	}
}
