// Package downstream is a client of other MCP servers: it starts or reaches them when needed, lists their tools and calls
// them, for steps of plans and for clients over MCP. go-sdk speaks the protocol.
//
// Servers are not trusted. They may hang, flood, die, lie or answer with too much: every wait and everything kept is limited,
// text is made printable, and one server cannot affect another. The callers decide which tool may be called when; a
// server's own hints count as far as the user's configuration trusts them.
//
// The package must not know plans, phases or hosts. Its goroutines end with the server they serve, and all servers with Close.
package downstream

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/time/rate"

	"time"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
)

// Options configure how servers are started and reached.
type Options struct {
	Launcher *process.Launcher // starts the commands
	HTTP     *http.Client      // reaches the addresses; nil: outbound's guarded client
	Dir      string            // the workspace, in which commands start
	CacheDir string            // for lists that the next process uses; "": none
	Getenv   func(string) string
	Logger   *slog.Logger // nil: no log
	Version  string       // planloop's version, sent to servers
}

// Servers are the servers of a configuration. All methods are safe for concurrent use.
type Servers struct {
	servers []*server // by name
	hub     broadcast.Hub
	end     context.CancelFunc
}

// nestedEnv is set in the environment of started servers. Without it a planloop among them would start itself,
// and so on without end.
const nestedEnv = "PLANLOOP_NESTED"

// New returns the servers of a configuration and starts none of them. A server with an invalid configuration
// is failed; the others still work.
func New(c Config, o Options) *Servers {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Launcher = cmp.Or(o.Launcher, &process.Launcher{})
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	life, end := context.WithCancel(context.Background())
	all := &Servers{end: end}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		s := &server{name: name, settings: c[name], options: o, key: c[name].key(name, o.Dir), changed: all.hub.Notify,
			complaints: &safetext.TailWriter{Max: maxComplaints}, life: life, lists: rate.NewLimiter(rate.Every(listPause), listsInARow)}
		var err error
		if s.target, err = c[name].target(name, o.Dir, o.Getenv); err == nil && o.Getenv(nestedEnv) != "" {
			err = errors.New("is not started, because another planloop started this one")
		}
		if err != nil {
			s.target, s.failure = nil, err
		}
		all.servers = append(all.servers, s)
	}
	return all
}

// Tools returns the tools known now: servers by name, each with its tools in its own order. It starts nothing
// and does not wait.
func (s *Servers) Tools() []toolbox.RemoteTool {
	var all []toolbox.RemoteTool
	taken := map[string]bool{}
	for _, one := range s.servers {
		for _, tool := range one.list() {
			if !taken[tool.Name] { // a forged digest must not take another tool's name
				taken[tool.Name] = true
				all = append(all, tool)
			}
		}
	}
	return all
}

// Refresh starts and lists every server that has not listed its tools to this process. It returns when each
// has answered or failed. Its error is that of ctx; starts and listings then continue.
func (s *Servers) Refresh(ctx context.Context) error {
	var all sync.WaitGroup
	for _, one := range s.servers {
		all.Go(func() {
			if !one.hasList() {
				_, _ = one.ready(ctx) // Status reports the error
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// Changed receives after the result of Tools has changed, until ctx ends or the servers are closed.
func (s *Servers) Changed(ctx context.Context) <-chan struct{} { return s.hub.Listen(ctx) }

// Status returns the status of each server, by name.
func (s *Servers) Status() []Status {
	var all []Status
	for _, one := range s.servers {
		all = append(all, one.status())
	}
	return all
}

// Close ends all servers and everything they started, and returns when they are gone.
func (s *Servers) Close() {
	s.end()
	s.hub.Close()
	var all sync.WaitGroup
	for _, one := range s.servers {
		all.Go(one.close)
	}
	all.Wait()
}

// Greeting is the result of greeting a server.
type Greeting struct {
	Version string        // of the protocol
	Tools   int           // number of tools listed
	Took    time.Duration // from its start to its list
}

// Greet starts a server that is a command, lists its tools as a stateless client or as one with a handshake
// does, and ends it. It takes at most limit, plus a moment to end the server.
func Greet(ctx context.Context, name string, s Server, o Options, isStateless bool, limit time.Duration) (greeting Greeting, err error) {
	t, err := s.target(name, o.Dir, o.Getenv)
	if err != nil {
		return greeting, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	c := newConn(ctx, name, t, o.Version)
	defer c.end(nil)
	version := handshake
	if isStateless {
		version = stateless
	}
	transport, err := startStdio(o.Launcher, t, c, &safetext.TailWriter{Max: maxComplaints})
	if err == nil {
		err = c.connect(limited, transport, version, limit)
	}
	if err == nil {
		greeting, err = c.greeted(limited, isStateless)
	}
	if greeting.Took = time.Since(begun); limited.Err() == context.DeadlineExceeded {
		err = c.fail("did not answer within %s", limit)
	}
	return greeting, err
}

// greeted lists the tools of a connected server, and ends it.
func (c *conn) greeted(ctx context.Context, isStateless bool) (Greeting, error) {
	greeting := Greeting{Version: c.version()}
	defer c.waitForEnd()
	defer c.end(c.fail("was ended"))
	if isStateless != (greeting.Version >= stateless) {
		return greeting, c.fail("does not speak revision %s", stateless)
	}
	tools, _, err := c.list(ctx, noTimeout)
	greeting.Tools = len(tools)
	return greeting, err
}
