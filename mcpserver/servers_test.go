package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// shelf is a set of other servers with tools that a test defines.
type shelf struct {
	mu      sync.Mutex
	tools   []toolbox.RemoteTool
	unheard bool
	refresh func(context.Context) error
	hub     broadcast.Hub
}

func (s *shelf) Tools() []toolbox.RemoteTool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}

func (s *shelf) Known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.unheard
}

func (s *shelf) Missing(name string) string {
	if strings.HasPrefix(name, "zoo__") && !s.Known() {
		return "the server zoo is starting"
	}
	return ""
}

func (s *shelf) Refresh(ctx context.Context) error {
	if s.refresh != nil {
		return s.refresh(ctx)
	}
	return nil
}

func (s *shelf) Changed(ctx context.Context) <-chan struct{} { return s.hub.Listen(ctx) }

func (s *shelf) set(tools ...toolbox.RemoteTool) {
	s.mu.Lock()
	s.tools, s.unheard = tools, false
	s.mu.Unlock()
	s.hub.Notify()
}

type invoke = func(context.Context, json.RawMessage, toolbox.RemoteClient) (toolbox.RemoteResult, error)

// answering answers with a text.
func answering(text string) toolbox.RemoteResult {
	content, _ := json.Marshal(map[string]string{"type": "text", "text": text})
	return toolbox.RemoteResult{Content: []json.RawMessage{content}}
}

// echo answers with the arguments.
func echo(_ context.Context, arguments json.RawMessage, _ toolbox.RemoteClient) (toolbox.RemoteResult, error) {
	return answering(string(arguments)), nil
}

