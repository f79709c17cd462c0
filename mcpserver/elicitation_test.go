package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/transport"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// petra is a person at a terminal.
var petra = verbs.Caller{Actor: plan.NewActor(plan.ChannelTerminal, "petra"), Face: terminal.CommandLine{}}

// modeWorld is a world that can ask its user in both eras.
type modeWorld struct {
	world
	t      testing.TB
	sealer *mcpserver.Sealer
}

func newModeWorld(t testing.TB, limits plan.Limits, change ...func(*mcpserver.Options)) modeWorld {
	t.Helper()
	sealer, err := mcpserver.NewSealer()
	testenv.Check(t, err)
	s := session.New(store.NewMemory(), session.Options{Limits: limits})
	service := verbs.New(s, verbs.Options{Limits: limits, Templates: recipes{}, Engine: toyEngine{s}})
	opts := mcpserver.Options{
		Version: "test", Strategy: prompts.React, User: terminal.CommandLine{}, Yield: transport.Yield,
		Sealer:  func() (*mcpserver.Sealer, error) { return sealer, nil },
		Service: func(context.Context, mcpserver.Roots, string) (*verbs.Service, error) { return service, nil },
		Actor:   func(client, _ string) plan.Actor { return plan.Actor{Kind: plan.Agent, Name: client} },
	}
	for _, c := range change {
		c(&opts)
	}
	server, err := mcpserver.New(opts)
	testenv.Check(t, err)
	t.Cleanup(func() {
		server.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return modeWorld{world{server: server, service: service}, t, sealer}
}

func (w modeWorld) state() plan.State {
	w.t.Helper()
	state, err := w.service.State(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return state
}

// events lists the log's events of a kind.
func events[E plan.Event](w modeWorld) []E {
	w.t.Helper()
	var found []E
	for record, err := range w.service.Records(context.Background(), 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		for _, event := range record.Events {
			if e, ok := event.(E); ok {
				found = append(found, e)
			}
		}
	}
	return found
}

func (w modeWorld) wantPhase(want plan.Phase) {
	w.t.Helper()
	if got := w.state().PhaseNow(); got != want {
		w.t.Errorf("the phase is %s, want %s", got, want)
	}
}

// decide records a person's decision, made at a terminal, on the waiting plan.
func (w modeWorld) decide(outcome plan.Outcome, comment string) {
	w.t.Helper()
	state := w.state()
	if state.Draft == nil {
		w.t.Fatal("nothing waits")
	}
	decision := plan.DecideDraft{Outcome: outcome, Request: state.ModeNow().Request.ID, Digest: plan.Digest(state.Draft), Comment: comment}
	if _, err := w.service.Decide(context.Background(), petra, decision); err != nil {
		w.t.Fatal(err)
	}
}

// goodPlan returns the arguments of a submission that passes the gates.
func goodPlan() map[string]any {
	return map[string]any{"summary": "Move the sessions to Redis.", "steps": []map[string]any{
		{"title": "Add the Redis client", "type": "feature", "risk": "low", "tools": []string{"create_file"},
			"context_hints": []string{"Read the module file"}, "relevant_file_paths": []string{"go.mod"}},
	}}
}

// userWho returns a client whose user answers questions with do.
func userWho(do func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: do}
}

// says returns a client whose user gives every form the same answer.
func says(action string, content map[string]any) *mcp.ClientOptions {
	return userWho(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: action, Content: content}, nil
	})
}

func bothEras() []string { return []string{handshake, stateless} }

