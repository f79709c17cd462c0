package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// rendering is a client that shows apps.
func rendering() *mcp.ClientOptions {
	can := &mcp.ClientCapabilities{}
	can.AddExtension("io.modelcontextprotocol/ui", map[string]any{"mimeTypes": []string{appMIME}})
	return &mcp.ClientOptions{Capabilities: can}
}

// handed is the data that the app gets with a result.
type handed struct {
	View     *review.View           `json:"view"`
	Nonce    string                 `json:"nonce"`
	Log      *review.Log            `json:"log"`
	Former   *review.Former         `json:"former"`
	Timeline []history.TimelineStep `json:"timeline"`
	Error    *struct{ Kind, Problem, Fix string }
}

func handedWith(t testing.TB, result *mcp.CallToolResult) (h handed) {
	t.Helper()
	data, err := json.Marshal(result.Meta["planloop/review"])
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return h
}

// submitted submits a plan with a client, and returns the data for its app.
func submitted(t testing.TB, client *mcp.ClientSession) handed {
	t.Helper()
	call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
	return handedWith(t, call(t, client, "planning_submit_plan", goodPlan()))
}

func act(t testing.TB, client *mcp.ClientSession, nonce, name string, input map[string]any) *mcp.CallToolResult {
	t.Helper()
	return call(t, client, "review_act", map[string]any{"nonce": nonce, "act": name, "input": input})
}

func decisionOn(v *review.View, comment string) map[string]any {
	return map[string]any{"request": v.Draft.Request, "digest": v.Draft.Plan.Digest, "comment": comment}
}

// TestToolsOfTheAppAreListedToHostsThatShowIt: in every phase and in the same order. Other hosts get the error for
// an unknown tool.
func TestToolsOfTheAppAreListedToHostsThatShowIt(t *testing.T) {
	for _, era := range bothEras() {
		w := newModeWorld(t, plan.Limits{})
		with, without := w.connect(t, era, rendering()), w.connect(t, era, nil)
		same := func() {
			t.Helper()
			rest := listed(t, with)
			app := slices.DeleteFunc(slices.Clone(rest), func(name string) bool { return !strings.HasPrefix(name, "review_") })
			rest = slices.DeleteFunc(rest, func(name string) bool { return strings.HasPrefix(name, "review_") })
			if diff := cmp.Diff([]string{"review_act", "review_look"}, app); diff != "" {
				t.Errorf("%s: %s", era, diff)
			}
			if diff := cmp.Diff(listed(t, without), rest); diff != "" {
				t.Errorf("%s: %s", era, diff)
			}
		}
		same()
		submitted(t, with)
		w.wantPhase(plan.PhaseSubmitted)
		same()
		list, err := with.ListTools(t.Context(), nil)
		testenv.Check(t, err)
		for _, tool := range list.Tools {
			if strings.HasPrefix(tool.Name, "review_") {
				want := mcp.Meta{"ui": map[string]any{"visibility": []any{"app"}}}
				if diff := cmp.Diff(want, tool.Meta); diff != "" {
					t.Errorf("%s %s: %s", era, tool.Name, diff)
				}
			}
		}
		for _, name := range []string{"review_look", "review_act"} {
			_, err := without.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{}})
			if err == nil || !strings.Contains(err.Error(), "not found") || !strings.Contains(err.Error(), "planloop_status") {
				t.Errorf("%s: %s is answered with %v", era, name, err)
			}
		}
	}
}