func reads(name string, call invoke) toolbox.RemoteTool {
	server, _, _ := strings.Cut(name, "__")
	return toolbox.RemoteTool{Server: server, ReadOnlyPhase: true, Invoke: call, Tool: toolbox.Tool{
		Foreign: true,
		Spec:    toolbox.Spec{Name: name, Title: "Its title", Description: "What it does.", ReadOnly: true},
		Schema:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
}

func writes(name string, call invoke) toolbox.RemoteTool {
	tool := reads(name, call)
	tool.ReadOnlyPhase, tool.ReadOnly, tool.Destructive = false, false, true
	return tool
}

// newServersWorld returns a world with other servers and the restrictions of planning mode.
func newServersWorld(t testing.TB, others *shelf, change ...func(*mcpserver.Options)) modeWorld {
	t.Helper()
	var w modeWorld
	w = newModeWorld(t, plan.Limits{}, append(change, func(o *mcpserver.Options) {
		o.Servers = others
		o.GuardChange = func(ctx context.Context, cause error) (context.Context, func(), error) {
			wall := toolbox.Wall{Changed: w.service.Watch, Guard: func(ctx context.Context, _ string) (toolbox.Hold, error) {
				restricted, err := w.service.Restricted(ctx)
				if restricted {
					return toolbox.Hold{By: "planning mode"}, err
				}
				return toolbox.Hold{}, err
			}}
			free, hold, stop, err := wall.Free(ctx, cause)
			if err == nil && hold.By != "" {
				stop()
				err = plan.Refuse(plan.Conflict, "", hold.By+" is on", "submit a plan")
			}
			return free, stop, err
		}
	})...)
	return w
}

// TestOtherServersAreListed lists their tools after planloop's own, in their order, marked with their server; in a
// read-only phase only the allowed ones.
func TestOtherServersAreListed(t *testing.T) {
	for _, era := range bothEras() {
		t.Run(era, func(t *testing.T) {
			others := &shelf{tools: []toolbox.RemoteTool{writes("zoo__feed", echo), reads("zoo__look", echo), reads("ant__look", echo)}}
			w := newServersWorld(t, others)
			client := w.connect(t, era, nil)
			own := listed(t, newModeWorld(t, plan.Limits{}).connect(t, era, nil))
			if diff := cmp.Diff(append(own, "zoo__feed", "zoo__look", "ant__look"), listed(t, client)); diff != "" {
				t.Error(diff)
			}
			list, err := client.ListTools(t.Context(), nil)
			testenv.Check(t, err)
			tool := list.Tools[len(list.Tools)-3]
			if tool.Title != "zoo: Its title" || tool.Description != "[server zoo] What it does." || tool.Annotations.ReadOnlyHint ||
				!strings.Contains(fmt.Sprint(tool.InputSchema), "path") {
				t.Errorf("%+v", tool)
			}
			entered := text(t, call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"}))
			if !strings.Contains(entered, ", zoo__feed.") {
				t.Error(entered)
			}
			names := strings.Join(listed(t, client), " ")
			if !strings.HasSuffix(names, " zoo__look ant__look") || strings.Contains(names, "zoo__feed") {
				t.Error(names)
			}
			if got := text(t, call(t, client, "ant__look", map[string]any{"path": "a"})); got != `{"path":"a"}` {
				t.Error(got)
			}
			refused := call(t, client, "zoo__feed", map[string]any{})
			if got := text(t, refused); !refused.IsError ||
				!strings.HasPrefix(got, "Nothing was changed. conflict: planning mode is on") || !strings.Contains(got, "\nNext: ") {
				t.Error(got)
			}
		})
	}
}

// TestOtherServersToolsets offers their tools if the toolset includes them, and otherwise gives the reason.
func TestOtherServersToolsets(t *testing.T) {
	for toolsets, offered := range map[string]bool{"planning": false, "planning loop mode workspace": false, "planning servers": true,
		"execution": true, "servers": true} {
		w := newServersWorld(t, &shelf{tools: []toolbox.RemoteTool{reads("zoo__look", echo)}},
			func(o *mcpserver.Options) { o.Toolsets = strings.Fields(toolsets) })
		client := w.connect(t, handshake, nil)
		if got := strings.Contains(strings.Join(listed(t, client), " "), "zoo__look"); got != offered {
			t.Errorf("%s: listed %v", toolsets, got)
		}
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "zoo__look"})
		if offered != (err == nil) || err != nil && !strings.Contains(err.Error(), "toolset servers") {
			t.Errorf("%s: %v", toolsets, err)
		}
	}
}

// TestUnknownToolsOfServers suggests the tool that was probably meant.
func TestUnknownToolsOfServers(t *testing.T) {
	w := newServersWorld(t, &shelf{tools: []toolbox.RemoteTool{reads("zoo__look_around", echo)}})
	client := w.connect(t, handshake, nil)
	for _, name := range []string{"mcp__planloop__zoo__look_around", "zoo__lok_around", "look_around", "tool-of-another-server"} {
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		if err == nil || !strings.Contains(err.Error(), ", zoo__look_around") ||
			name != "tool-of-another-server" && !strings.Contains(err.Error(), "did you mean zoo__look_around?") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOtherServersChange notifies clients when the list has changed, and only then.
func TestOtherServersChange(t *testing.T) {
	others := &shelf{tools: []toolbox.RemoteTool{reads("zoo__look", echo)}}
	w := newServersWorld(t, others)
	told := make(chan struct{}, 9)
	client := w.connect(t, handshake, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
		told <- struct{}{}
	}})
	stream := w.wire(t)
	stream.send(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{%s,"notifications":{"toolsListChanged":true}}}`, meta)
	stream.until("notifications/subscriptions/acknowledged")
	listed(t, client)
	others.set(reads("zoo__look", echo)) // no change
	others.set(reads("zoo__look", echo), reads("zoo__more", echo))
	<-told
	stream.until("notifications/tools/list_changed", `"io.modelcontextprotocol/subscriptionId":"s"`)
	if names := strings.Join(listed(t, client), " "); !strings.HasSuffix(names, " zoo__look zoo__more") {
		t.Error(names)
	}
	others.set()
	<-told
	stream.until("notifications/tools/list_changed")
	stream.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{%s,"requestId":"s"}}`, meta)
	stream.send(`{"jsonrpc":"2.0","id":"after","method":"ping","params":{%s}}`, meta)
	if got := stream.until(`"id":`); !strings.Contains(got, `"id":"after"`) || len(told) > 0 {
		t.Errorf("told more often than it changed: %d, %s", len(told), got)
	}
}

// TestServersThatWereNeverHeardOf: the first list waits for them, at most three seconds.
func TestServersThatWereNeverHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		others := &shelf{unheard: true, refresh: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		client := newServersWorld(t, others).connect(t, handshake, nil)
		for _, want := range []time.Duration{3 * time.Second, 0} {
			begin := time.Now()
			listed(t, client)
			if waited := time.Since(begin); waited != want {
				t.Errorf("waited %v, want %v", waited, want)
			}
		}
		begin := time.Now()
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "zoo__look"})
		if err == nil || !strings.Contains(err.Error(), "'zoo__look' is unavailable: the server zoo is starting") ||
			time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		begin = time.Now()
		if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "ant__look"}); err == nil || time.Since(begin) != 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		others := &shelf{unheard: true}
		others.refresh = func(context.Context) error {
			time.Sleep(20 * time.Second)
			others.set(reads("zoo__look", echo))
			return nil
		}
		client := newServersWorld(t, others).connect(t, handshake, nil)
		begin := time.Now()
		if got := text(t, call(t, client, "zoo__look", map[string]any{})); got != "{}" { // before any list
			t.Error(got)
		}
		if waited := time.Since(begin); waited > 21*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// TestOtherServersResults passes on a server's answers, including errors.
