package cli

import (
	"context"
	"os"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// toolInfos describes the tools that steps can name.
func toolInfos(others *otherServers) []verbs.ToolInfo {
	var tools []verbs.ToolInfo
	for _, row := range toolbox.Table() {
		input, _, err := row.Schemas()
		if err != nil {
			continue // the schemas are embedded, and a test reads them all
		}
		tools = append(tools, verbs.ToolInfo{Name: row.Name, Description: row.Description, Schema: input})
	}
	for _, tool := range others.listed() {
		tools = append(tools, verbs.ToolInfo{Name: tool.Name, Description: mcpserver.LabelDescription(tool.Server, tool.Description),
			Schema: tool.Schema})
	}
	return tools
}

// stepTools are the tools that steps of plans may name, opened on first use.
type stepTools struct {
	box    func() (*toolbox.Box, error)
	others *otherServers
}

// Await waits for servers that have not listed their tools yet.
func (t stepTools) Await(ctx context.Context) { t.others.refresh(ctx) }

// Missing explains why a tool is missing.
func (t stepTools) Missing(name string) string { return t.others.missing(name) }

func (t stepTools) Tool(name string) (runnable.Tool, bool) {
	box, err := t.box()
	if err != nil {
		return nil, false
	}
	tool, known := box.Tools().Lookup(name)
	return tool, known
}

func (t stepTools) Names() []string {
	box, err := t.box()
	if err != nil {
		return nil
	}
	return box.Tools().Names()
}

// box opens the tools on the workspace's files, read-only while planning mode requires it.
func (a *app) box() (*toolbox.Box, error) {
	ws, err := a.open(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	if ws.place.Default {
		return nil, plan.Refuse(plan.Conflict, "", "this is not a project, so there are no files to work on",
			"start planloop in a project, or with --workspace DIR")
	}
	wall := a.planningGuard(ws)
	return toolbox.Open(ws.place.Path, toolbox.Options{Launcher: a.launch(), Changed: wall.Changed, Guard: wall.Guard,
		Others: ws.servers.forSteps})
}

// launcher returns a launcher that starts commands and ends all their descendants.
func (a *app) launcher() *process.Launcher {
	program, err := os.Executable()
	if err != nil {
		a.logger().Warn("commands run without a keeper that ends everything they start", "error", err)
	}
	return &process.Launcher{Program: program}
}
