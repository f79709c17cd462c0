package verbs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// budgets are the most tokens in a reply of each tool, in text and in structured content. Replies in pages cost a page,
// a reply to an approval also has the plan, and a refusal names all faults.
func budgets() map[string]int {
	const line, few, task, page, doubt = 250, 900, 1_500, 4_600, 80
	return map[string]int{
		"planning_setup_plan": line + doubt, "planning_add_step": line, "planning_update_step": line, "planning_mark_step": few + task,
		"planning_clear_plan": line, "planning_read_plan": page, "planloop_start": line + doubt, "planloop_status": page,
		"planloop_update": 2*few + task, "planloop_alert": few, "planning_enter_plan_mode": 2 * few,
		"planning_submit_plan": 2 * few, "planning_ask_user": line,
		"planning_next_step": page, "planning_recover_step": 2 * few, "planning_replan": 2 * few, "planning_execute_plan": few,
	}
}

// estimated is the limit in percent of the budget: replies are cut by an estimate, and made-up text in many alphabets
// costs a little more than that.
const estimated = 108

// anyArguments draws arguments for a tool, including large ones.
func anyArguments(t *rapid.T, tool string, of plan.State) map[string]any {
	id := rapid.IntRange(1, 8).Draw(t, "id")
	pick := func(of ...any) any { return rapid.SampledFrom(of).Draw(t, "picked") }
	rich := func() []map[string]any {
		var tasks []map[string]any
		for range rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "tasks") {
			tasks = append(tasks, map[string]any{"title": line(t, "title", 300), "details": written(t, "details", 3_000), "type": "feature",
				"context_hints": lines(t, "hint", 300), "relevant_file_paths": []string{"go.mod"}, "verify": line(t, "verify", 300),
				"acceptance_criteria": lines(t, "criterion", 300)})
		}
		return tasks
	}
	switch tool {
	case "planning_setup_plan":
		return map[string]any{"objective": line(t, "objective", 240), "initial_steps": []string{line(t, "title", 160), "Test it"}}
	case "planning_add_step":
		return map[string]any{"steps": []string{line(t, "title", 160), line(t, "title", 160)}}
	case "planning_update_step":
		return map[string]any{"step_id": id, "title": line(t, "title", 160)}
	case "planning_mark_step":
		return map[string]any{"step_id": id, "status": pick("in_progress", "done", "blocked", "pending"), "note": line(t, "note", 512)}
	case "planning_clear_plan":
		return map[string]any{}
	case "planning_read_plan":
		return map[string]any{"of": pick("current", "draft", "approved"), "from": id}
	case "planloop_start":
		return map[string]any{"goal": line(t, "goal", 2_000)}
	case "planloop_status":
		return pick(map[string]any{}, map[string]any{"full": true}, map[string]any{"task": id}).(map[string]any)
	case "planloop_update":
		return map[string]any{"add_tasks": rich(), "update_tasks": []map[string]any{{"id": id, "status": pick("DONE", "IN_PROGRESS"),
			"note": written(t, "note", 2_000), "output": written(t, "output", 4_000)}}}
	case "planloop_alert":
		return map[string]any{"id": line(t, "signal", 80), "message": written(t, "message", 2_000), "task_id": id}
	case "planning_next_step":
		return map[string]any{"agent": line(t, "agent", 80)}
	case "planning_recover_step":
		return map[string]any{"step_id": id, "choice": pick("retry", "skip", "happened", "insert", "abort"),
			"reason": written(t, "reason", 2_000)}
	case "planning_replan":
		return map[string]any{"changes": written(t, "changes", 2_000), "reasoning": written(t, "reasoning", 2_000), "add_tasks": rich(),
			"discoveries": lines(t, "discovery", 300)}
	case "planning_enter_plan_mode":
		return map[string]any{"reason": line(t, "reason", 1_000)}
	case "planning_submit_plan":
		return map[string]any{"summary": written(t, "summary", 1_000), "steps": rich(), "context_notes": written(t, "findings", 2_000)}
	}
	return map[string]any{"question": line(t, "question", 1_000)}
}