func TestOtherServersResults(t *testing.T) {
	image := json.RawMessage(`{"type":"image","data":"aGk=","mimeType":"image/png"}`)
	w := newServersWorld(t, &shelf{tools: []toolbox.RemoteTool{
		reads("zoo__all", func(context.Context, json.RawMessage, toolbox.RemoteClient) (toolbox.RemoteResult, error) {
			return toolbox.RemoteResult{Content: append(answering("hello").Content, image, json.RawMessage(`{"type":"smell"}`)),
				Structured: json.RawMessage(`{"n":9007199254740993}`)}, nil
		}),
		reads("zoo__fails", func(context.Context, json.RawMessage, toolbox.RemoteClient) (toolbox.RemoteResult, error) {
			result := answering("no such animal")
			result.IsError = true
			return result, nil
		}),
		reads("zoo__dies", func(context.Context, json.RawMessage, toolbox.RemoteClient) (toolbox.RemoteResult, error) {
			return toolbox.RemoteResult{}, errors.New("the server zoo has ended")
		})}})
	for _, era := range bothEras() {
		client := w.connect(t, era, nil)
		all := call(t, client, "zoo__all", map[string]any{})
		if data, _ := json.Marshal(all); !strings.Contains(string(data), `"aGk="`) || len(all.Content) != 3 ||
			!strings.Contains(string(data), "was left out") || !strings.Contains(string(data), `"n":900719925474099`) {
			t.Errorf("%s", data)
		}
		if fails := call(t, client, "zoo__fails", map[string]any{}); !fails.IsError || text(t, fails) != "no such animal" {
			t.Errorf("%+v", fails)
		}
		if dies := call(t, client, "zoo__dies", map[string]any{}); !dies.IsError || text(t, dies) != "the server zoo has ended" {
			t.Errorf("%+v", dies)
		}
	}
}

// TestOtherServersAsk shows a server's question to the user under the server's name, and returns the response. If
// the user cannot be asked, the dialog counts as closed.
func TestOtherServersAsk(t *testing.T) {
	asks := func(ctx context.Context, _ json.RawMessage, client toolbox.RemoteClient) (toolbox.RemoteResult, error) {
		var told strings.Builder
		for _, question := range []string{"Which animal?", "Approve this plan?"} {
			action, content, err := client.Elicit(ctx, question, json.RawMessage(`{"type":"object"}`))
			if err != nil {
				return toolbox.RemoteResult{}, err
			}
			fmt.Fprintf(&told, "%s%s;", action, content)
		}
		return answering(told.String()), nil
	}
	for _, era := range bothEras() {
		var mu sync.Mutex
		var messages []string
		users := map[string]*mcp.ClientOptions{
			`accept{"name":"ant"};decline;`: userWho(func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				mu.Lock()
				defer mu.Unlock()
				messages = append(messages, r.Params.Message)
				if strings.Contains(r.Params.Message, "Approve") {
					return &mcp.ElicitResult{Action: "decline"}, nil
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ant"}}, nil
			}),
			"cancel;cancel;": nil,
		}
		for want, user := range users {
			w := newServersWorld(t, &shelf{tools: []toolbox.RemoteTool{writes("zoo__asks", asks)}})
			client := w.connect(t, era, user)
			if got := text(t, call(t, client, "zoo__asks", map[string]any{"a": 1})); got != want {
				t.Errorf("%s: %s, want %s", era, got, want)
			}
		}
		if diff := cmp.Diff([]string{"Server zoo asks: Which animal?", "Server zoo asks: Approve this plan?"}, messages); diff != "" {
			t.Errorf("%s: %s", era, diff)
		}
		w := newServersWorld(t, &shelf{tools: []toolbox.RemoteTool{writes("zoo__asks", asks)}},
			func(o *mcpserver.Options) { o.AgentControlled = func(context.Context) bool { return true } })
		if got := text(t, call(t, w.connect(t, era, says("accept", nil)), "zoo__asks", nil)); got != "cancel;cancel;" {
			t.Errorf("%s, unheard: %s", era, got)
		}
	}
}