// TestModelsSeeNoMore checks that text and structured content, all that a model sees, are the same for hosts with
// and without apps.
func TestModelsSeeNoMore(t *testing.T) {
	for _, era := range bothEras() {
		var told [2]string
		for i, opts := range []*mcp.ClientOptions{nil, rendering()} {
			w := newModeWorld(t, plan.Limits{})
			client := w.connect(t, era, opts)
			call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
			for _, tool := range []string{"planning_submit_plan", "planning_read_plan"} {
				arguments := map[string]any{"of": "draft"}
				if tool == "planning_submit_plan" {
					arguments = goodPlan()
				}
				result := call(t, client, tool, arguments)
				h := handedWith(t, result)
				if shows := i == 1; (h.View != nil) != shows || (h.Nonce != "") != shows || shows && !h.View.Can.Decide {
					t.Errorf("%s %s: the app is handed %+v", era, tool, h)
				}
				structured, err := json.Marshal(result.StructuredContent)
				testenv.Check(t, err)
				seen := text(t, result) + "\n" + string(structured)
				if strings.Contains(seen, `"view"`) || h.Nonce != "" && strings.Contains(seen, h.Nonce) {
					t.Errorf("%s: a model sees %s", era, seen)
				}
				told[i] += withoutTimes(seen) + "\n"
			}
		}
		if diff := cmp.Diff(told[0], told[1]); diff != "" {
			t.Errorf("%s: %s", era, diff)
		}
	}
}

// TestDecidedInTheApp: a plan gets a comment, is returned, submitted again and approved, and each step is recorded
// as the act of a client's user.
func TestDecidedInTheApp(t *testing.T) {
	for _, era := range bothEras() {
		w := newModeWorld(t, plan.Limits{})
		client := w.connect(t, era, rendering())
		shown := submitted(t, client)
		if shown.View.Draft == nil || shown.View.Draft.Plan.Steps[0].Title != "Add the Redis client" || !shown.View.Can.Decide {
			t.Fatalf("%s: %+v", era, shown.View)
		}
		result := act(t, client, shown.Nonce, "comment", map[string]any{"text": "Which port?"})
		after := handedWith(t, result)
		if result.IsError || len(after.View.Comments) != 1 || after.Nonce == "" || after.Nonce == shown.Nonce ||
			after.View.Comments[0].By != "the user of tester, confirmed through the client" {
			t.Fatalf("%s: %s %+v", era, text(t, result), after)
		}
		if result = act(t, client, after.Nonce, "return", decisionOn(after.View, "smaller steps")); result.IsError {
			t.Fatalf("%s: %s", era, text(t, result))
		}
		w.wantPhase(plan.PhaseGathering)
		second := goodPlan()
		second["summary"] = "Move the sessions in two steps."
		again := handedWith(t, call(t, client, "planning_submit_plan", second))
		if draft := again.View.Draft; draft.Plan.Difference == nil || draft.Returned == nil || draft.Returned.Comment != "smaller steps" {
			t.Errorf("%s: %+v", era, again.View.Draft)
		}
		result = act(t, client, again.Nonce, "approve", decisionOn(again.View, "go on"))
		done := handedWith(t, result)
		if result.IsError || done.View.Decision == nil || done.View.Decision.Outcome != plan.Approved {
			t.Fatalf("%s: %s %+v", era, text(t, result), done.View)
		}
		w.wantPhase(plan.PhaseExecuting)
		approved := events[plan.PlanApproved](w)
		if len(approved) != 1 || plan.Way(approved[0].Approval.Way) != plan.WayClient {
			t.Errorf("%s: %+v", era, approved)
		}
		if status := text(t, call(t, client, "planloop_status", map[string]any{})); !strings.Contains(status, "go on") {
			t.Errorf("%s: the agent is told %s", era, status)
		}
	}
}