// TestDecidedInTheDialogue shows a submitted plan to a client's user in both eras. Only an accepted form with a
// decision counts.
func TestDecidedInTheDialogue(t *testing.T) {
	const waits = "It waits for a person"
	for name, c := range map[string]struct {
		action  string
		content map[string]any
		phase   plan.Phase
		outcome plan.Outcome // "": no decision
		comment string
		how     string // recorded if there is no decision
		words   []string
	}{
		"approve": {"accept", map[string]any{"decision": "approve"}, plan.PhaseExecuting, plan.Approved, "", "",
			[]string{"The plan was approved by the user of tester, confirmed through the client."}},
		"approve with comment": {"accept", map[string]any{"decision": "approve", "comment": "tests first"}, plan.PhaseExecuting,
			plan.Approved, "tests first", "",
			[]string{"approved by the user of tester, confirmed through the client: tests first"}},
		"edit": {"accept", map[string]any{"decision": "edit", "comment": "split it"}, plan.PhaseGathering, plan.Returned, "split it", "",
			[]string{"returned for changes by the user of tester", "split it", "planning_submit_plan"}},
		"edit without a comment": {"accept",
			map[string]any{"decision": "edit", "comment": "  "}, plan.PhaseGathering, plan.Returned, "", "",
			[]string{"without a comment: ask the user what to change.", "\nNext: ", ": planning_ask_user."}},
		"reject": {"accept", map[string]any{"decision": "reject"}, plan.PhaseInactive, plan.Rejected, "", "",
			[]string{"rejected by the user of tester"}},
		"reject with reason": {"accept", map[string]any{"decision": "reject", "comment": "no Redis"}, plan.PhaseInactive,
			plan.Rejected, "no Redis", "", []string{"no Redis"}},
		"decline": {"decline", nil, plan.PhaseSubmitted, "", "", "declined", []string{verbs.NoDecision}},
		"decline, form filled": {"decline", map[string]any{"decision": "approve"}, plan.PhaseSubmitted, "", "", "declined",
			[]string{verbs.NoDecision}},
		"cancel": {"cancel", nil, plan.PhaseSubmitted, "", "", "cancelled", []string{verbs.NoDecision}},
		"accept nothing": {"accept", nil, plan.PhaseSubmitted, "", "", "invalid",
			[]string{"The user's form has no decision, so nothing was decided"}},
	} {
		for _, era := range bothEras() {
			t.Run(name+" "+era, func(t *testing.T) {
				w := newModeWorld(t, plan.Limits{})
				client := w.connect(t, era, says(c.action, c.content))
				call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
				result := call(t, client, "planning_submit_plan", goodPlan())
				w.wantPhase(c.phase)
				if result.IsError {
					t.Errorf("an error: %s", text(t, result))
				}
				for _, word := range c.words {
					if !strings.Contains(text(t, result), word) {
						t.Errorf("%q is missing in %s", word, text(t, result))
					}
				}
				if n := len(events[plan.PlanSubmitted](w)); n != 1 {
					t.Errorf("%d submissions", n)
				}
				if d := w.state().ModeNow().Decision; c.outcome == "" {
					if undecided := events[plan.NoDecisionReceived](w); d != nil || len(undecided) != 1 || undecided[0].How != c.how {
						t.Errorf("decided %+v, noted %+v", d, undecided)
					}
					if strings.Contains(text(t, result), "approved by") {
						t.Errorf("claims an approval: %s", text(t, result))
					}
				} else if d == nil || d.Outcome != c.outcome || d.Comment != c.comment || d.Way != plan.WayClient || d.By != "tester" {
					t.Errorf("the decision is %+v", d)
				}
				if c.outcome == "" && !strings.Contains(text(t, result), waits) {
					t.Errorf("does not say that it waits: %s", text(t, result))
				}
			})
		}
	}
}

