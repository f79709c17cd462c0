package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// relayName is the tool that takes the calls of other servers' tools. It is not listed, and a call
// by this name is a call of an unknown tool.
const relayName = "tool-of-another-server"

// route sends the call of another server's tool to relay, and explains an unknown name.
func (s *Server) route(ctx context.Context, id any, request *mcp.CallToolRequest) {
	name := request.Params.Name
	if s.isOwn(name) || s.offersApp(ctx, name) {
		return
	}
	if s.foreign != nil {
		_, _ = s.service(ctx) // whose workspace has the servers; the call reports what is wrong with it
	}
	tool, known := s.serverTool(name)
	if !known && s.foreign != nil && s.foreign.Missing(name) != "" {
		s.awaits(ctx, s.refresh(), callWait) // its server may not have listed its tools yet
		tool, known = s.serverTool(name)
	}
	if known {
		request.Params.Name, request.Params.Arguments = relayName, tool // of a type that no client can send
		return
	}
	s.explainUnknown(ctx, id, request)
}

// errHeld is why a call is ended when nothing may be changed any more.
var errHeld = errors.New("planning mode was entered, in which tools may only read")

// relay calls another server's tool.
func (s *Server) relay(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	tool, ok := request.Params.Arguments.(ServerTool)
	if !ok {
		return nil, server.ErrToolNotFound
	}
	service, err := s.service(ctx)
	if err != nil {
		return mcp.NewToolResultError(s.fault(tool.Name, err)), nil
	}
	caller := s.caller(ctx, service) // a sign of life
	s.yield(ctx)
	told := s.progress(ctx, request)
	defer told.settle(ctx)
	row, free := verbs.Row{Spec: verbs.Spec{Name: tool.Name}}, ctx
	if !tool.Passes && s.opts.Free != nil {
		held, stop, err := s.opts.Free(ctx, errHeld)
		if err != nil {
			return mcp.NewToolResultError(s.explain(ctx, row, service, caller, err)), nil
		}
		defer stop()
		free = held
	}
	result, err := tool.Call(free, request.Params.RawArguments, ServerClient{Progress: told.tellAs, Elicit: s.elicitFor(ctx, tool.Server)})
	switch {
	case errors.Is(context.Cause(free), errHeld):
		return mcp.NewToolResultError("Stopped: " + errHeld.Error() + ". How much of it took effect is unknown." +
			next(ctx, service, caller)), nil
	case errors.As(err, new(*plan.ValidationError)):
		return mcp.NewToolResultError(s.explain(ctx, row, service, caller, err)), nil
	case err != nil:
		return mcp.NewToolResultError(err.Error()), nil
	}
	return result.relayed(), nil
}

// relayed is the result as a client gets it.
func (r ServerResult) relayed() *mcp.CallToolResult {
	result := &mcp.CallToolResult{IsError: r.IsError, RawStructuredContent: r.Structured, Content: []mcp.Content{}}
	for _, raw := range r.Content {
		content, err := mcp.UnmarshalContent(raw)
		if err != nil {
			content = mcp.NewTextContent("(a part of the answer is of an unknown kind, and was left out)")
		}
		result.Content = append(result.Content, content)
	}
	return result
}

// elicitFor puts questions of a server to the user who made a call, under the server's name. In the stateless era the call
// would end with the question while the server's call waits, so the dialogue counts as closed.
func (s *Server) elicitFor(call context.Context, name string) Elicit {
	return func(ctx context.Context, message string, schema json.RawMessage) (string, json.RawMessage, error) {
		if !s.canAsk(call) || server.IsModernRequest(call) {
			return string(mcp.ElicitationResponseActionCancel), nil, nil
		}
		asking, cancel := context.WithTimeout(call, askLongest)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		result, err := s.MCP.RequestElicitation(asking, mcp.ElicitationRequest{
			Request: mcp.Request{Method: string(mcp.MethodElicitationCreate)}, Params: mcp.ElicitationParams{
				Mode: mcp.ElicitationModeForm, Message: "Server " + name + " asks: " + message,
				RequestedSchema: json.RawMessage(cmp.Or(string(schema), `{"type":"object","properties":{}}`))}})
		if err != nil || result == nil || result.Action == "" {
			s.opts.Logger.Debug("a server's question was not answered", "server", name, "error", err)
			return string(mcp.ElicitationResponseActionCancel), nil, nil
		}
		var content json.RawMessage
		if result.Content != nil {
			content, err = json.Marshal(result.Content)
		}
		return string(result.Action), content, err
	}
}
