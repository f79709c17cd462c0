package mcpserver

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxCompletions is what the protocol allows in one answer.
const maxCompletions = 100

// completion completes the arguments of templates and prompts from the state.
type completion struct{ s *Server }

// CompleteResourceArgument completes step and plan ids.
func (c completion) CompleteResourceArgument(ctx context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	_, state, err := c.s.state(ctx)
	if err != nil {
		return nil, err
	}
	var found matches
	found.prefix = argument.Value
	switch argument.Name {
	case "step_id":
		if state.Plan != nil {
			for step := range state.Plan.Steps.All() {
				found.offer(step.ID.String())
			}
		}
	case "plan_id":
		for _, id := range state.PlanIDs() {
			found.offer(id)
		}
	}
	return found.completion(), nil
}

// CompletePromptArgument completes a goal with the objective of the current plan.
func (c completion) CompletePromptArgument(ctx context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	_, state, err := c.s.state(ctx)
	if err != nil {
		return nil, err
	}
	found := matches{prefix: argument.Value}
	if argument.Name == "goal" && state.Plan != nil {
		found.offer(state.Plan.Objective)
	}
	return found.completion(), nil
}

// matches collects the values that begin with a prefix, whatever the case.
type matches struct {
	prefix string
	values []string
	total  int
}

func (m *matches) offer(value string) {
	if len(value) < len(m.prefix) || !strings.EqualFold(value[:len(m.prefix)], m.prefix) {
		return
	}
	m.total++
	if len(m.values) < maxCompletions {
		m.values = append(m.values, value)
	}
}

func (m *matches) completion() *mcp.Completion {
	values := m.values
	if values == nil {
		values = []string{}
	}
	return &mcp.Completion{Values: values, Total: m.total, HasMore: m.total > len(values)}
}
