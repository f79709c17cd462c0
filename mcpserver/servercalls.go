package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// relayName is the internal tool that receives calls of other servers' tools. It is never listed, and a
// client that calls it by name gets the error for an unknown tool.
const relayName = "tool-of-another-server"

// route sends calls of other servers' tools to relay, and explains unknown tool names.
func (s *Server) route(ctx context.Context, id any, request *mcp.CallToolRequest) {
	name := request.Params.Name
	if slices.Contains(s.offered, name) || s.offersApp(ctx, name) {
		return
	}
	if s.otherTools != nil {
		_, _ = s.service(ctx) // the servers belong to its workspace; the call itself reports an error
	}
	tool, known := s.serverTool(name)
	if !known && s.otherTools != nil && s.otherTools.Missing(name) != "" {
		s.waitForRefresh(ctx, s.refresh(), callWait) // the server may not have listed its tools yet
		tool, known = s.serverTool(name)
	}
	if known {
		request.Params.Name, request.Params.Arguments = relayName, tool // of a type that clients cannot send
		return
	}
	s.explainUnknown(ctx, id, request)
}

func (s *Server) relay(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	tool, ok := request.Params.Arguments.(toolbox.RemoteTool)
	if !ok {
		return nil, server.ErrToolNotFound
	}
	service, err := s.service(ctx)
	if err != nil {
		return mcp.NewToolResultError(s.internalError(tool.Name, err)), nil
	}
	caller := s.caller(ctx, service) // marks the connection as alive
	s.opts.Yield(ctx)
	report := s.progress(ctx, request)
	defer report.settle(ctx)
	call := relayedCall{Tool: tool.Name, Arguments: Fingerprint(request.Params.RawArguments), Actor: caller.Actor.Name}
	if !isResumed(request) {
		row := verbs.Row{Spec: verbs.Spec{Name: tool.Name}}
		r := &serverCall{toolCall: toolCall{s, row, request, service, caller}, tool: tool, call: call,
			asks: make(chan *serverAsk), ended: make(chan struct{})}
		r.progress.Store(report)
		r.begin(ctx)
		return r.wait(ctx), nil
	}
	r, err := s.pending.take(s, call, request.Params)
	if err != nil {
		return mcp.NewToolResultError("Nothing was done: " + err.Error() + ". Call " + tool.Name + " again without the answer."), nil
	}
	r.progress.Store(report)
	return r.wait(ctx), nil
}

// serverCall is a call of another server's tool. The server may ask the user during the call. A client of the
// handshake revisions is asked while its call waits. In the stateless protocol the client's call ends with
// the question, and the call to the server stays open until the client calls again with the answer.
type serverCall struct {
	toolCall
	tool     toolbox.RemoteTool
	call     relayedCall
	asks     chan *serverAsk
	progress atomic.Pointer[progress] // of the client's current call
	cancel   context.CancelFunc
	ended    chan struct{} // closed when outcome is set
	outcome  *mcp.CallToolResult
}

// serverAsk is another server's question to the user.
type serverAsk struct {
	ctx     context.Context // ends with the call
	message string
	schema  json.RawMessage
	answer  chan serverAnswer // buffered
}

// serverAnswer is the user's response to a question.
type serverAnswer struct {
	action  mcp.ElicitationResponseAction
	content json.RawMessage
}

// begin calls the server in the background. The call ends with its result, when this server closes, or on
// cancel.
func (r *serverCall) begin(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.background(func(life context.Context) {
		defer close(r.ended)
		defer r.cancel()
		defer context.AfterFunc(life, r.cancel)()
		r.outcome = r.run(ctx)
	})
}

// ErrPlanningMode is the cause that ends a call when planning mode forbids changes.
var ErrPlanningMode = errors.New("planning mode started, and tools may only read")

func (r *serverCall) run(ctx context.Context) *mcp.CallToolResult {
	free := ctx
	if !r.tool.ReadOnlyPhase && r.opts.GuardChange != nil {
		held, stop, err := r.opts.GuardChange(ctx, ErrPlanningMode)
		if err != nil {
			return r.result(ctx, nil, err)
		}
		defer stop()
		free = held
	}
	report := func(done, total float64, message string) { r.progress.Load().tell(done, total, message) }
	result, err := r.tool.Invoke(free, r.request.Params.RawArguments, toolbox.RemoteClient{Elicit: r.elicit, Progress: report})
	switch {
	case errors.Is(context.Cause(free), ErrPlanningMode):
		return mcp.NewToolResultError("Stopped: " + ErrPlanningMode.Error() + ". It is unknown how much took effect." +
			r.nextLine(ctx))
	case errors.As(err, new(*plan.ValidationError)):
		return r.result(ctx, nil, err)
	case err != nil:
		return mcp.NewToolResultError(err.Error())
	}
	return toolResult(result)
}

func toolResult(r toolbox.RemoteResult) *mcp.CallToolResult {
	result := &mcp.CallToolResult{IsError: r.IsError, RawStructuredContent: r.Structured, Content: []mcp.Content{}}
	for _, raw := range r.Content {
		content, err := mcp.UnmarshalContent(raw)
		if err != nil {
			content = mcp.NewTextContent("(a part of the answer has an unknown type and was left out)")
		}
		result.Content = append(result.Content, content)
	}
	return result
}

