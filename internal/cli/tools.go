package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

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
	box func() (*toolbox.Box, error)
	*otherServers
}

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

// Arguments returns a tool's arguments in short, "" for an unknown tool.
func (t stepTools) Arguments(name string) string {
	for _, tool := range toolInfos(t.otherServers) {
		if tool.Name == name {
			return runnable.ArgumentsOf(tool.Schema)
		}
	}
	return ""
}

func (a *app) box() (*toolbox.Box, error) {
	ws, err := a.open(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	if ws.place.Default {
		return nil, plan.Refuse(plan.Conflict, "", "this folder is not a project, so tools have no files",
			"start planloop in a project, or use --workspace DIR")
	}
	wall := a.planningGuard(ws)
	others := func() []toolbox.Tool {
		var tools []toolbox.Tool
		for _, tool := range ws.servers.listed() {
			tools = append(tools, ws.servers.guarded(tool))
		}
		return tools
	}
	return toolbox.Open(ws.place.Path, toolbox.Options{Launcher: a.launch(), Changed: wall.Changed, Guard: wall.Guard, Others: others,
		ReadOnlyCommands: ws.config.ReadOnlyCommands})
}

func (a *app) launcher() *process.Launcher {
	program, err := os.Executable()
	if err != nil {
		a.logger().Warn("commands run without a process that ends their descendants", "error", err)
	}
	return &process.Launcher{Program: program}
}

// files gives access to the workspace's files, opened on first use and closed with the process.
type files struct {
	open func() (*tree.Tree, error)
}

func (t files) Files() (fs.FS, error) {
	ws, err := t.open()
	if err != nil {
		return nil, err
	}
	return ws.FS(), nil
}

func (t files) Summary(ctx context.Context) (string, error) {
	ws, err := t.open()
	if err != nil {
		return "", err
	}
	return tree.Summary(ctx, ws, tree.SummaryOptions{}), nil
}

// Document returns a text file, cut to max bytes.
func (t files) Document(path string, max int) (string, bool) {
	ws, err := t.open()
	if err != nil {
		return "", false
	}
	return ws.ReadText(path, max)
}

const maxFindings = 200 // of a survey

func (t files) Survey(ctx context.Context, done func(files int)) (found []verbs.Suggestion, cut string, err error) {
	ws, err := t.open()
	if err != nil {
		return nil, "", err
	}
	result, err := tree.Scan(ctx, ws, tree.ScanOptions{Progress: done})
	if err != nil {
		return nil, "", err
	}
	for _, f := range result.Findings[:min(len(result.Findings), maxFindings)] {
		reason := fmt.Sprintf("mark at %s:%d", f.Path, f.Line)
		if f.Count > 1 {
			reason += fmt.Sprintf(" and %d more places", f.Count-1)
		}
		found = append(found, verbs.Suggestion{Title: f.Title, Type: plan.StepType(f.Type), ContextHints: f.Hints,
			RelevantFilePaths: f.Paths, Reason: reason, Line: f.Line})
	}
	return found, result.Note(), nil
}
