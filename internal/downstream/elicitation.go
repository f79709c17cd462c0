package downstream

import (
	"context"
	"encoding/json"
	"time"

	strictjson "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

const (
	questionTimeout = 30 * time.Minute // to wait for a person
	maxQuestion     = 2_000            // characters of a message
	maxForm         = 64 << 10         // bytes of a schema
)

// ask passes a server's question to the user of the call. The SDK names that call in the stateless
// era only. In the older one it must be the only open tool call, because another call's user must not see the
// question.
func (c *conn) ask(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	closed := &mcp.ElicitResult{Action: "cancel"}
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	default:
		return closed, nil
	}
	of, _ := ctx.Value(callKey{}).(*call)
	if of == nil {
		of = c.onlyToolCall()
	}
	if of == nil {
		return closed, nil
	}
	schema, err := json.Marshal(r.Params.RequestedSchema)
	if err != nil || r.Params.Mode == "url" || len(schema) > maxForm {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "planloop shows only forms of up to 64 KiB"}
	}
	if of.Elicit == nil {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	if schema, err = printableSchema(schema); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	defer of.pauseClocks()()
	ctx, cancel := context.WithTimeout(of.ctx, questionTimeout)
	defer cancel()
	action, content, err := of.Elicit(ctx, safetext.Replace(plan.Shorten(r.Params.Message, maxQuestion)), schema)
	result := &mcp.ElicitResult{Action: action}
	switch {
	case err != nil, action != "accept" && action != "decline":
		return closed, nil
	case action == "accept" && len(content) > 0 && strictjson.Unmarshal(content, &result.Content) != nil:
		return closed, nil
	}
	return result, nil
}

// onlyToolCall returns the open tool call if it is the only one.
func (c *conn) onlyToolCall() (found *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.calls {
		if one.tool == "" {
			continue
		}
		if found != nil {
			return nil
		}
		found = one
	}
	return found
}
