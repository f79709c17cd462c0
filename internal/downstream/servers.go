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
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/time/rate"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/tail"
)

// Options are what servers are started with.
type Options struct {
	Launcher *process.Launcher // starts those that are commands
	HTTP     *http.Client      // reaches the others; nil: the guarded one of outbound
	Dir      string            // the workspace, where they are started
	CacheDir string            // where lists are kept for the next process; "": nowhere
	Getenv   func(string) string
	Logger   *slog.Logger // nil: nobody listens
	Version  string       // of planloop, as servers are told
}

// Servers are the servers of a configuration. All methods may be called from several
// goroutines.
type Servers struct {
	servers []*server // by name
	hub     broadcast.Hub
	end     context.CancelFunc
}

// nested is set for the servers that are started, so that a planloop among them does not
// start itself again, and that itself again.
const nested = "PLANLOOP_NESTED"

// New returns the servers of a configuration, and starts none. One that is configured in a
// way that cannot be used is failed, and the others do without it.
func New(c Config, o Options) (*Servers, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Launcher == nil {
		o.Launcher = &process.Launcher{}
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	life, end := context.WithCancel(context.Background())
	all := &Servers{end: end}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		s := &server{name: name, settings: c[name], options: o, key: c[name].key(name, o.Dir), changed: all.hub.Notify,
			complaints: &tail.Writer{Max: complain}, life: life, lists: rate.NewLimiter(rate.Every(listPause), listsInARow)}
		var err error
		if s.target, err = c[name].target(name, o.Dir, o.Getenv); err == nil && o.Getenv(nested) != "" {
			err = errors.New("is not started, since this planloop was itself started as a server of another")
		}
		if err != nil {
			s.target, s.failure = nil, err
		}
		all.servers = append(all.servers, s)
	}
	return all, nil
}

// Tools lists the tools as they are known now, servers by name, each in its own order. It
// starts nothing and waits for nothing.
func (s *Servers) Tools() []Tool {
	var all []Tool
	taken := map[string]bool{}
	for _, one := range s.servers {
		for _, tool := range one.list() {
			if !taken[tool.Name] { // a digest that was made to look like another's is no way in
				taken[tool.Name] = true
				all = append(all, tool)
			}
		}
	}
	return all
}

// Refresh starts and lists every server whose list this process has not heard, and returns
// when each has told it or failed. The error is that of ctx; what is under way goes on.
func (s *Servers) Refresh(ctx context.Context) error {
	var all sync.WaitGroup
	for _, one := range s.servers {
		all.Go(func() {
			if !one.knows() {
				_, _ = one.ready(ctx) // Status tells why it failed
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// Changed receives after what Tools tells has changed, until ctx ends or the servers are closed.
func (s *Servers) Changed(ctx context.Context) <-chan struct{} { return s.hub.Listen(ctx) }

// Status tells how each server does, by name.
func (s *Servers) Status() []Status {
	var all []Status
	for _, one := range s.servers {
		all = append(all, one.status())
	}
	return all
}

// Close ends all servers with all that they started, and returns when they are gone.
func (s *Servers) Close() error {
	s.end()
	s.hub.Close()
	var all sync.WaitGroup
	for _, one := range s.servers {
		all.Go(one.close)
	}
	all.Wait()
	return nil
}
