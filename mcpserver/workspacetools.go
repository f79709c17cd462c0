package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// workspaceToolset is offered only where it is asked for: most hosts have tools of
// their own for files and commands.
const workspaceToolset = "workspace"

// addWorkspaceTools offers the tools on files and commands.
func (s *Server) addWorkspaceTools() error {
	if s.opts.Box == nil || !slices.Contains(s.opts.Toolsets, workspaceToolset) {
		return nil
	}
	for _, row := range toolbox.Table() {
		if row.PlanOnly {
			continue
		}
		tool, err := describe(specOf(row))
		if err != nil {
			return err
		}
		s.MCP.AddTool(tool, s.handleFiles(row))
	}
	return nil
}

func specOf(row toolbox.Row) verbs.Spec {
	return verbs.Spec{Name: row.Name, Title: row.Title, Description: row.Description, Toolset: workspaceToolset, Example: row.Example,
		ReadOnly: row.ReadOnly, Destructive: row.Destructive, Idempotent: row.Idempotent, OpenWorld: row.OpenWorld}
}

// handleFiles decodes and calls a tool of the workspace. Calls go on beside each
// other: a command may take minutes.
func (s *Server) handleFiles(row toolbox.Row) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if service, err := s.service(ctx); err == nil {
			s.caller(ctx, service) // a sign of life
		}
		box, err := s.opts.Box(ctx)
		if err != nil {
			return mcp.NewToolResultError(s.fault(row.Name, err)), nil
		}
		reply, err := row.Call(ctx, box, func(into any) error {
			if err := verbs.Decode(request.Params.RawArguments, into); err != nil {
				return err
			}
			if !row.ReadOnly && row.Name == "bash_execute" {
				s.yield(ctx)
			}
			return nil
		})
		var refused *plan.ValidationError
		switch {
		case errors.As(err, &refused):
			text := fmt.Sprintf("Nothing was done. %s: %s.", refused.Kind, refused)
			if refused.Kind == plan.InvalidInput {
				text += "\nA correct call: " + row.Name + " " + row.Example
			}
			return mcp.NewToolResultError(text), nil
		case err != nil:
			return mcp.NewToolResultError(s.fault(row.Name, err)), nil
		}
		return mcp.NewToolResultStructured(reply, reply.Text()), nil
	}
}