// TestServersQuestionIsBound: an answer counts once, and only for the call in which the question was asked.
func TestServersQuestionIsBound(t *testing.T) {
	asks := func(ctx context.Context, _ json.RawMessage, client toolbox.RemoteClient) (toolbox.RemoteResult, error) {
		action, content, err := client.Elicit(ctx, "Which?", nil)
		return answering(action + string(content)), err
	}
	w := newServersWorld(t, &shelf{tools: []toolbox.RemoteTool{writes("zoo__asks", asks), writes("zoo__other", asks)}})
	client := w.byHand(t)
	begun := call(t, client, "zoo__asks", map[string]any{"a": 1})
	if !begun.NeedsInput() {
		t.Fatalf("%+v", begun)
	}
	answer := mcp.InputResponseMap{"server": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"which": "it"}}}
	again := func(tool string, arguments any, state string) *mcp.CallToolResult {
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments, RequestState: state,
			InputResponses: answer})
		testenv.Check(t, err)
		return result
	}
	for _, wrong := range []*mcp.CallToolResult{again("zoo__other", map[string]any{"a": 1}, begun.RequestState),
		again("zoo__asks", map[string]any{"a": 2}, begun.RequestState), again("zoo__asks", map[string]any{"a": 1}, "made up"),
		again("zoo__asks", map[string]any{"a": 1}, "")} {
		if !wrong.IsError || !strings.HasPrefix(text(t, wrong), "Nothing was done: ") {
			t.Errorf("%+v", wrong)
		}
	}
	if got := again("zoo__asks", map[string]any{"a": 1}, begun.RequestState); text(t, got) != `accept{"which":"it"}` {
		t.Errorf("%+v", got)
	}
	if got := again("zoo__asks", map[string]any{"a": 1}, begun.RequestState); !got.IsError {
		t.Errorf("twice: %+v", got)
	}
}

// TestCallsOfServersEnd when the client cancels, and when planning mode begins if they may write. Other calls
// continue.
func TestCallsOfServersEnd(t *testing.T) {
	for _, era := range bothEras() {
		begun, ended := make(chan struct{}, 1), make(chan error, 1)
		hangs := func(ctx context.Context, _ json.RawMessage, _ toolbox.RemoteClient) (toolbox.RemoteResult, error) {
			begun <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return toolbox.RemoteResult{}, ctx.Err()
		}
		w := newServersWorld(t, &shelf{tools: []toolbox.RemoteTool{writes("zoo__hangs", hangs), reads("zoo__waits", hangs)}})
		client := w.connect(t, era, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		if _, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "zoo__waits"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-ended
		answered := make(chan *mcp.CallToolResult, 1)
		go func() { answered <- call(t, client, "zoo__hangs", map[string]any{}) }()
		<-begun
		call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "planning mode started") {
			t.Error(err)
		}
		if result := <-answered; !result.IsError || !strings.HasPrefix(text(t, result), "Stopped: planning mode started") ||
			!strings.Contains(text(t, result), "\nNext: ") {
			t.Errorf("%+v", result)
		}
	}
}

// TestProgressOfServers passes progress on.
func TestProgressOfServers(t *testing.T) {
	for _, era := range bothEras() {
		told := make(chan *mcp.ProgressNotificationParams, 9)
		works := func(_ context.Context, _ json.RawMessage, client toolbox.RemoteClient) (toolbox.RemoteResult, error) {
			client.Progress(1.5, 3, "half")
			<-told
			return answering("done"), nil
		}
		w := newServersWorld(t, &shelf{tools: []toolbox.RemoteTool{reads("zoo__works", works)}})
		var got *mcp.ProgressNotificationParams
		client := w.connect(t, era, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
				got = n.Params
				told <- n.Params
			}})
		params := &mcp.CallToolParams{Name: "zoo__works"}
		params.SetProgressToken("p")
		if _, err := client.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		if got.Progress != 1.5 || got.Total != 3 || got.Message != "half" {
			t.Errorf("%+v", got)
		}
	}
}

// TestServersQuestionThatNobodyAnswers ends after ten minutes: for a client of the handshake revisions it then
// counts as closed, and the call of a stateless client that does not come back is ended.
func TestServersQuestionThatNobodyAnswers(t *testing.T) {
	for _, era := range bothEras() {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan string, 1)
			asks := func(ctx context.Context, _ json.RawMessage, client toolbox.RemoteClient) (toolbox.RemoteResult, error) {
				action, _, err := client.Elicit(ctx, "Which?", nil)
				ended <- action
				return answering(action), err
			}
			w := newServersWorld(t, &shelf{tools: []toolbox.RemoteTool{writes("zoo__asks", asks)}})
			gone := make(chan struct{})
			defer close(gone)
			client, want := w.byHand, ""
			if era == handshake {
				want = "cancel"
				client = func(t *testing.T) *mcp.ClientSession {
					return w.connect(t, era, userWho(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						<-gone
						return nil, errors.New("gone")
					}))
				}
			}
			begin := time.Now()
			call(t, client(t), "zoo__asks", map[string]any{})
			if action := <-ended; action != want || time.Since(begin).Round(time.Second) != 10*time.Minute {
				t.Errorf("%s: %q after %v", era, action, time.Since(begin))
			}
		})
	}
}
