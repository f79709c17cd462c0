package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

type serversReply struct {
	Servers []serverReply `json:"servers"`
	Offered bool          `json:"offered"`       // to agents over MCP; steps of plans may always name them
	Mode    bool          `json:"planning_mode"` // planning mode is on
	File    string        `json:"configuration,omitempty"`
}

// serverReply is one server, without its secrets.
type serverReply struct {
	Name       string            `json:"name"`
	State      downstream.State  `json:"state"`
	Transport  string            `json:"transport"`
	Address    string            `json:"address"` // or the command
	Protocol   string            `json:"protocol,omitempty"`
	Problem    string            `json:"problem,omitempty"`
	Advice     string            `json:"advice,omitempty"`
	Printed    []string          `json:"printed,omitempty"` // its last output, for people
	Tools      []serverToolReply `json:"tools"`
	Before     bool              `json:"tools_of_last_time,omitempty"` // they are from an earlier start
	NotOffered []notOffered      `json:"not_offered,omitempty"`
	FitNone    []string          `json:"read_only_tools_that_fit_none,omitempty"` // patterns in the configuration
}

type serverToolReply struct {
	Name   string `json:"name"`
	Title  string `json:"title,omitempty"`
	Passes bool   `json:"passes_in_planning_mode"`
}

type notOffered struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

func (a *app) servers(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	config, err := configuredServers(ws.config.Servers)
	if err != nil {
		return err
	}
	reply := serversReply{Servers: []serverReply{}}
	reply.Offered = slices.ContainsFunc([]workspace.Toolset{workspace.ServersTools, workspace.ExecutionTools},
		func(t workspace.Toolset) bool { return slices.Contains(ws.config.Toolsets, t) })
	reply.File, _ = workspace.ConfigFile(a.getenv, "") // "" without a home
	if reply.Mode, err = ws.verbs.Restricted(ctx); err != nil {
		return err
	}
	ws.servers.Await(ctx)
	if servers := ws.servers.get(); servers != nil {
		for _, status := range servers.Status() {
			reply.Servers = append(reply.Servers, serverOf(status, config[status.Name]))
		}
	}
	if err := a.reply(reply); err != nil {
		return err
	}
	if slices.ContainsFunc(reply.Servers, func(s serverReply) bool { return s.State == downstream.Failed }) {
		return exitStatus(exitFault)
	}
	return nil
}

func serverOf(status downstream.Status, config downstream.Server) serverReply {
	r := serverReply{Name: status.Name, State: status.State, Transport: status.Transport, Address: config.Redacted(),
		Before: !status.Listed && len(status.Tools) > 0, Protocol: status.Version, Problem: status.Error, Tools: []serverToolReply{}}
	for _, tool := range status.Tools {
		r.Tools = append(r.Tools, serverToolReply{Name: tool.Name, Title: tool.Title, Passes: tool.ReadOnlyPhase})
	}
	for _, tool := range status.Unusable {
		r.NotOffered = append(r.NotOffered, notOffered{Name: tool.Own, Why: tool.Why})
	}
	for _, pattern := range config.ReadOnlyTools {
		fits := func(tool toolbox.RemoteTool) bool { return toolbox.Listed([]string{pattern}, tool.Own, tool.Name) }
		if status.Listed && !slices.ContainsFunc(status.Tools, fits) {
			r.FitNone = append(r.FitNone, pattern)
		}
	}
	switch {
	case status.State == downstream.Starting:
		r.Advice = fmt.Sprintf("no tools listed within %s; the first start may need a download: try again", listTimeout)
	case status.State != downstream.Failed || status.RetryAt.IsZero(): // configuration errors contain their own fix
	case config.URL != "":
		r.Advice = "check the address, the network, and the token among the headers"
	default:
		r.Advice = "run the command in a terminal to see the problem"
		for _, line := range status.Lines {
			if !strings.Contains(r.Problem, line) {
				r.Printed = append(r.Printed, line)
			}
		}
	}
	return r
}

func (r serversReply) Text() string {
	if len(r.Servers) == 0 {
		return "No other MCP servers are configured. Write them into " + r.File + ", such as\n" +
			"  servers: {files: {command: npx, args: [-y, \"@modelcontextprotocol/server-filesystem\", /srv/files]}}"
	}
	var b strings.Builder
	for _, server := range r.Servers {
		server.write(&b, r.Mode)
	}
	if !r.Offered {
		b.WriteString("Steps of plans may name these tools. Agents are not offered them over MCP: to change that, add servers to " +
			"toolsets in " + r.File + ".\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r serverReply) write(b *strings.Builder, isOn bool) {
	mode := "planning mode"
	if isOn {
		mode += ", which is on,"
	}
	protocol := ""
	if r.Protocol != "" {
		protocol = ", protocol " + r.Protocol
	}
	fmt.Fprintf(b, "%s: %s (%s%s)\n  %s\n", r.Name, r.State, r.Transport, protocol, r.Address)
	if r.Problem != "" {
		fmt.Fprintf(b, "  problem: %s\n", r.Problem)
	}
	for _, line := range r.Printed {
		fmt.Fprintf(b, "  it printed: %s\n", line)
	}
	if r.Advice != "" {
		fmt.Fprintf(b, "  fix: %s\n", r.Advice)
	}
	passing, width := 0, 0
	for _, tool := range r.Tools {
		width = max(width, len(tool.Name))
		if tool.Passes {
			passing++
		}
	}
	if len(r.Tools) > 0 {
		when := ""
		if r.Before {
			when = ", as of last time"
		}
		fmt.Fprintf(b, "  %s%s; %s lets %d pass:\n", plan.Pluralize(len(r.Tools), "tool"), when, mode, passing)
	}
	for _, tool := range r.Tools {
		word := "refused"
		if tool.Passes {
			word = "passes"
		}
		fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("    %s  %-7s  %s", terminal.Pad(tool.Name, width), word, tool.Title), " "))
	}
	for _, tool := range r.NotOffered {
		fmt.Fprintf(b, "    %s is not offered: %s\n", tool.Name, tool.Why)
	}
	for _, pattern := range r.FitNone {
		fmt.Fprintf(b, "  read_only_tools names %s, which matches no tool\n", plan.Quote(pattern))
	}
	b.WriteByte('\n')
}