// TestEveryReplyKeepsItsBudget calls tools at random in random states: no content of a plan or comment makes a reply
// exceed its tool's budget.
func TestEveryReplyKeepsItsBudget(t *testing.T) {
	worst, count := map[string]int{}, counted(t)
	answered := map[string]int{}
	rapidtest.Check(t, func(t *rapid.T) {
		s := anyWork(t)
		ctx := context.Background()
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			state := must[plan.State](t)(s.State(ctx))
			row := rapid.SampledFrom(verbs.Table()).Draw(t, "tool")
			arguments := must[[]byte](t)(json.Marshal(anyArguments(t, row.Name, state)))
			reply, err := row.Call(ctx, s, ann, arguments)
			if _, refused := errors.AsType[*plan.ValidationError](err); refused || errors.As(err, new(*verbs.RefusedPlan)) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", row.Name, err)
			}
			answered[row.Name]++
			text, structured := count(t, reply)
			name, most := row.Name, budgets()[row.Name]
			if worst[name] = max(worst[name], text, structured); max(text, structured) > most*estimated/100 {
				t.Errorf("%s: %d tokens of text and %d of structured content, want at most %d:\n%s", name, text, structured,
					most, reply.Text())
			}
			if request := must[plan.State](t)(s.State(ctx)).ModeNow().Request; request != nil && rapid.Bool().Draw(t, "decided") {
				state := must[plan.State](t)(s.State(ctx))
				outcome := rapid.SampledFrom([]plan.Outcome{plan.Approved, plan.Returned, plan.Rejected}).Draw(t, "outcome")
				must[verbs.DecisionReply](t)(s.Decide(ctx, person, plan.DecideDraft{Outcome: outcome, Request: request.ID,
					Digest: plan.Digest(state.Draft), Comment: line(t, "comment", 2_000)}))
			}
		}
	})
	t.Log(answered, worst)
}

// TestApprovalKeepsItsBudget: for any size of a plan and its comments, the status after its approval costs what any
// status may cost.
func TestApprovalKeepsItsBudget(t *testing.T) {
	worst, count := 0, counted(t)
	rapidtest.Check(t, func(t *rapid.T) {
		s, ctx := ungated(), context.Background()
		must[verbs.ModeReply](t)(s.EnterPlanMode(ctx, ann, verbs.EnterPlanMode{Reason: "it touches everything"}))
		in := verbs.SubmitPlan{Summary: line(t, "summary", 500)}
		for range rapid.SampledFrom([]int{1, 3, 20}).Draw(t, "steps") {
			in.Steps = append(in.Steps, anySubmitted(t, 0))
		}
		for i := range rapid.SampledFrom([]int{0, 0, 150}).Draw(t, "further") {
			in.Steps = append(in.Steps, verbs.SubmittedStep{TaskFields: verbs.TaskFields{Title: new(fmt.Sprintf("Further step %d", i))}})
		}
		must[verbs.SubmitPlanReply](t)(s.SubmitPlan(ctx, ann, in))
		for range rapid.IntRange(0, 5).Draw(t, "comments") {
			must[verbs.CommentReply](t)(s.Comment(ctx, person, plan.AddComment{Text: written(t, "comment", 4_000)}))
		}
		must[verbs.DecisionReply](t)(s.Decide(ctx, person, plan.DecideDraft{Outcome: plan.Approved, Digest: digest(t, s)}))
		reply := must[verbs.StatusReply](t)(s.Status(ctx, ann, verbs.Status{}))
		text, structured := count(t, reply)
		worst = max(worst, text, structured)
		if reply.Decision == nil || !strings.Contains(reply.Approved, "<approved_plan>") || max(text, structured) > 1_500 {
			t.Fatalf("%d tokens of text and %d of structured content:\n%s", text, structured, reply.Text())
		}
	})
	t.Logf("the dearest plan costs %d tokens", worst)
}

// TestWhatIsNotShownHasItsRoom marks a step done with a command and criteria of the largest cost.
func TestWhatIsNotShownHasItsRoom(t *testing.T) {
	count, most := counted(t), budgets()["planning_mark_step"]
	for _, text := range prose() {
		s, text := ungated(), strings.TrimSpace(text)+" "
		spec := plan.Spec{Title: "Do it", Verify: strings.TrimSpace(strings.Repeat(text, 300/utf8.RuneCountInString(text)))}
		for i := range 12 {
			spec.AcceptanceCriteria = append(spec.AcceptanceCriteria, fmt.Sprint(i, " ", spec.Verify))
		}
		must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "o"},
			Steps: []plan.NewStep{{Spec: spec}}}))
		reply := called[verbs.MarkStepReply](t, s, "planning_mark_step", `{"step_id":1,"status":"done"}`)
		if text, structured := count(t, reply); max(text, structured) > most*2/3 { // leaves room for a blocker
			t.Errorf("%d tokens of text and %d of structured content:\n%s", text, structured, reply.Text())
		}
		if !strings.Contains(reply.Text(), "S001 is not verified: ") || !strings.Contains(reply.Text(), "report evidence: ") {
			t.Errorf("what is missing, or the call, is not told:\n%s", reply.Text())
		}
	}
}