// TestNothingIsDecidedWithoutWhatWasShown: a nonce that is invented, altered, from another server or for an earlier
// view decides nothing.
func TestNothingIsDecidedWithoutWhatWasShown(t *testing.T) {
	for _, era := range bothEras() {
		w, other := newModeWorld(t, plan.Limits{}), newModeWorld(t, plan.Limits{})
		client := w.connect(t, era, rendering())
		foreign := submitted(t, other.connect(t, era, rendering()))
		former := submitted(t, client)
		w.decide(plan.Returned, "smaller")
		second := goodPlan()
		second["summary"] = "Another."
		shown := handedWith(t, call(t, client, "planning_submit_plan", second))
		altered := []byte(shown.Nonce)
		altered[len(altered)/2] ^= 1
		for name, nonce := range map[string]string{"none": "", "made up": "e30.e30", "altered": string(altered), "foreign": foreign.Nonce,
			"former": former.Nonce, "request state": strings.Repeat("a", 80)} {
			for _, act_ := range []string{"approve", "return", "reject", "comment"} {
				input := decisionOn(shown.View, "yes")
				if act_ == "comment" {
					input = map[string]any{"text": "approved"}
				}
				result := act(t, client, nonce, act_, input)
				if h := handedWith(t, result); !result.IsError || h.Error == nil || h.Nonce != "" || h.View != nil {
					t.Errorf("%s: %s %s: %s %+v", era, name, act_, text(t, result), h)
				}
			}
			if h := handedWith(t, call(t, client, "review_look", map[string]any{"nonce": nonce})); h.View == nil ||
				(h.Nonce != "") != (name == "former") {
				t.Errorf("%s: with a nonce that is %s the app is handed %+v", era, name, h)
			}
		}
		w.wantPhase(plan.PhaseSubmitted)
		if n := len(w.state().Comments); n != 0 {
			t.Errorf("%s: %d comments", era, n)
		}
		stale := decisionOn(former.View, "yes") // with the nonce of the current view
		if result := act(t, client, shown.Nonce, "approve", stale); !result.IsError {
			t.Errorf("%s: %s", era, text(t, result))
		}
		look := handedWith(t, call(t, client, "review_look", map[string]any{"nonce": former.Nonce}))
		if result := act(t, client, look.Nonce, "approve", decisionOn(look.View, "")); result.IsError {
			t.Errorf("%s: %s", era, text(t, result))
		}
		w.wantPhase(plan.PhaseExecuting)
	}
}

// TestAppShowsAndDoesNotDecide: if the user cannot be distinguished from the agent, or only decisions outside the
// client count.
func TestAppShowsAndDoesNotDecide(t *testing.T) {
	for _, era := range bothEras() {
		unheard := false
		w := newModeWorld(t, plan.Limits{},
			func(o *mcpserver.Options) { o.AgentControlled = func(context.Context) bool { return unheard } })
		client := w.connect(t, era, rendering())
		shown := submitted(t, client)
		unheard = true
		if result := act(t, client, shown.Nonce, "approve", decisionOn(shown.View, "")); !result.IsError {
			t.Errorf("%s: %s", era, text(t, result))
		}
		w.wantPhase(plan.PhaseSubmitted)
		personal := newModeWorld(t, plan.Limits{PersonOnly: true}).connect(t, era, rendering())
		submitted(t, personal)
		for who, client := range map[string]*mcp.ClientSession{"unheard": client, "person only": personal} {
			h := handedWith(t, call(t, client, "planning_read_plan", map[string]any{"of": "draft"}))
			if h.Nonce != "" || h.View.Can.Decide || !strings.Contains(h.View.Can.Why, "`planloop approve`") {
				t.Errorf("%s %s: %+v", era, who, h)
			}
			h = handedWith(t, call(t, client, "review_look", map[string]any{"nonce": shown.Nonce, "log": 0}))
			if h.Nonce != "" || h.Log == nil || len(h.Log.Lines) < 2 {
				t.Errorf("%s %s: %+v", era, who, h)
			}
		}
	}
}

