package mcpserver_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/plan"
)

// edits makes a person's change of the waiting draft.
func (w modeWorld) edits(e plan.EditDraft) {
	w.t.Helper()
	e.Digest = plan.Digest(w.state().Draft)
	if _, err := w.service.EditDraft(context.Background(), petra, e); err != nil {
		w.t.Fatal(err)
	}
}

func (w modeWorld) comments(c plan.AddComment) {
	w.t.Helper()
	if _, err := w.service.Comment(context.Background(), petra, c); err != nil {
		w.t.Fatal(err)
	}
}

func retitled(step plan.StepID, title string) plan.EditDraft {
	return plan.EditDraft{Change: plan.UpdateStep{Step: step, Patch: plan.Patch{Title: &title}}}
}

// TestEditedWhileTheDialogueIsOpen: an answer about a plan that a person has changed since decides nothing. The
// user sees the new version, and the answer to that counts.
func TestEditedWhileTheDialogueIsOpen(t *testing.T) {
	for _, decision := range []string{"approve", "edit", "reject"} {
		for _, era := range bothEras() {
			t.Run(decision+" "+era, func(t *testing.T) {
				w := newModeWorld(t, plan.Limits{})
				var shown []string
				client := w.connect(t, era, userWho(func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if shown = append(shown, r.Params.Message); len(shown) > 1 {
						w.wantPhase(plan.PhaseSubmitted)
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, nil
					}
					w.edits(retitled(1, "Vendor the Redis client"))
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision, "comment": "as I saw it"}}, nil
				}))
				got := text(t, call(t, client, "planning_submit_plan", goodPlan()))
				w.wantPhase(plan.PhaseExecuting)
				if len(shown) != 2 {
					t.Fatalf("asked %d times: %s", len(shown), got)
				}
				for _, word := range []string{"Edited by petra: S001 changed.",
					"  - title: Add the Redis client", "  + title: Vendor the Redis client"} {
					if !strings.Contains(shown[1], word) {
						t.Errorf("%q is missing in\n%s", word, shown[1])
					}
				}
				if !strings.Contains(got, "approved by the user of tester, confirmed through the client, "+
					"with edits (S001 changed).") || strings.Contains(got, "as I saw it") {
					t.Errorf("told: %s", got)
				}
			})
		}
	}
}

// TestToldWhileItWaits: a person's comments and changes end an agent's wait for the decision. Each status
// repeats them while they apply: a question until the agent has replied, the others until the decision, and then where the
// step has them.
func TestToldWhileItWaits(t *testing.T) {
	const asked, commented, stale = `C1 (petra asks, S001 "Add the Redis client"): why this one?`,
		`C2 (petra, S002 "Use it"): mind the TTL`, `C2 (petra, S002 "Use it", changed since): mind the TTL`
	w := newModeWorld(t, plan.Limits{})
	client := w.connect(t, stateless, nil)
	submitted := goodPlan()
	first := submitted["steps"].([]map[string]any)[0]
	for _, title := range []string{"Use it", "Drop the old store"} {
		next := maps.Clone(first)
		next["title"] = title
		submitted["steps"] = append(submitted["steps"].([]map[string]any), next)
	}
	call(t, client, "planning_submit_plan", submitted)
	call(t, client, "planloop_status", map[string]any{})
	said := []string{asked, `C2 (petra, S002 "Use it"`, "Edited by ", "was approved by"}
	told := func(arguments map[string]any, want ...string) {
		t.Helper()
		got := text(t, call(t, client, "planloop_status", arguments))
		for _, word := range want {
			if strings.Count(got, word) != 1 {
				t.Errorf("%q is not told once in\n%s", word, got)
			}
		}
		for _, word := range said {
			wanted := slices.ContainsFunc(want, func(text string) bool { return strings.Contains(text, word) })
			if strings.Contains(got, word) && !wanted {
				t.Errorf("%q is told in\n%s", word, got)
			}
		}
	}
	waits := func(do func(), want ...string) {
		t.Helper()
		var wait sync.WaitGroup
		wait.Go(do)
		told(map[string]any{"wait": 30}, want...)
		wait.Wait()
	}
	now := map[string]any{}

	waits(func() { w.comments(plan.AddComment{Text: "why this one?", Step: 1, IsQuestion: true}) }, asked,
		"Next: The user asks: reply with planning_ask_user {\"reply_to\":\"C1\"")
	told(now, asked)
	call(t, client, "planning_ask_user", map[string]any{"reply_to": "C1", "question": "It is what we run."})
	told(now)
	waits(func() { w.comments(plan.AddComment{Text: "mind the TTL", Step: 2}) }, commented)
	told(now, commented)
	waits(func() { w.edits(retitled(2, "Use it for all sessions")) }, stale, "Edited by petra: S002 changed.")
	told(now, stale, "Edited by petra: S002 changed.")
	waits(func() { w.edits(plan.EditDraft{Remove: 1}) }, stale, "Edited by petra: S002 changed, S001 removed.")
	told(now, stale, "Edited by petra: S002 changed, S001 removed.")
	approved := []string{"The plan was approved by petra, with edits (S002 changed, S001 removed): go",
		"\n2. Use it for all sessions (tools: create_file) (changed by a person before the approval)", "\n3. Drop the old store",
		"\n  Comments: C2 (petra, changed since): mind the TTL\n"}
	waits(func() { w.decide(plan.Approved, "go") }, approved...)
	told(now, approved...)
}
