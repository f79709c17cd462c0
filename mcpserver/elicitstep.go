package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// stepParams returns the form for a step that needs approval before it runs.
func (d dialogue) stepParams() mcp.ElicitationParams {
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm,
		Message: d.ask.Message + "\nRun this step? Until then it waits.",
		RequestedSchema: map[string]any{
			"type": "object", "required": []string{"decision"},
			"properties": map[string]any{
				"decision": map[string]any{"type": "string", "title": "Decision", "enum": []string{wordApprove, wordReject},
					"description": "reject: the step is skipped"},
				"comment": map[string]any{"type": "string", "title": "Comment"},
			},
		}}
}

// sealedStep encodes a step's question for the request state; "" for any other question.
func sealedStep(ask *verbs.Ask) string {
	if ask.Step == 0 {
		return ""
	}
	return fmt.Sprintf("%d %d %s", int(ask.Step), ask.Attempt, ask.Kind)
}

func unsealStep(ask *verbs.Ask, text string) {
	var step int
	if n, err := fmt.Sscanf(text, "%d %d %s", &step, &ask.Attempt, (*string)(&ask.Kind)); err == nil && n == 3 {
		ask.Step = plan.StepID(step)
	}
}

// answeredStep records the user's answer for a step and continues the run.
func (d dialogue) answeredStep(ctx context.Context, content map[string]any) *mcp.CallToolResult {
	answer := verbs.StepAnswer{Step: d.ask.Step, Digest: d.ask.Digest}
	word, _ := content["decision"].(string)
	if d.ask.Kind == plan.AskPause {
		answer.Text, _ = content["answer"].(string)
		answer.Choice = plan.Reply
	} else {
		answer.Text, _ = content["comment"].(string)
		answer.Choice = map[string]plan.Choice{wordApprove: plan.Approve, wordReject: plan.Deny}[word]
	}
	if answer.Choice == "" || answer.Choice == plan.Reply && strings.TrimSpace(answer.Text) == "" {
		return d.unanswered(ctx)
	}
	if _, err := d.service.AnswerStep(ctx, d.confirmed(ctx, d.caller), answer); err != nil {
		return d.result(ctx, nil, err)
	}
	return d.status(ctx)
}
