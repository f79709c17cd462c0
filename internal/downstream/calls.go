package downstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	strictjson "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// maxCallTime limits a call that shows signs of life.
const maxCallTime = 10 * time.Minute

// called is a result as received.
type called struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"`
	IsError    bool              `json:"isError"`
}

// printable makes a result safe to print.
func (r called) printable() toolbox.RemoteResult {
	shown := toolbox.RemoteResult{IsError: r.IsError}
	for _, raw := range r.Content {
		shown.Content = append(shown.Content, safetext.EscapeStrings(raw))
	}
	if r.Structured != nil && string(r.Structured) != "null" {
		shown.Structured = safetext.EscapeStrings(r.Structured)
	}
	return shown
}

// call calls a tool if its definition is unchanged. If the connection fails before anything was sent, the
// server is started or greeted once more.
func (s *server) call(ctx context.Context, own, definition string, args json.RawMessage,
	h toolbox.RemoteClient) (result called, err error) {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	for range 2 {
		var c *conn
		if c, err = s.ready(ctx); err != nil {
			return result, err
		}
		if !s.defines(own, definition) {
			return result, c.fail("has changed or removed %s since it was listed; nothing was sent: list the tools again",
				c.excerpt(own))
		}
		result, err = s.callTool(ctx, c, own, args, h)
		var failed *Error
		if !errors.As(err, &failed) || failed.Sent || ctx.Err() != nil || c.failure() == nil {
			break
		}
	}
	return result, err
}

func (s *server) callTool(ctx context.Context, c *conn, own string, args json.RawMessage,
	h toolbox.RemoteClient) (result called, err error) {
	one := &call{RemoteClient: h, method: "tools/call", tool: own, maxIdle: s.settings.idle(), maxTime: maxCallTime}
	text, err := c.request(ctx, one, func(ctx context.Context) error {
		params := &mcp.CallToolParams{Name: own, Arguments: args}
		params.SetProgressToken(one.token)
		_, err := c.session.CallTool(ctx, params)
		return err
	})
	if err != nil {
		return result, err
	}
	s.mu.Lock()
	s.hasAnswered = true
	s.mu.Unlock()
	if err = strictjson.Unmarshal(text, &result); err != nil {
		failed := c.fail("answered with text that is not a tool result")
		failed.Sent, failed.Answered = true, true
		return result, failed
	}
	return result, nil
}

// run makes a call for a step of a plan.
func (s *server) run(ctx context.Context, own, definition string, args json.RawMessage, w toolbox.Watch) (toolbox.Outcome, error) {
	h := toolbox.RemoteClient{}
	if w.Progress != nil {
		h.Progress = func(done, total float64, message string) {
			percent := 0.0
			if total > 0 {
				percent = math.Min(math.Max(100*done/total, 0), 100)
			}
			w.Progress(int(percent), message)
		}
	}
	came, err := s.call(ctx, own, definition, args, h)
	var failed *Error
	switch {
	case err == nil:
	case ctx.Err() != nil || !errors.As(err, &failed):
		return toolbox.Outcome{}, err
	default:
		return toolbox.Outcome{Error: err.Error(), Text: err.Error(), Transient: failed.Transient(), TimedOut: failed.TimedOut,
			Cut: failed.Sent && !failed.Answered}, nil
	}
	return came.outcome(), nil
}

// outcome converts the result for a step. Its value is the structured content, else the text.
func (r called) outcome() toolbox.Outcome {
	shown := r.printable()
	out := toolbox.Outcome{OK: !r.IsError, Text: cmp.Or(shown.Text(), string(shown.Structured)), Value: r.Structured}
	if shown.Structured == nil {
		out.Value, _ = strictjson.Marshal(toolbox.RemoteResult{Content: r.Content}.Text()) // decoded text always encodes
	}
	if r.IsError {
		out.Error = cmp.Or(out.Text, "the tool reports that it failed, without a reason")
	}
	return out
}

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
	if of = cmp.Or(of, c.onlyToolCall()); of == nil {
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