// TestUndecidedIsAnsweredAsUnasked: a client whose user declines or closes a dialog gets the same reply as a client
// that cannot ask: score, warnings, plan id, and how to decide. Only the next action differs: stop, not wait.
func TestUndecidedIsAnsweredAsUnasked(t *testing.T) {
	approved := func(w modeWorld, client *mcp.ClientSession) { // a change of it needs a decision
		other := w.connect(w.t, handshake, nil)
		call(w.t, other, "planning_submit_plan", goodPlan())
		w.decide(plan.Approved, "")
		call(w.t, client, "planloop_status", map[string]any{})
	}
	nothing := func(modeWorld, *mcp.ClientSession) {}
	nextAction := regexp.MustCompile(`Next: .*|"next_action":"([^"\\]|\\.)*"`)
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		before    func(modeWorld, *mcp.ClientSession)
		words     []string
	}{
		{"planning_submit_plan", goodPlan(), nothing, []string{"Score 90.", "Warning: ", "`planloop approve` on a terminal"}},
		{"planning_ask_user", map[string]any{"question": "Which region?"}, nothing, []string{"Q1", "`planloop answer`"}},
		{"planloop_update", map[string]any{"update_tasks": []map[string]any{{"id": 1, "tools": []string{"create_file", "kubectl"}}}},
			approved, []string{"This is not in the approved plan: S001: other tools. It is proposed to the user; continue with ",
				"`planloop approve` on a terminal"}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			replies := map[string]string{}
			for name, opts := range map[string]*mcp.ClientOptions{"unasked": nil, "declined": says("decline", nil),
				"cancelled": says("cancel", nil)} {
				for _, era := range bothEras() {
					w := newModeWorld(t, plan.Limits{})
					client := w.connect(t, era, opts)
					c.before(w, client)
					result := call(t, client, c.tool, c.arguments)
					structured, err := json.Marshal(result.StructuredContent)
					if err != nil || result.IsError {
						t.Fatal(err, text(t, result))
					}
					id := regexp.MustCompile(`\d{10}`)
					reply := id.ReplaceAllString(text(t, result)+"\n"+string(structured), "SECONDS")
					if c.tool == "planning_submit_plan" && strings.Contains(reply, verbs.NoDecision) != (opts != nil) {
						t.Errorf("%s: an agent whose wait has ended must stop:\n%s", name, reply)
					}
					replies[nextAction.ReplaceAllString(reply, "NEXT")] += " " + name + " " + era
				}
			}
			for reply, whose := range replies {
				if len(replies) > 1 {
					t.Errorf("%s:\n%s", whose, reply)
				}
				for _, word := range c.words {
					if !strings.Contains(reply, word) {
						t.Errorf("%q is missing in %s", word, reply)
					}
				}
			}
		})
	}
}

