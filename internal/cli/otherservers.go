package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// otherServers are the configured MCP servers, whose tools planloop offers too. They start when first needed. nil is empty.
type otherServers struct {
	app     *app
	place   workspace.Workspace
	section workspace.Section
	once    sync.Once
	servers *downstream.Servers // nil: none
}

// get returns the servers, or nil. It starts nothing.
func (o *otherServers) get() *downstream.Servers {
	if o == nil {
		return nil
	}
	o.once.Do(func() {
		config, err := configuredServers(o.section)
		if err == nil && len(config) > 0 {
			o.servers = downstream.New(config, downstream.Options{Launcher: o.app.launch(), Dir: o.place.Path, CacheDir: o.cache(),
				Getenv: o.app.getenv, Logger: o.app.logger(), Version: version()})
		}
		if err != nil {
			o.app.warn("other servers are not used: " + err.Error())
			return
		}
		for _, fault := range config.Faults() {
			o.app.warn("one server is not used: " + fault.Error())
		}
	})
	return o.servers
}

// configuredServers decodes servers one by one, so that a mistake in one does not affect the others.
func configuredServers(section workspace.Section) (downstream.Config, error) {
	entries, err := section.Entries()
	config := downstream.Config{}
	for name, entry := range entries {
		var server downstream.Server
		server.Fault = entry.Decode(&server)
		config[name] = server
	}
	return config, err
}

// cache returns the folder that keeps lists of tools for later processes, "" without one.
func (o *otherServers) cache() string {
	dir, err := workspace.CacheHome(o.app.getenv, "")
	if err != nil || o.app.flags.ephemeral {
		return ""
	}
	return dir
}

func (o *otherServers) close() {
	o.once.Do(func() {}) // from now on get starts nothing
	if o.servers != nil {
		o.servers.Close()
	}
}

func (o *otherServers) listed() []toolbox.RemoteTool {
	if servers := o.get(); servers != nil {
		return servers.Tools()
	}
	return nil
}

// guarded returns a tool that is refused while planning mode is read-only, and ended when planning mode begins, unless it passes.
func (o *otherServers) guarded(tool toolbox.RemoteTool) toolbox.Tool {
	run := tool.Run
	if tool.ReadOnlyPhase {
		return tool.Tool
	}
	tool.Tool.Run = func(ctx context.Context, args json.RawMessage, w toolbox.Watch) (toolbox.Outcome, error) {
		free, stop, err := o.app.free(ctx, mcpserver.ErrPlanningMode)
		if err != nil {
			return toolbox.Outcome{}, err
		}
		defer stop()
		out, err := run(free, args, w)
		if err != nil && ctx.Err() == nil && errors.Is(context.Cause(free), mcpserver.ErrPlanningMode) {
			text := mcpserver.ErrPlanningMode.Error()
			return toolbox.Outcome{Error: text, Text: text, Cut: true}, nil
		}
		return out, err
	}
	return tool.Tool
}

func (o *otherServers) known() map[string]verbs.ServerTool {
	all := map[string]verbs.ServerTool{}
	for _, tool := range o.listed() {
		all[tool.Name] = verbs.ServerTool{Server: tool.Server, Description: tool.Description, ReadOnly: tool.ReadOnly,
			Destructive: tool.Destructive, Idempotent: tool.Idempotent, OpenWorld: tool.OpenWorld, Definition: tool.Definition()}
	}
	return all
}

const listTimeout = 10 * time.Second

// Await waits until each server has listed its tools or failed, at most listTimeout.
func (o *otherServers) Await(ctx context.Context) {
	servers := o.get()
	if servers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := servers.Refresh(ctx); err != nil {
		o.app.logger().Debug("not all servers listed their tools", "error", err)
	}
}

// refreshFor calls Await if an unfinished step names a tool of another server.
func (o *otherServers) refreshFor(ctx context.Context, p *plan.Plan) {
	if p == nil || !o.section.Given() {
		return
	}
	own := map[string]bool{"": true}
	for _, row := range toolbox.Table() {
		own[row.Name] = true
	}
	for step := range p.Steps.All() {
		if !own[step.Tool] && !step.Status.IsFinished() {
			o.Await(ctx)
			return
		}
	}
}

func (o *otherServers) Missing(name string) string {
	servers := o.get()
	if servers == nil {
		return ""
	}
	var there []string
	known := false
	for _, status := range servers.Status() {
		there = append(there, status.Name)
		if !strings.HasPrefix(name, status.Name+"__") {
			continue
		}
		known = true
		switch {
		case status.State == downstream.Failed:
			return status.Error
		case status.State == downstream.Disabled, !status.Listed && len(status.Tools) == 0:
			return "the server " + status.Name + " is " + string(status.State)
		}
	}
	server, _, foreign := strings.Cut(name, "__")
	switch {
	case known:
		return "its server does not have this tool"
	case foreign && server != "mcp" && server != "planloop": // hosts prefix tool names with these two
		return "no server " + plan.Quote(plan.Shorten(server, 40)) + " is configured (known: " + strings.Join(there, ", ") + ")"
	}
	return ""
}

// free starts work that may write outside planloop's control, ended with cause when planning mode begins; refused while it is on.
func (a *app) free(ctx context.Context, cause error) (context.Context, func(), error) {
	ws, err := a.open(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	free, hold, stop, err := a.planningGuard(ws).Free(ctx, cause)
	if err == nil && hold.By != "" {
		stop()
		err = hold.Refuse("", "nothing is changed until a plan is approved", "")
	}
	return free, stop, err
}

type offeredServers struct{ *app }

func (s offeredServers) others() *otherServers {
	ws, err := s.open(context.Background(), nil)
	if err != nil {
		return nil
	}
	return ws.servers
}

func (s offeredServers) Tools() []toolbox.RemoteTool { return s.others().listed() }

// Known reports whether every server has listed its tools at least once.
func (s offeredServers) Known() bool {
	servers := s.others().get()
	return servers == nil || !slices.ContainsFunc(servers.Status(), func(status downstream.Status) bool {
		return status.State != downstream.Disabled && !status.Listed && len(status.Tools) == 0
	})
}

func (s offeredServers) Missing(name string) string { return s.others().Missing(name) }

func (s offeredServers) Refresh(ctx context.Context) error {
	if servers := s.others().get(); servers != nil {
		return servers.Refresh(ctx)
	}
	return nil
}

func (s offeredServers) Changed(ctx context.Context) <-chan struct{} {
	if servers := s.others().get(); servers != nil {
		return servers.Changed(ctx)
	}
	never := make(chan struct{})
	close(never)
	return never
}
