package mcpserver

import (
	"context"
	"embed"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

//go:generate go test . -run TestSchemas -update
//go:embed schemas/*.json
var schemas embed.FS

// addTools offers the verbs of the chosen toolsets, in the table's order.
func (s *Server) addTools() error {
	for _, row := range verbs.Table() {
		if !(Tools{Toolsets: s.opts.Toolsets}).offers(row.Toolset) {
			continue
		}
		input, noInput := s.inputSchema(row.Name)
		output, noOutput := schemas.ReadFile("schemas/" + row.Name + ".output.json")
		if err := errors.Join(noInput, noOutput); err != nil {
			return err
		}
		handle := s.handle(row)
		if showsApp(row.Name) {
			handle = s.withView(handle)
		}
		if row.Name == "planning_execute_plan" {
			row.Description += " Their tools: " + stepTools() + "."
		}
		s.MCP.AddTool(describe(row.Spec, input, output), handle)
		s.offered = append(s.offered, row.Name)
	}
	return nil
}

// stepTools lists the tools that steps may name, with their arguments. The list has those of other servers itself.
func stepTools() string {
	var tools []string
	for _, row := range toolbox.Table() {
		if input, _, err := row.Schemas(); err == nil { // they are embedded, and a test reads them all
			tools = append(tools, row.Name+" "+runnable.ArgumentsOf(input))
		}
	}
	return strings.Join(tools, ", ")
}

// inputSchema returns the schema of a tool's input. With the toolset execution it lists how a step becomes runnable.
func (s *Server) inputSchema(tool string) ([]byte, error) {
	if (Tools{Toolsets: s.opts.Toolsets}).offers(verbs.Execution) {
		if schema, err := schemas.ReadFile("schemas/" + tool + ".execution.json"); err == nil {
			return schema, nil
		}
	}
	return schemas.ReadFile("schemas/" + tool + ".input.json")
}

func describe(row verbs.Spec, input, output []byte) mcp.Tool {
	return mcp.Tool{
		Name: row.Name, Title: row.Title, Description: row.Description, Meta: appMeta(row.Name),
		RawInputSchema: input, RawOutputSchema: output,
		Annotations: mcp.ToolAnnotation{
			ReadOnlyHint:    &row.ReadOnly,
			DestructiveHint: &row.Destructive,
			IdempotentHint:  &row.Idempotent,
			OpenWorldHint:   &row.OpenWorld,
		},
	}
}

// toolCall is a client's call of a tool.
type toolCall struct {
	*Server
	row     verbs.Row
	request mcp.CallToolRequest
	service *verbs.Service
	caller  verbs.Caller
}

// isResumed reports whether a call brings the client's answers for an earlier one.
func isResumed(request mcp.CallToolRequest) bool {
	return request.Params.RequestState != "" || len(request.Params.InputResponses) > 0
}

// handle decodes and calls the verb. Text and structured content each carry the whole answer, because hosts
// show a model one or the other.
func (s *Server) handle(row verbs.Row) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		service, err := s.service(ctx)
		if err != nil {
			return mcp.NewToolResultError(s.internalError(row.Name, err)), nil
		}
		caller := s.caller(ctx, service)
		caller.Yield = func() { s.opts.Yield(ctx) }
		report := s.progress(ctx, request)
		defer report.settle(ctx)
		caller.Progress = func(done, all int, what string) { report.tell(float64(done), float64(all), what) }
		caller.Background = s.background
		call := toolCall{s, row, request, service, caller}
		if isResumed(request) {
			return call.resume(ctx), nil
		}
		return call.callVerb(ctx), nil
	}
}

// callVerb calls the verb, and asks the user the question in its reply.
func (c toolCall) callVerb(ctx context.Context) *mcp.CallToolResult {
	reply, err := c.row.Call(ctx, c.service, c.caller, c.request.Params.RawArguments)
	if err == nil && !c.row.ReadOnly {
		c.subscriptions.begin(ctx) // now there is a log to watch
	}
	inApp := showsApp(c.row.Name) && c.offersApp(ctx, actTool) && !c.agentControlled(ctx) // the user can decide there
	if asking, ok := reply.(interface{ Ask() *verbs.Ask }); err == nil && ok && asking.Ask() != nil && !inApp {
		c.service, c.caller = asking.Ask().Place(c.caller)
		c.Server.caller(ctx, c.service) // the connection is alive on that track
		return elicitation{c, asking.Ask(), reply}.start(ctx)
	}
	return c.result(ctx, reply, err)
}

// workspaceToolset is offered only on request: most hosts have their own tools for files and commands.
const workspaceToolset = "workspace"

func (s *Server) addWorkspaceTools() error {
	if s.opts.Box == nil || !slices.Contains(s.opts.Toolsets, workspaceToolset) {
		return nil
	}
	for _, row := range toolbox.Table() {
		if row.PlanOnly {
			continue
		}
		input, output, err := row.Schemas()
		if err != nil {
			return err
		}
		spec := verbs.Spec{Name: row.Name, Title: row.Title, Description: row.Description, Toolset: workspaceToolset, Example: row.Example,
			ReadOnly: row.ReadOnly, Destructive: row.Destructive, Idempotent: row.Idempotent, OpenWorld: row.OpenWorld}
		s.MCP.AddTool(describe(spec, input, output), s.handleWorkspaceTool(row))
		s.offered = append(s.offered, row.Name)
	}
	return nil
}

