package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
)

// Servers are other servers. Their tools are offered next to planloop's own.
type Servers interface {
	// Tools returns the tools known now, without waiting, in a fixed order.
	Tools() []toolbox.RemoteTool
	// Known reports whether every reachable server has listed its tools at least once.
	Known() bool
	// Missing says why a tool is unavailable if its server is the cause, else "".
	Missing(name string) string
	// Refresh asks the servers that have not been asked yet for their tools. It returns when all have
	// answered or failed, or when ctx ends.
	Refresh(ctx context.Context) error
	// Changed receives after the tools have changed, until ctx ends.
	Changed(ctx context.Context) <-chan struct{}
}

// serversToolset offers the tools of other servers; the toolset execution does as well.
const serversToolset = "servers"

// How long to wait for servers that never listed their tools: once when tools are listed, and on each call of
// such a tool. Some servers are downloaded before they start.
const (
	listingWait = 3 * time.Second
	callWait    = time.Minute
)

// otherTools tracks the tools of other servers as clients know them.
type otherTools struct {
	Servers

	mu         sync.Mutex
	refreshing chan struct{} // closed when the current refresh is over; nil: none is running
	followed   bool
	waited     bool     // servers that never listed their tools were waited for once
	listed     []string // definitions in the list that a client got last
}

// addServerTools offers the tools of other servers. mcp-go keeps a sorted table of tools and notifies all
// clients of each addition. The other servers' tools change on their own, so they are listed and looked up
// here, and one unlisted tool receives the calls.
func (s *Server) addServerTools() {
	if s.opts.Servers != nil && (Tools{Toolsets: s.opts.Toolsets}).offersServers() {
		s.otherTools = &otherTools{Servers: s.opts.Servers}
		s.MCP.AddTool(mcp.NewTool(relayName), s.relay)
	}
}

func (t Tools) offersServers() bool { return t.offers(serversToolset) || t.offers(verbs.Execution) }

// serverTools lists the tools of other servers for a client. The first call waits for them.
func (s *Server) serverTools(ctx context.Context) []toolbox.RemoteTool {
	if s.otherTools == nil {
		return nil
	}
	if _, err := s.service(ctx); err != nil { // the servers belong to its workspace
		return nil
	}
	s.waitForServers(ctx)
	f := s.otherTools
	f.mu.Lock()
	defer f.mu.Unlock()
	tools := f.Tools()
	f.listed = definitions(tools)
	return tools
}

func definitions(tools []toolbox.RemoteTool) []string {
	list := make([]string, len(tools))
	for i, tool := range tools {
		list[i] = tool.Definition()
	}
	return list
}

// refresh asks the servers for their tools; over is closed when that has ended.
func (s *Server) refresh() (over <-chan struct{}) {
	f := s.otherTools
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.followed {
		f.followed = true
		changes := f.Changed(s.subscriptions.ctx) // starts before the list, which may be outdated at once
		s.background(func(context.Context) {
			for range changes {
				if f.differs() {
					s.subscriptions.notifyAll(mcp.MethodNotificationToolsListChanged, nil)
				}
			}
		})
	}
	if f.refreshing == nil {
		ended := make(chan struct{})
		f.refreshing = ended
		s.background(func(ctx context.Context) {
			if err := f.Refresh(ctx); err != nil {
				s.opts.Logger.Debug("not all servers listed their tools", "error", err)
			}
			f.mu.Lock()
			f.refreshing = nil
			f.mu.Unlock()
			close(ended)
		})
	}
	return f.refreshing
}

// waitForServers waits for servers that never listed their tools, if no call did so before.
func (s *Server) waitForServers(ctx context.Context) {
	f, over := s.otherTools, s.refresh()
	f.mu.Lock()
	waited := f.waited
	f.mu.Unlock()
	if waited || f.Known() || !s.waitForRefresh(ctx, over, listingWait) {
		return
	}
	f.mu.Lock()
	f.waited = true
	f.mu.Unlock()
}

// waitForRefresh waits at most limit for a refresh. It returns false if the call ended first.
func (s *Server) waitForRefresh(ctx context.Context, over <-chan struct{}, limit time.Duration) bool {
	s.opts.Yield(ctx)
	select {
	case <-over:
	case <-time.After(limit):
	case <-ctx.Done():
		return false
	}
	return true
}

// differs reports whether the tools differ from the last list that a client got.
func (f *otherTools) differs() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := definitions(f.Tools())
	before := f.listed
	f.listed = now // notify once
	return before != nil && !slices.Equal(now, before)
}

// describeRemote returns a tool as clients list it, clearly marked as another server's.
func describeRemote(t toolbox.RemoteTool) mcp.Tool {
	title := t.Title
	if title != "" {
		title = t.Server + ": " + title
	}
	return describe(verbs.Spec{Name: t.Name, Title: title, Description: LabelDescription(t.Server, t.Description),
		ReadOnly: t.ReadOnly, Destructive: t.Destructive, Idempotent: t.Idempotent, OpenWorld: t.OpenWorld},
		[]byte(cmp.Or(string(t.Schema), `{"type":"object"}`)), t.Output)
}

// LabelDescription returns a tool's description, marked with its server.
func LabelDescription(server, description string) string {
	return "[server " + server + "] " + description
}

func (s *Server) serverTool(name string) (toolbox.RemoteTool, bool) {
	if s.otherTools != nil {
		for _, tool := range s.otherTools.Tools() {
			if tool.Name == name {
				return tool, true
			}
		}
	}
	return toolbox.RemoteTool{}, false
}

func (s *Server) serverNames() (names []string) {
	if s.otherTools != nil {
		for _, tool := range s.otherTools.Tools() {
			names = append(names, tool.Name)
		}
	}
	return names
}

// nearestServerTool returns the tool of another server that a name probably means, with or without a host's
// prefix; "" if none fits.
func (s *Server) nearestServerTool(name string) string {
	names := s.serverNames()
	for _, known := range names {
		if strings.HasSuffix(name, "_"+known) || strings.HasSuffix(known, "__"+name) {
			return known
		}
	}
	return safetext.Nearest(name, names)
}