// wait makes a client's call wait for the result, or for a question to its user.
func (r *serverCall) wait(ctx context.Context) *mcp.CallToolResult {
	for {
		select {
		case <-r.ended:
			return r.outcome
		case <-ctx.Done():
			r.cancel()
			return mcp.NewToolResultError("The call was cancelled.") // which reaches no one
		case ask := <-r.asks:
			switch {
			case !r.canAsk(ctx):
				ask.answer <- serverAnswer{action: mcp.ElicitationResponseActionCancel}
			case !server.IsModernRequest(ctx):
				ask.answer <- r.elicitNow(ctx, ask)
			default:
				if result := r.inputRequired(ask); result != nil {
					return result
				}
				ask.answer <- serverAnswer{action: mcp.ElicitationResponseActionCancel}
			}
		}
	}
}

// elicit asks the client's user and waits for the response.
func (r *serverCall) elicit(ctx context.Context, message string, schema json.RawMessage) (string, json.RawMessage, error) {
	ask := &serverAsk{ctx: ctx, message: message, schema: schema, answer: make(chan serverAnswer, 1)}
	select {
	case r.asks <- ask:
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
	select {
	case a := <-ask.answer:
		return string(a.action), a.content, nil
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
}

// form returns the form for the host. It names the server that asks.
func (r *serverCall) form(ask *serverAsk) mcp.ElicitationParams {
	schema := json.RawMessage(cmp.Or(string(ask.schema), `{"type":"object","properties":{}}`))
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, RequestedSchema: schema,
		Message: "Server " + r.tool.Server + " asks: " + safetext.AfterLabel(ask.message)}
}

func (r *serverCall) elicitNow(ctx context.Context, ask *serverAsk) serverAnswer {
	ctx, cancel := context.WithTimeout(ctx, maxAskTime)
	defer cancel()
	defer context.AfterFunc(ask.ctx, cancel)()
	result, err := r.MCP.RequestElicitation(ctx, mcp.ElicitationRequest{
		Request: mcp.Request{Method: string(mcp.MethodElicitationCreate)}, Params: r.form(ask)})
	if err != nil {
		r.opts.Logger.Debug("a server's question was not answered", "server", r.tool.Server, "error", err)
		result = nil
	}
	return answerOf(result)
}

// answerOf converts the response to a question. A missing response counts as a closed dialog.
func answerOf(result *mcp.ElicitationResult) serverAnswer {
	if result == nil || result.Action == "" {
		return serverAnswer{action: mcp.ElicitationResponseActionCancel}
	}
	a := serverAnswer{action: result.Action}
	if content, err := json.Marshal(result.Content); err == nil && result.Content != nil {
		a.content = content
	}
	return a
}

// relayedCall is the sealed state of a call that waits for the client's answer.
type relayedCall struct {
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"` // fingerprint
	Actor     string    `json:"actor"`
	Expires   time.Time `json:"expires"`
	Question  string    `json:"question"`
}

const (
	serverAskKey     = "server" // key of the only question in a request for input
	serverAskPurpose = "server's question"
	maxWaiting       = 64       // calls that may wait for an answer at a time
	maxRelayed       = 64 << 10 // bytes of sealed state
)

// inputRequired ends a stateless call with the question. It returns nil if that is impossible.
func (r *serverCall) inputRequired(ask *serverAsk) *mcp.CallToolResult {
	now := r.call
	now.Question, now.Expires = rand.Text(), time.Now().Add(maxAskTime)
	state, err := r.sealer.SealAs(serverAskPurpose, now)
	if err != nil || !r.pending.put(now.Question, r, ask) {
		return nil
	}
	r.progress.Store(&progress{}) // no progress is sent until the client calls again
	return server.NewInputRequestBuilder(state).Elicit(serverAskKey, r.form(ask)).ToolResult()
}

// pendingCalls holds the calls of other servers' tools that wait for the client's next call.
type pendingCalls struct {
	mu    sync.Mutex
	calls map[string]pendingCall
}

// pendingCall is a waiting call and the timer that cancels it.
type pendingCall struct {
	*serverCall
	ask   *serverAsk
	timer *time.Timer
}

func (w *pendingCalls) put(id string, r *serverCall, ask *serverAsk) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) >= maxWaiting {
		return false
	}
	if w.calls == nil {
		w.calls = map[string]pendingCall{}
	}
	w.calls[id] = pendingCall{r, ask, time.AfterFunc(maxAskTime, func() {
		w.remove(id)
		r.cancel()
	})}
	return true
}

func (w *pendingCalls) remove(id string) (pendingCall, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	call, ok := w.calls[id]
	delete(w.calls, id)
	return call, ok
}

var errNoQuestion = errors.New("the answered question is not open, or belongs to another call")

// take passes the client's answer to the server that waits for it.
func (w *pendingCalls) take(s *Server, call relayedCall, params mcp.CallToolParams) (*serverCall, error) {
	var state relayedCall
	err := s.sealer.UnsealAs(serverAskPurpose, params.RequestState, maxRelayed, &state)
	if err != nil || state.Tool != call.Tool || state.Arguments != call.Arguments || state.Actor != call.Actor ||
		!time.Now().Before(state.Expires) {
		return nil, errNoQuestion
	}
	r, ok := w.remove(state.Question)
	if !ok {
		return nil, errNoQuestion
	}
	r.timer.Stop()
	r.ask.answer <- answerOf(server.ElicitationResponse(params.InputResponses, serverAskKey))
	return r.serverCall, nil
}