// handleWorkspaceTool decodes and calls a tool of the workspace. Calls run concurrently: a command may take minutes.
func (s *Server) handleWorkspaceTool(row toolbox.Row) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if service, err := s.service(ctx); err == nil {
			s.caller(ctx, service) // marks the connection as alive
		}
		box, err := s.opts.Box(ctx)
		if err != nil {
			return mcp.NewToolResultError(s.internalError(row.Name, err)), nil
		}
		reply, err := row.Call(ctx, box, func(into any) error {
			if err := verbs.Decode(request.Params.RawArguments, into); err != nil {
				return err
			}
			if !row.ReadOnly && row.Name == "bash_execute" {
				s.opts.Yield(ctx)
			}
			return nil
		}, toolbox.Watch{})
		var refused *plan.ValidationError
		switch {
		case errors.As(err, &refused):
			return mcp.NewToolResultError("Nothing was done. " + refusalText(err, refused, row.Name, row.Example)), nil
		case err != nil:
			return mcp.NewToolResultError(s.internalError(row.Name, err)), nil
		}
		return mcp.NewToolResultStructured(reply, safetext.AfterLabel(reply.Text())), nil
	}
}

// listByPhase adds the tools of other servers, and removes the tools that the phase forbids and the app's
// tools if the client shows no apps. The list depends only on the toolsets, the other servers' tools, the
// phase and the app, so that hosts can cache it. A call of an unlisted tool is refused with advice.
func (s *Server) listByPhase(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	others := s.serverTools(ctx)
	result.Tools = slices.DeleteFunc(slices.Clone(result.Tools), func(tool mcp.Tool) bool {
		return tool.Name == relayName || isAppTool(tool.Name) && !s.offersApp(ctx, tool.Name)
	})
	passing := maps.Clone(s.readOnlyTools)
	passing[lookTool], passing[actTool] = true, true
	for _, tool := range others {
		result.Tools = append(result.Tools, describeRemote(tool))
		passing[tool.Name] = tool.ReadOnlyPhase
	}
	if s.isReadOnly(ctx) {
		result.Tools = slices.DeleteFunc(result.Tools, func(tool mcp.Tool) bool { return !passing[tool.Name] })
	}
}

// isReadOnly reports whether planning mode restricts all sessions of a connection; the list is the union of what each may call.
func (s *Server) isReadOnly(ctx context.Context) bool {
	restricted := true
	for _, session := range s.sessions(ctx) {
		var phase plan.Phase
		var revision plan.Revision
		service, err := s.opts.Service(ctx, s.roots, session)
		if err == nil {
			phase, revision, err = service.Phase(ctx)
		}
		if err != nil {
			if !errors.Is(err, errRootsFirst) {
				s.opts.Logger.Warn("the tools are listed without regard to the phase", "error", err)
			}
			return false
		}
		s.subscriptions.recordPhase(service, phase, revision)
		if revision > 0 { // listing the tools creates nothing
			s.subscriptions.beginSoon(ctx, service)
		}
		restricted = restricted && phase.IsRestricted()
	}
	return restricted
}

// IsTool reports whether a name is one of planloop's tools or has the form of another server's tool: it contains
// __. It does not say whether the tool is allowed in a read-only phase. The server checks that and refuses with
// advice; for example, steps may be marked while a change of an approved plan waits.
func IsTool(name string) bool {
	_, ours := readOnlyTools()[name]
	return ours || strings.Contains(name, "__")
}

// readOnlyTools maps each tool to whether it is allowed in a read-only phase: the tools that only read, and those
// of planning mode itself.
func readOnlyTools() map[string]bool {
	passing := map[string]bool{}
	for _, row := range verbs.Table() {
		passing[row.Name] = row.ReadOnly || row.Toolset == verbs.Mode || row.Submits
	}
	for _, row := range toolbox.Table() {
		passing[row.Name] = row.ReadOnly || row.Name == "bash_execute" // limited to read-only commands there
	}
	return passing
}

// progressInterval is the least time between two progress notifications, and answerDelay the least time between the last
// one and the answer. A notification in the same write as the answer is lost: the library drops it, or the client
// no longer listens.
const (
	progressInterval = 200 * time.Millisecond
	answerDelay      = 50 * time.Millisecond
)

// progress notifies the client how far a long call has come, if it asked. Nothing may depend on a
// notification: it can still be lost.
type progress struct {
	token any
	send  func(params map[string]any)
	mu    sync.Mutex // guards last
	last  time.Time
}

func (s *Server) progress(ctx context.Context, request mcp.CallToolRequest) *progress {
	p := &progress{send: func(params map[string]any) {
		if err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", params); err != nil {
			s.opts.Logger.Debug("progress not sent", "error", err)
		}
	}}
	if request.Params.Meta != nil {
		p.token = request.Params.Meta.ProgressToken
	}
	return p
}

func (p *progress) tell(done, all float64, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token == nil || time.Since(p.last) < progressInterval {
		return
	}
	p.last = time.Now()
	params := map[string]any{"progressToken": p.token, "progress": done, "message": what}
	if all > 0 {
		params["total"] = all
	}
	p.send(params)
}

// settle keeps the answer at least ahead after the last notification.
func (p *progress) settle(ctx context.Context) {
	p.mu.Lock()
	left := answerDelay - time.Since(p.last)
	p.mu.Unlock()
	if left > 0 {
		select {
		case <-time.After(left):
		case <-ctx.Done():
		}
	}
}
