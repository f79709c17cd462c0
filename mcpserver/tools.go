package mcpserver

import (
	"context"
	"embed"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/verbs"
)

//go:generate go test . -run TestSchemas -update
//go:embed schemas/*.json
var schemas embed.FS

// addTools offers the verbs of the chosen toolsets, in the table's order.
func (s *Server) addTools() error {
	for _, row := range verbs.Table() {
		if s.opts.Toolsets != nil && !slices.Contains(s.opts.Toolsets, row.Toolset) {
			continue
		}
		tool, err := describe(row.Spec)
		if err != nil {
			return err
		}
		s.MCP.AddTool(tool, s.handle(row))
	}
	return nil
}

// describe returns the tool as clients list it.
func describe(row verbs.Spec) (mcp.Tool, error) {
	input, err := schemas.ReadFile("schemas/" + row.Name + ".input.json")
	if err != nil {
		return mcp.Tool{}, fmt.Errorf("schema of %s: %w", row.Name, err)
	}
	output, err := schemas.ReadFile("schemas/" + row.Name + ".output.json")
	if err != nil {
		return mcp.Tool{}, fmt.Errorf("schema of %s: %w", row.Name, err)
	}
	return mcp.Tool{
		Name: row.Name, Title: row.Title, Description: row.Description,
		RawInputSchema: input, RawOutputSchema: output,
		Annotations: mcp.ToolAnnotation{
			ReadOnlyHint:    &row.ReadOnly,
			DestructiveHint: &row.Destructive,
			IdempotentHint:  &row.Idempotent,
			OpenWorldHint:   &row.OpenWorld,
		},
	}, nil
}

// handle decodes and calls the verb, and answers with text and structured
// content that each carry the whole answer: hosts show a model one or the other.
func (s *Server) handle(row verbs.Row) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		service, err := s.service(ctx)
		if err != nil {
			return mcp.NewToolResultError(s.fault(row.Name, err)), nil
		}
		caller := s.caller(ctx, service)
		caller.Yield = func() { s.yield(ctx) }
		caller.Progress = s.progress(ctx, request)
		if asksModel(row) && server.IsModernRequest(ctx) && offersSampling(ctx) {
			return s.inRounds(ctx, row, request, service, caller), nil
		}
		caller.Model = s.hostModel(ctx, row)
		if request.Params.RequestState != "" || len(request.Params.InputResponses) > 0 {
			return s.retried(ctx, row, request, service, caller), nil
		}
		reply, err := row.Call(ctx, service, caller, request.Params.RawArguments)
		if err != nil {
			return mcp.NewToolResultError(s.explain(ctx, row, service, caller, err)), nil
		}
		if !row.ReadOnly {
			s.subscriptions.begin(ctx) // there is a log to watch now
		}
		if question, ok := reply.(asking); ok && question.Ask() != nil {
			return dialogue{s, row, request, service, caller, question.Ask()}.put(ctx, reply), nil
		}
		return mcp.NewToolResultStructured(reply, reply.Text()), nil
	}
}