// TestFormsOnlyWhereDeclared: a client that can open only URLs gets no form, in either era; one that declares no
// mode gets forms.
func TestFormsOnlyWhereDeclared(t *testing.T) {
	t.Parallel()
	arguments, err := json.Marshal(goodPlan())
	testenv.Check(t, err)
	for capability, form := range map[string]bool{`{}`: true, `{"form":{}}`: true, `{"form":{},"url":{}}`: true, `{"url":{}}`: false} {
		w := newModeWorld(t, plan.Limits{})
		c := w.wire(t)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":`+
			`{"elicitation":%s}},"name":"planning_submit_plan","arguments":%s}}`, capability, arguments)
		if got := c.until(`"id":1`); strings.Contains(got, "inputRequests") != form || strings.Contains(got, "Plan submitted") == form {
			t.Errorf("stateless, %s: %s", capability, got)
		}
		c = w.wire(t)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":%s},`+
			`"clientInfo":{"name":"raw","version":"1"}}}`, capability)
		c.until(`"id":1`, `"result"`)
		c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"planning_submit_plan","arguments":%s}}`, arguments)
		if got := c.until(`"id":`); strings.Contains(got, `"method":"elicitation/create"`) != form {
			t.Errorf("handshake, %s: %s", capability, got)
		}
	}
}

// TestDialogueShowsThePlanWhole: the question contains everything that the digest covers, and offers the three
// decisions.
func TestDialogueShowsThePlanWhole(t *testing.T) {
	for _, era := range bothEras() {
		w := newModeWorld(t, plan.Limits{})
		var shown []string
		var schema any
		client := w.connect(t, era, userWho(func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			shown, schema = append(shown, r.Params.Message), r.Params.RequestedSchema
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "edit", "comment": "longer"}}, nil
		}))
		call(t, client, "planning_submit_plan", goodPlan())
		second := goodPlan()
		second["summary"] = "Move the sessions to Valkey."
		call(t, client, "planning_submit_plan", second)
		if len(shown) != 2 {
			t.Fatalf("%s: asked %d times", era, len(shown))
		}
		for _, word := range []string{"Submitted by tester at 20", "\nRevision 1, plan ",
			"Plan: Move the sessions to Redis.", "S001 [low risk] Add the Redis client (tools: create_file)",
			"Read the module file", "\n   warning: It does not say how to verify the result.\n", "Approve this plan?"} {
			if !strings.Contains(shown[0], word) {
				t.Errorf("%s: %q is missing in\n%s", era, word, shown[0])
			}
		}
		form, ok := schema.(map[string]any)
		if !ok {
			t.Fatalf("%s: the form is %T", era, schema)
		}
		fields, _ := form["properties"].(map[string]any)
		decision, _ := fields["decision"].(map[string]any)
		if choice, _ := decision["enum"].([]any); !slices.Equal(choice, []any{"approve", "edit", "reject"}) || fields["comment"] == nil {
			t.Errorf("%s: the form is %v", era, form)
		}
	}
}

// TestClientWithoutDialogues gets the plain answer at once. The person decides at a terminal, and a waiting status
// call returns the decision.
func TestClientWithoutDialogues(t *testing.T) {
	for _, era := range bothEras() {
		w := newModeWorld(t, plan.Limits{})
		client := w.connect(t, era, nil)
		result := call(t, client, "planning_submit_plan", goodPlan())
		if result.IsError || !strings.Contains(text(t, result), "planloop approve") {
			t.Errorf("%s: %s", era, text(t, result))
		}
		if undecided := events[plan.NoDecisionReceived](w); len(undecided) != 1 || undecided[0].How != "unsupported" {
			t.Errorf("%s: noted %+v", era, undecided)
		}
		call(t, client, "planloop_status", map[string]any{})
		w.decide(plan.Approved, "go ahead")
		status := text(t, call(t, client, "planloop_status", map[string]any{"wait": 30}))
		for _, word := range []string{"The plan was approved by petra: go ahead", "<approved_plan>", "S001"} {
			if !strings.Contains(status, word) {
				t.Errorf("%s: %q is missing in %s", era, word, status)
			}
		}
	}
}

// TestClientThatFails answers a question with an error.
func TestClientThatFails(t *testing.T) {
	fails := userWho(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return nil, errors.New("no window")
	})
	w := newModeWorld(t, plan.Limits{})
	result := call(t, w.connect(t, handshake, fails), "planning_submit_plan", goodPlan())
	if result.IsError || !strings.Contains(text(t, result), "It waits for a person") {
		t.Errorf("%s", text(t, result))
	}
	if undecided := events[plan.NoDecisionReceived](w); len(undecided) != 1 || undecided[0].How != "failed" {
		t.Errorf("noted %+v", undecided)
	}
	w.wantPhase(plan.PhaseSubmitted)

	w = newModeWorld(t, plan.Limits{}) // a stateless client never comes back
	client := w.connect(t, stateless, fails)
	if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "planning_submit_plan", Arguments: goodPlan()}); err == nil {
		t.Error("the client did not fail")
	}
	w.wantPhase(plan.PhaseSubmitted)
	w.decide(plan.Approved, "")
	if got := text(t, call(t, client, "planloop_status", map[string]any{})); !strings.Contains(got, "approved by petra") {
		t.Error(got)
	}
}

// TestClientThatNeverAnswers is waited for ten minutes. Other calls on the same connection continue.
func TestClientThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newModeWorld(t, plan.Limits{})
		asked, gone := make(chan struct{}), make(chan struct{})
		defer close(gone)
		client := w.connect(t, handshake, userWho(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(asked)
			<-gone
			return nil, errors.New("gone")
		}))
		begin := time.Now()
		answered := make(chan *mcp.CallToolResult, 1)
		go func() { answered <- call(t, client, "planning_submit_plan", goodPlan()) }()
		<-asked
		if got := text(t, call(t, client, "planloop_status", map[string]any{})); !strings.Contains(got, "awaiting_approval") {
			t.Error(got)
		}
		if waited := time.Since(begin); waited > time.Second {
			t.Errorf("the next call waited %v", waited)
		}
		result := <-answered
		if waited := time.Since(begin); waited != 10*time.Minute {
			t.Errorf("answered after %v", waited)
		}
		if result.IsError || !strings.Contains(text(t, result), "It waits for a person") {
			t.Errorf("%s", text(t, result))
		}
		if undecided := events[plan.NoDecisionReceived](w); len(undecided) != 1 || undecided[0].How != "timed_out" {
			t.Errorf("noted %+v", undecided)
		}
		w.wantPhase(plan.PhaseSubmitted)
	})
}

// TestDecidedElsewhereMeanwhile: a person decides at a terminal while the dialog is open. The call returns the
// current status, and a late answer in the dialog does not count.
func TestDecidedElsewhereMeanwhile(t *testing.T) {
	for _, c := range []struct {
		outcome plan.Outcome
		phase   plan.Phase
		word    string
	}{
		{plan.Approved, plan.PhaseExecuting, "The plan was approved by petra"}, {plan.Rejected, plan.PhaseInactive,
			"The plan was rejected by petra"},
		{plan.Returned, plan.PhaseGathering, "The plan was returned for changes by petra"},
	} {
		for _, era := range bothEras() {
			t.Run(string(c.outcome)+" "+era, func(t *testing.T) {
				w := newModeWorld(t, plan.Limits{})
				asked, late := make(chan struct{}), make(chan struct{})
				client := w.connect(t, era, userWho(func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					close(asked)
					<-late
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "reject", "comment": "too late"}}, nil
				}))
				answered := make(chan *mcp.CallToolResult, 1)
				go func() { answered <- call(t, client, "planning_submit_plan", goodPlan()) }()
				<-asked
				w.decide(c.outcome, "as I said")
				if era == stateless {
					close(late) // the client must repeat the call
				}
				result := <-answered
				if era == handshake {
					close(late)
				}
				if result.IsError || !strings.Contains(text(t, result), c.word+" ") && !strings.Contains(text(t, result), c.word+":") ||
					strings.Contains(text(t, result), "too late") {
					t.Errorf("%s", text(t, result))
				}
				w.wantPhase(c.phase)
				if d := w.state().ModeNow().Decision; d == nil || d.By != "petra" || d.Way != plan.WayPerson || d.Comment != "as I said" {
					t.Errorf("decided %+v", d)
				}
				if n := len(events[plan.PlanSubmitted](w)); n != 1 {
					t.Errorf("%d submissions", n)
				}
			})
		}
	}
}

// TestResubmittedMeanwhile: another submission replaced the plan in the dialog; approving the old one approves
// nothing.
func TestResubmittedMeanwhile(t *testing.T) {
	for _, era := range bothEras() {
		t.Run(era, func(t *testing.T) {
			w := newModeWorld(t, plan.Limits{})
			other := w.connect(t, era, nil)
			var asks atomic.Int32
			resubmitted := make(chan struct{})
			client := w.connect(t, era, userWho(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				if asks.Add(1) == 1 {
					defer close(resubmitted)
					second := goodPlan()
					second["summary"] = "Delete everything."
					call(t, other, "planning_submit_plan", second)
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, nil
			}))
			result := call(t, client, "planning_submit_plan", goodPlan())
			<-resubmitted // the first call may end before the other is answered
			if got := text(t, result); !strings.Contains(got, "wait") {
				t.Errorf("%s", got)
			}
			w.wantPhase(plan.PhaseSubmitted)
			if state := w.state(); state.Draft == nil || state.Draft.Summary != "Delete everything." ||
				len(events[plan.PlanApproved](w)) != 0 {
				t.Errorf("approved: %+v", events[plan.PlanApproved](w))
			}
		})
	}
}

// TestPersonOnlyInTheDialogue: decisions through a client do not count, and the answer says how to decide.
func TestPersonOnlyInTheDialogue(t *testing.T) {
	for _, era := range bothEras() {
		for _, decision := range []string{"approve", "edit", "reject"} {
			w := newModeWorld(t, plan.Limits{PersonOnly: true})
			client := w.connect(t, era, says("accept", map[string]any{"decision": decision, "comment": "c"}))
			result := call(t, client, "planning_submit_plan", goodPlan())
			w.wantPhase(plan.PhaseSubmitted)
			if got := text(t, result); !strings.Contains(got, "terminal") {
				t.Errorf("%s %s: %s", era, decision, got)
			}
			told, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "plan_cancel"})
			if err != nil || !strings.Contains(told.Messages[0].Content.(*mcp.TextContent).Text, "Nothing was changed. conflict: only a "+
				"person's own decision is accepted here (approval: person); ask the user to decide on a terminal") {
				t.Errorf("%+v, %v", told, err)
			}
			w.wantPhase(plan.PhaseSubmitted)
			w.decide(plan.Approved, "")
			w.wantPhase(plan.PhaseExecuting)
		}
	}
}

// TestUnheardClient: a server that an agent's shell started asks no user through its client and ignores the
// client's forms and prompts, even if this is discovered only while the client answers.
func TestUnheardClient(t *testing.T) {
	for _, era := range bothEras() {
		for _, late := range []bool{false, true} {
			asked := false
			w := newModeWorld(t, plan.Limits{}, func(o *mcpserver.Options) {
				o.AgentControlled = func(context.Context) bool { return !late || asked }
			})
			client := w.connect(t, era, userWho(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked = true
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve", "answer": "yes"}}, nil
			}))
			call(t, client, "planning_submit_plan", goodPlan())
			w.wantPhase(plan.PhaseSubmitted)
			if asked != late {
				t.Errorf("%s: asked: %t", era, asked)
			}
			told, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "plan_cancel"})
			if err != nil || !strings.Contains(told.Messages[0].Content.(*mcp.TextContent).Text, "no person confirmed this decision") {
				t.Errorf("%+v, %v", told, err)
			}
			asked = false
			call(t, client, "planning_ask_user", map[string]any{"question": "Which one?"})
			if open := w.state().OpenQuestions(); asked != late || len(open) != 1 {
				t.Errorf("%s: asked: %t, open: %+v", era, asked, open)
			}
			w.wantPhase(plan.PhaseSubmitted)
		}
	}
}

// TestAskedInTheDialogue answers ask_user in the host's dialog.
func TestAskedInTheDialogue(t *testing.T) {
	for _, era := range bothEras() {
		w := newModeWorld(t, plan.Limits{})
		client := w.connect(t, era, userWho(func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.Message != "Which region?" {
				t.Errorf("asked %q", r.Params.Message)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "the EU"}}, nil
		}))
		result := call(t, client, "planning_ask_user", map[string]any{"question": "Which region?"})
		if result.IsError || !strings.Contains(text(t, result), "Question Q1 is answered: the EU") {
			t.Errorf("%s: %s", era, text(t, result))
		}
		questions := w.state().Questions
		if len(questions) != 1 || questions[0].Answer != "the EU" || questions[0].Way != plan.WayClient ||
			questions[0].AnsweredBy != "tester" {
			t.Errorf("%s: %+v", era, questions)
		}
	}
}

// TestAskedAndNotAnsweredInTheDialogue leaves the question open; the answer from a terminal comes with the next
// status.
func TestAskedAndNotAnsweredInTheDialogue(t *testing.T) {
	for name, opts := range map[string]*mcp.ClientOptions{
		"no dialogues": nil, "declined": says("decline", nil), "cancelled": says("cancel", nil),
		"blank": says("accept", map[string]any{"answer": " "}),
	} {
		for _, era := range bothEras() {
			t.Run(name+" "+era, func(t *testing.T) {
				w := newModeWorld(t, plan.Limits{})
				client := w.connect(t, era, opts)
				result := call(t, client, "planning_ask_user", map[string]any{"question": "Which region?"})
				if result.IsError {
					t.Errorf("%s", text(t, result))
				}
				if open := w.state().OpenQuestions(); len(open) != 1 {
					t.Fatalf("open: %+v", open)
				}
				if _, err := w.service.Answer(t.Context(), petra, "", "the EU"); err != nil {
					t.Fatal(err)
				}
				status := call(t, client, "planloop_status", map[string]any{"wait": 30})
				if got := text(t, status); !strings.Contains(got, `petra answered "Which region?": the EU`) {
					t.Errorf("%s", got)
				}
			})
		}
	}
}

// TestAnsweredElsewhereMeanwhile: the question is answered at a terminal while the dialog is open.
func TestAnsweredElsewhereMeanwhile(t *testing.T) {
	w := newModeWorld(t, plan.Limits{})
	asked, late := make(chan struct{}), make(chan struct{})
	client := w.connect(t, handshake, userWho(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(asked)
		<-late
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "the US"}}, nil
	}))
	answered := make(chan *mcp.CallToolResult, 1)
	go func() { answered <- call(t, client, "planning_ask_user", map[string]any{"question": "Which region?"}) }()
	<-asked
	if _, err := w.service.Answer(t.Context(), petra, "Q1", "the EU"); err != nil {
		t.Fatal(err)
	}
	result := <-answered
	close(late)
	if got := text(t, result); result.IsError || !strings.Contains(got, "the EU") {
		t.Errorf("%s", got)
	}
	if q := w.state().Questions[0]; q.Answer != "the EU" {
		t.Errorf("%+v", q)
	}
}

// TestRejectedBesideAPlan rejects an agent's submission while another plan is active. The agent must ask before it
// continues with that plan, until it has been told or has continued. An approved plan continues.
func TestRejectedBesideAPlan(t *testing.T) {
	for name, c := range map[string]struct {
		opts *mcp.ClientOptions
		hear func(w modeWorld, client *mcp.ClientSession)
	}{
		"terminal, comment": {nil, func(w modeWorld, _ *mcp.ClientSession) {
			if _, err := w.service.Comment(w.t.Context(), petra, plan.AddComment{Text: "Go on."}); err != nil {
				w.t.Fatal(err)
			}
		}},
		"form, went on": {says("accept", map[string]any{"decision": "reject", "comment": "not this way"}),
			func(w modeWorld, client *mcp.ClientSession) {
				call(w.t, client, "planning_mark_step", map[string]any{"step_id": "S001", "status": "in_progress"})
			}},
	} {
		for _, approved := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				ask := "\nNext: Your plan was rejected: ask the user what to do instead: planning_ask_user."
				if approved {
					ask = "\nNext: Your change was rejected. Start S001"
				}
				w := newModeWorld(t, plan.Limits{})
				client := w.connect(t, handshake, nil)
				call(t, client, "planning_setup_plan", map[string]any{"objective": "Old",
					"initial_steps": []map[string]any{{"title": "Go"}}})
				if approved {
					call(t, client, "planning_submit_plan", goodPlan())
					w.decide(plan.Approved, "")
				}
				client = w.connect(t, handshake, c.opts)
				got := text(t, call(t, client, "planning_submit_plan", goodPlan()))
				if c.opts == nil {
					w.decide(plan.Rejected, "not this way")
				} else if !strings.Contains(got, ask) {
					t.Errorf("%s", got)
				}
				for range 2 { // it is reported more than once
					if got := text(t, call(t, client, "planloop_status", map[string]any{})); !strings.Contains(got, ask) ||
						!strings.Contains(got, ": not this way\n") {
						t.Errorf("%s", got)
					}
				}
				c.hear(w, client)
				if got := text(t, call(t, client, "planloop_status", map[string]any{})); !strings.Contains(got, "S001") ||
					strings.Contains(got, "was rejected: ask") || strings.Contains(got, "change was rejected") {
					t.Errorf("%s", got)
				}
			})
		}
	}
}

// TestRejectedChange rejects a change of an approved plan: the agent gets the decision with the person's comment,
// and continues.
func TestRejectedChange(t *testing.T) {
	w := newModeWorld(t, plan.Limits{})
	client := w.connect(t, handshake, nil)
	call(t, client, "planning_submit_plan", goodPlan())
	w.decide(plan.Approved, "")
	call(t, client, "planning_mark_step", map[string]any{"step_id": "S001", "status": "in_progress"})
	call(t, client, "planloop_update", map[string]any{"update_tasks": []map[string]any{{"id": 1, "tools": []string{"kubectl"}}}})
	w.decide(plan.Rejected, "not to staging")
	for range 2 {
		got := text(t, call(t, client, "planloop_status", map[string]any{}))
		for _, word := range []string{
			"The change to the approved plan was rejected by petra; the approved plan continues unchanged: not to staging",
			"\nNext: Your change was rejected. Do S001 "} {
			if !strings.Contains(got, word) {
				t.Errorf("%q is missing in %s", word, got)
			}
		}
	}
}

// TestUnchangedSubmission submits the same plan again after it was returned: the agent is warned, and the approver
// sees the comment and that nothing changed.
func TestUnchangedSubmission(t *testing.T) {
	for _, era := range bothEras() {
		w := newModeWorld(t, plan.Limits{})
		var shown string
		asked := 0
		client := w.connect(t, era, userWho(func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if asked++; asked == 1 {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "edit", "comment": "more docs"}}, nil
			}
			shown = r.Params.Message
			return &mcp.ElicitResult{Action: "decline"}, nil
		}))
		call(t, client, "planning_submit_plan", goodPlan())
		got := text(t, call(t, client, "planning_submit_plan", goodPlan()))
		if !strings.Contains(got, `Warning: this plan is identical to the one shown before, but the user requested changes ("more docs")`) {
			t.Errorf("%s: %s", era, got)
		}
		for _, want := range []string{
			"confirmed through the client: more docs\n", "\nNothing has changed since the last review.\n"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: %q is missing in %s", era, want, shown)
			}
		}
	}
}

// TestFormDecidesAboutAProposal adds a step to an approved plan: its form decides about the proposal. Work of another agent
// goes on while the dialogue is open, and its marks survive the decision.
func TestFormDecidesAboutAProposal(t *testing.T) {
	for _, era := range bothEras() {
		for decision, steps := range map[string]int{"approve": 2, "reject": 1, "edit": 1} {
			t.Run(era+" "+decision, func(t *testing.T) {
				w := newModeWorld(t, plan.Limits{})
				other := w.connect(t, handshake, nil)
				call(t, other, "planning_submit_plan", goodPlan())
				w.decide(plan.Approved, "")
				client := w.connect(t, era, userWho(func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if !strings.Contains(r.Params.Message, `It changes the approved plan beyond its approval: new step S002 "Deploy it".`) {
						t.Errorf("the form shows %s", r.Params.Message)
					}
					mark := call(t, other, "planning_mark_step", map[string]any{"step_id": "S001", "status": "in_progress"})
					if mark.IsError {
						t.Error(text(t, mark))
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision, "comment": "c"}}, nil
				}))
				call(t, client, "planloop_status", map[string]any{})
				result := call(t, client, "planning_add_step", map[string]any{"steps": []map[string]any{{"title": "Deploy it"}}})
				state := w.state()
				step, _ := state.Plan.Steps.Get(1)
				if result.IsError || state.Plan.Steps.Len() != steps || state.PhaseNow() != plan.PhaseExecuting ||
					step.Status != plan.InProgress || state.IsReturned() != (decision == "edit") {
					t.Errorf("%s, %d steps, %s, %s", state.PhaseNow(), state.Plan.Steps.Len(), step.Status, text(t, result))
				}
			})
		}
	}
}
