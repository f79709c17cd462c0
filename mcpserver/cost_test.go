package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	protocol "github.com/mark3labs/mcp-go/mcp"
	"github.com/tiktoken-go/tokenizer"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/prompts"
)

// counter counts o200k_base tokens.
func counter(t *testing.T) func(any) int {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	testenv.Check(t, err)
	return func(v any) int {
		data, isText := v.(string)
		if !isText {
			raw, err := json.Marshal(v)
			testenv.Check(t, err)
			data = string(raw)
		}
		n, err := codec.Count(data)
		testenv.Check(t, err)
		return n
	}
}

// TestCostOfSurface checks the budget of all that a host loads into every conversation: the instructions, and the names,
// descriptions and input schemas of the tools: by default in each strategy, and for a host whose hooks report the rest.
func TestCostOfSurface(t *testing.T) {
	count := counter(t)
	for _, c := range []struct {
		toolsets           []string
		strategies         []prompts.Strategy
		tools, most, whole int
	}{
		{[]string{verbs.Planning, verbs.Loop, verbs.Mode}, prompts.Strategies(), 13, 2000, 3400},
		{[]string{verbs.Loop}, []prompts.Strategy{prompts.DefaultStrategy}, 4, 899, 900},
	} {
		w := newWorldWith(t, verbs.Options{}, mcpserver.Options{Toolsets: c.toolsets})
		list, err := w.connect(t, handshake, nil).ListTools(t.Context(), nil)
		testenv.Check(t, err)
		tools, taught := 0, 0
		for _, tool := range list.Tools {
			n := count(tool.Name) + count(tool.Description) + count(tool.InputSchema)
			t.Logf("%-24s %d", tool.Name, n)
			tools += n
		}
		for _, s := range c.strategies {
			taught = max(taught, count(prompts.Instructions(s, c.toolsets)))
		}
		whole := count(wireList(t, w))
		t.Logf("%d tools of %d tokens, instructions of %d; the whole list %d", len(list.Tools), tools, taught, whole)
		if len(list.Tools) != c.tools || tools+taught > c.most {
			t.Errorf("%d tools and the instructions cost %d tokens, want %d for at most %d", len(list.Tools), tools+taught, c.tools, c.most)
		}
		if whole > c.whole {
			t.Errorf("the whole list costs %d tokens, want at most %d", whole, c.whole)
		}
	}
}

// wireList returns the result of tools/list as it is sent.
func wireList(t *testing.T, w world) string {
	t.Helper()
	answer := w.server.MCP.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	data, err := json.Marshal(answer.(protocol.JSONRPCResponse).Result)
	testenv.Check(t, err)
	return string(data)
}

// TestCostOfMark checks the budget of the most frequent answer, with the longest title.
func TestCostOfMark(t *testing.T) {
	count := counter(t)
	w := newWorld(t)
	client := w.connect(t, handshake, nil)
	title := strings.Repeat("Investigate the flaky authentication test ", 4)[:160]
	call(t, client, "planning_setup_plan", map[string]any{"objective": "o",
		"initial_steps": []map[string]any{{"title": title}, {"title": title}, {"title": title}}})
	mark := func(step, status string, most int) {
		t.Helper()
		result := call(t, client, "planning_mark_step", map[string]any{"step_id": step, "status": status, "note": "seen"})
		if n := count(text(t, result)); n > most {
			t.Errorf("%s: the text costs %d tokens, want at most %d: %s", status, n, most, text(t, result))
		}
		if n := count(result.StructuredContent); n > most {
			t.Errorf("%s: the structured content costs %d tokens, want at most %d: %v", status, n, most, result.StructuredContent)
		}
		t.Logf("%s\n%v", text(t, result), result.StructuredContent)
	}
	mark("S001", "in_progress", 120) // with the step
	mark("S001", "done", 60)
	mark("S003", "in_progress", 120)
	state, err := w.service.State(t.Context())
	testenv.Check(t, err)
	call(t, client, "planning_setup_plan", map[string]any{"objective": "another"})
	if _, err := w.service.Restore(t.Context(), tester, state.Plan.ID); err != nil {
		t.Fatal(err)
	}
	call(t, client, "planning_read_plan", map[string]any{})
	mark("S002", "done", 60) // the next step is one that was left in progress
}

// TestCostOfReading checks the budget for reading a long plan.
func TestCostOfReading(t *testing.T) {
	count := counter(t)
	client := newWorld(t).connect(t, handshake, nil)
	var steps []map[string]any
	for i := range 1000 {
		steps = append(steps, map[string]any{"title": fmt.Sprintf("Step number %d: change the handler and its test", i),
			"details": strings.Repeat("why and how ", 20)})
	}
	call(t, client, "planning_setup_plan", map[string]any{"objective": "A long plan", "initial_steps": steps})
	for i := range 400 {
		call(t, client, "planning_mark_step", map[string]any{"step_id": fmt.Sprintf("S%03d", i+1), "status": "done"})
	}
	result := call(t, client, "planning_read_plan", map[string]any{})
	t.Logf("text %d, structured %d", count(text(t, result)), count(result.StructuredContent))
	if n := count(text(t, result)); n > 2000 {
		t.Errorf("the text costs %d tokens, want at most 2,000", n)
	}
	if n := count(result.StructuredContent); n > 2000 {
		t.Errorf("the structured content costs %d tokens, want at most 2,000", n)
	}
}

// TestMarkCostsTheSameInALongPlan counts allocations, which do not depend on the machine.
func TestMarkCostsTheSameInALongPlan(t *testing.T) {
	count := func(steps int) float64 {
		client := newWorld(t).connect(t, handshake, nil)
		titles := make([]string, steps)
		for i := range titles {
			titles[i] = fmt.Sprintf("Check page %d of the manual", i+1)
		}
		call(t, client, "planning_setup_plan", map[string]any{"objective": "Check the manual", "initial_steps": titles})
		statuses, n := []string{"in_progress", "done", "pending"}, 0
		return testing.AllocsPerRun(30, func() {
			call(t, client, "planning_mark_step", map[string]any{"step_id": fmt.Sprintf("S%03d", n/3+1), "status": statuses[n%3]})
			n++
		})
	}
	short, long := count(12), count(2000)
	if long > 1.5*short {
		t.Errorf("a mark allocates %.0f times in a plan of 12 steps and %.0f times in one of 2,000", short, long)
	}
}