// TestFormerPlansAreReadInTheApp: each listed plan can be opened with its own part of the log, even in an app that
// may not decide. Afterwards the nonce of the earlier view is still valid. A plan that does not fit is not shown.
func TestFormerPlansAreReadInTheApp(t *testing.T) {
	for _, era := range bothEras() {
		client := newModeWorld(t, plan.Limits{}).connect(t, era, rendering())
		call(t, client, "planning_setup_plan", map[string]any{"objective": "The first",
			"initial_steps": []map[string]any{{"title": "Look"}}})
		var long []map[string]any
		for i := range 2000 {
			long = append(long, map[string]any{"title": fmt.Sprintf("Step %d", i), "details": strings.Repeat("why and how ", 42)})
		}
		call(t, client, "planning_setup_plan", map[string]any{"objective": "The second", "initial_steps": long})
		call(t, client, "planning_setup_plan", map[string]any{"objective": "The third"})
		shown := submitted(t, client)
		look := func(more map[string]any) (h handed) {
			more["nonce"] = shown.Nonce
			return handedWith(t, call(t, client, "review_look", more))
		}
		plans := map[string]string{}
		for _, p := range shown.View.Plans {
			plans[p.Objective] = p.ID
		}
		h := look(map[string]any{"plan": plans["The first"]})
		if h.Former == nil || h.Former.Objective != "The first" || len(h.Former.Plan.Steps) != 1 || h.View == nil || h.Nonce == "" {
			t.Fatalf("%s: %+v", era, h)
		}
		if h = look(map[string]any{"plan": plans["The first"], "log": 0}); h.Log == nil || len(h.Log.Lines) != 2 || h.Former != nil {
			t.Errorf("%s: the log of the first plan: %+v", era, h.Log)
		}
		h = look(map[string]any{"plan": plans["The second"]})
		if h.Former != nil || h.Error == nil || !strings.Contains(h.Error.Problem, "too long") {
			t.Errorf("%s: a plan that is too long: %+v", era, h.Error)
		}
		if h = look(map[string]any{"plan": "nothing-1"}); h.Error == nil || h.Error.Kind != string(plan.NotFound) {
			t.Errorf("%s: a plan that is none: %+v", era, h)
		}
		if result := act(t, client, shown.Nonce, "approve", decisionOn(shown.View, "")); result.IsError {
			t.Errorf("%s: %s", era, text(t, result))
		}
		call(t, client, "planning_mark_step", map[string]any{"step_id": "S001", "status": "in_progress"})
		if h = look(map[string]any{"timeline": true}); len(h.Timeline) == 0 || len(h.Timeline[0].Parts) == 0 {
			t.Errorf("%s: timelines %+v %+v", era, h.Timeline, h.Error)
		}
	}
}

// TestAppOnlyShowsWhereAnyProgramMayBeTheClient: the app gets no nonce, and no tool that takes one.
func TestAppOnlyShowsWhereAnyProgramMayBeTheClient(t *testing.T) {
	for _, era := range bothEras() {
		w := newModeWorld(t, plan.Limits{}, func(o *mcpserver.Options) { o.AppViewOnly = true })
		client := w.connect(t, era, rendering())
		shown := submitted(t, client)
		for what, h := range map[string]handed{"submitted": shown,
			"looked at": handedWith(t, call(t, client, "review_look", map[string]any{"nonce": "e30.e30"}))} {
			if h.View == nil || h.View.Draft == nil || h.Nonce != "" || h.View.Can.Decide ||
				!strings.Contains(h.View.Can.Why, "over HTTP") {
				t.Errorf("%s, %s: %+v", era, what, h)
			}
		}
		if names := listed(t, client); slices.Contains(names, "review_act") || !slices.Contains(names, "review_look") {
			t.Errorf("%s: %v", era, names)
		}
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "review_act",
			Arguments: map[string]any{"nonce": "", "act": "approve", "input": decisionOn(shown.View, "")}})
		if err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%s: %v", era, err)
		}
		w.wantPhase(plan.PhaseSubmitted)
	}
}

// TestWhatTheAppIsHandedIsBounded: up to a limit, and nothing if the host does not show apps.
func TestWhatTheAppIsHandedIsBounded(t *testing.T) {
	w := newModeWorld(t, plan.Limits{})
	with, without := w.connect(t, handshake, rendering()), w.connect(t, handshake, nil)
	var steps []map[string]any
	for i := range 600 {
		steps = append(steps, map[string]any{"title": fmt.Sprintf("Step %d", i), "details": strings.Repeat("why and how ", 20)})
	}
	call(t, with, "planning_setup_plan", map[string]any{"objective": "A long plan", "initial_steps": steps})
	for name, client := range map[string]*mcp.ClientSession{"with": with, "without": without} {
		result := call(t, client, "planning_read_plan", map[string]any{})
		data, err := json.Marshal(result.Meta)
		testenv.Check(t, err)
		if name == "without" {
			if len(data) > 50 {
				t.Errorf("a client without apps gets %d bytes for them", len(data))
			}
			continue
		}
		p := handedWith(t, result).View.Plan
		if len(data) > 1<<20 || len(p.Steps) != 600 || p.LeftOut != 0 {
			t.Errorf("%d bytes with %d steps", len(data), len(p.Steps))
		}
	}
}

