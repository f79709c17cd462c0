package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/spelling"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
)

// Servers are the other servers whose tools are offered beside planloop's own.
type Servers interface {
	// Tools lists the tools as far as they are known now, at once and in a fixed order.
	Tools() []ServerTool
	// Known reports whether every server that can be reached has told its tools at some time.
	Known() bool
	// Missing says why a tool that is named is not among them, where its server is to blame; else "".
	Missing(name string) string
	// Refresh asks every server for its tools that was not asked yet. It returns when all have
	// told them or failed, or ctx ends.
	Refresh(ctx context.Context) error
	// Changed receives after the tools have changed, until ctx ends.
	Changed(ctx context.Context) <-chan struct{}
}

// ServerTool is a tool of another server. What it says of itself is a stranger's: short enough
// and fit to be shown, and no more.
type ServerTool struct {
	toolbox.Tool
	Server string // its name in the configuration
	Passes bool   // while nothing may be changed

	// Call makes a call with arguments as the client sent them. The error is fit to be shown.
	Call func(ctx context.Context, arguments json.RawMessage, client ServerClient) (ServerResult, error)
}

// ServerClient is what another server can do during a call with whoever made it.
type ServerClient struct {
	Progress func(done, total float64, message string)
	Elicit   Elicit
}

// Elicit puts a question to the user and returns what they did, and what they filled in.
type Elicit func(ctx context.Context, message string, schema json.RawMessage) (action string, content json.RawMessage, err error)

// ServerResult is what another server answered.
type ServerResult struct {
	Content    []json.RawMessage
	Structured json.RawMessage
	IsError    bool
}

// serversToolset is that of the tools of other servers, which execution offers as well.
const serversToolset = "servers"

// What is waited for servers that never told their tools: by a list of them, once, and by the call
// of one of theirs. Some are fetched before they start.
const (
	listingWait = 3 * time.Second
	callWait    = time.Minute
)

// foreign is the tools of other servers as clients are told of them.
type foreign struct {
	Servers

	mu         sync.Mutex
	refreshing chan struct{} // closed when the refresh that goes on is over; nil: none does
	followed   bool
	waited     bool     // servers that never told their tools had their time
	listed     []string // what a client was told last: the definitions
}

// addServerTools offers the tools of other servers. The library keeps a sorted table of tools
// that tells all clients of each addition. What others offer changes on its own, so it is
// listed and looked up in place, and one tool that no list shows takes the calls.
func (s *Server) addServerTools() {
	if s.opts.Servers != nil && (Tools{Toolsets: s.opts.Toolsets}).offersServers() {
		s.foreign = &foreign{Servers: s.opts.Servers}
		s.MCP.AddTool(mcp.NewTool(relayName), s.relay)
	}
}

func (t Tools) offersServers() bool { return t.offers(serversToolset) || t.offers(verbs.Execution) }

// serverTools lists the tools of other servers for a client, after its first wait for them.
func (s *Server) serverTools(ctx context.Context) []ServerTool {
	if s.foreign == nil {
		return nil
	}
	if _, err := s.service(ctx); err != nil { // whose workspace has the servers
		return nil
	}
	s.awaitServers(ctx)
	return s.foreign.list()
}

func (f *foreign) list() []ServerTool {
	f.mu.Lock()
	defer f.mu.Unlock()
	tools := f.Tools()
	f.listed = definitions(tools)
	return tools
}

func definitions(tools []ServerTool) []string {
	list := make([]string, len(tools))
	for i, tool := range tools {
		list[i] = tool.Definition()
	}
	return list
}

// refresh has the servers asked for their tools; over is closed when that has come to an end.
func (s *Server) refresh() (over <-chan struct{}) {
	f := s.foreign
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.followed {
		f.followed = true
		changes := f.Changed(s.subscriptions.ctx) // from now on: what is listed next may be out of date at once
		s.background(func(context.Context) { s.followServers(changes) })
	}
	if f.refreshing == nil {
		ended := make(chan struct{})
		f.refreshing = ended
		s.background(func(ctx context.Context) {
			if err := f.Refresh(ctx); err != nil {
				s.opts.Logger.Debug("not all servers told their tools", "error", err)
			}
			f.mu.Lock()
			f.refreshing = nil
			f.mu.Unlock()
			close(ended)
		})
	}
	return f.refreshing
}

// awaitServers waits for servers that never told their tools, unless somebody has before.
func (s *Server) awaitServers(ctx context.Context) {
	f, over := s.foreign, s.refresh()
	f.mu.Lock()
	waited := f.waited
	f.mu.Unlock()
	if waited || f.Known() || !s.awaits(ctx, over, listingWait) {
		return
	}
	f.mu.Lock()
	f.waited = true
	f.mu.Unlock()
}

// awaits waits for the end of a refresh, a bounded time; false when the call has ended before.
func (s *Server) awaits(ctx context.Context, over <-chan struct{}, most time.Duration) bool {
	s.yield(ctx)
	select {
	case <-over:
	case <-time.After(most):
	case <-ctx.Done():
		return false
	}
	return true
}

// followServers tells clients when the tools are others than those that were listed last.
func (s *Server) followServers(changes <-chan struct{}) {
	for range changes {
		if s.foreign.differs() {
			s.subscriptions.notifyAll(mcp.MethodNotificationToolsListChanged, nil)
		}
	}
}

func (f *foreign) differs() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := definitions(f.Tools())
	before := f.listed
	f.listed = now // once is enough
	return before != nil && !slices.Equal(now, before)
}

// described is a tool of another server as clients list it: never as one of ours.
func (t ServerTool) described() mcp.Tool {
	title := t.Title
	if title != "" {
		title = t.Server + ": " + title
	}
	return describe(verbs.Spec{Name: t.Name, Title: title, Description: Marked(t.Server, t.Description),
		ReadOnly: t.ReadOnly, Destructive: t.Destructive, Idempotent: t.Idempotent, OpenWorld: t.OpenWorld},
		[]byte(cmp.Or(string(t.Schema), `{"type":"object"}`)), t.Output)
}

// Marked is what a tool says of itself, marked as that of its server.
func Marked(server, description string) string { return "[server " + server + "] " + description }

// serverTool returns the tool of another server that is called so.
func (s *Server) serverTool(name string) (ServerTool, bool) {
	for _, tool := range s.serverToolsNow() {
		if tool.Name == name {
			return tool, true
		}
	}
	return ServerTool{}, false
}

func (s *Server) serverToolsNow() []ServerTool {
	if s.foreign == nil {
		return nil
	}
	return s.foreign.Tools()
}

// serverNames lists the names of other servers' tools.
func (s *Server) serverNames() []string {
	var names []string
	for _, tool := range s.serverToolsNow() {
		names = append(names, tool.Name)
	}
	return names
}

// nearestServerTool is the tool of another server that a name probably means, with a host's
// prefix or without; "" for none.
func (s *Server) nearestServerTool(name string) string {
	names := s.serverNames()
	for _, known := range names {
		if strings.HasSuffix(name, "_"+known) || strings.HasSuffix(known, "__"+name) {
			return known
		}
	}
	return spelling.Nearest(name, names)
}