// TestNobodyApprovesWhatIsNotShown: a plan that does not fit cannot be approved from the part that does.
func TestNobodyApprovesWhatIsNotShown(t *testing.T) {
	client := newModeWorld(t, plan.Limits{}).connect(t, handshake, rendering())
	long := goodPlan()
	one := long["steps"].([]map[string]any)[0]
	var steps []map[string]any
	for i := range 300 {
		step := maps.Clone(one)
		step["title"], step["details"] = fmt.Sprintf("Add client %d", i), strings.Repeat("why and how ", 330)
		steps = append(steps, step)
	}
	long["steps"] = steps
	call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
	result := call(t, client, "planning_submit_plan", long)
	h := handedWith(t, result)
	if h.View == nil || h.View.Draft == nil {
		t.Fatalf("%.500s", text(t, result))
	}
	if p := h.View.Draft.Plan; p.LeftOut == 0 || len(p.Steps)+p.LeftOut != 300 || h.Nonce != "" || h.View.Can.Decide {
		t.Errorf("%d steps left out, %+v", p.LeftOut, h.View.Can)
	}
}

// TestModelNeverDecidesByTheApp: a model calls every tool in random order, even the app's, as if a host did not
// hide them. It knows everything ever shown to it, and the plan to approve. It does not see _meta.
func TestModelNeverDecidesByTheApp(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newModeWorld(t, plan.Limits{})
	clients := []*mcp.ClientSession{w.connect(t, handshake, rendering()), w.connect(t, stateless, rendering())}
	submitted(t, clients[0])
	words := []string{"approved", "e30.e30"}
	word := regexp.MustCompile(`[A-Za-z0-9_.#:-]{6,}`)
	pick := func() string { return words[random.IntN(len(words))] }
	learn := func(v any) {
		data, err := json.Marshal(v)
		testenv.Check(t, err)
		for _, found := range word.FindAllString(string(data), -1) {
			if !slices.Contains(words, found) && len(words) < 3_000 {
				words = append(words, found)
			}
		}
	}
	calls := testenv.Count(1_000, 4_000, 10_000)
	counts := map[string]int{}
	var names []string
	for i := range calls {
		client := clients[i%2]
		if i%500 < 2 {
			list, err := client.ListTools(t.Context(), nil)
			testenv.Check(t, err)
			learn(list.Tools)
			names = listed(t, client)
		}
		name, arguments := names[random.IntN(len(names))], map[string]any{}
		if random.IntN(5) > 0 {
			name = "review_act"
		}
		switch state := w.state(); name {
		case "review_act":
			input := map[string]any{"request": pick(), "digest": pick()}
			if request := state.ModeNow().Request; request != nil && random.IntN(4) > 0 {
				input = map[string]any{"request": request.ID, "digest": request.Digest}
			}
			act := []string{"approve", "reject", "return", "comment"}[random.IntN(4)]
			arguments = map[string]any{"nonce": pick(), "act": act, "input": input}
		case "review_look":
			arguments["nonce"] = pick()
		case "planning_submit_plan":
			arguments = goodPlan()
			arguments["summary"] = pick()
		case "planning_ask_user":
			arguments["question"] = pick()
		case "planloop_update":
			arguments["end_mode"] = true
		case "planloop_status":
			arguments["wait"] = 0
		case "planning_enter_plan_mode":
			arguments["reason"] = pick()
		}
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		counts[name]++
		if name == "review_act" && !result.IsError {
			t.Fatalf("%v was accepted", arguments)
		}
		learn(result.Content)
		learn(result.StructuredContent)
	}
	t.Logf("%v, %d words", counts, len(words))
	decided := len(events[plan.PlanApproved](w)) + len(events[plan.PlanRejected](w)) + len(events[plan.PlanReturned](w)) +
		len(events[plan.CommentAdded](w)) + len(events[plan.ModeCancelled](w))
	if decided > 0 || counts["review_act"] < calls/3 || counts["planning_submit_plan"] == 0 || len(words) < 20 {
		t.Errorf("%d decisions", decided)
	}
	w.wantPhase(plan.PhaseSubmitted)
}
