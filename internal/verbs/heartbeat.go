package verbs

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

// Heartbeat ends every reply: how far the plan has come, and the one thing to do
// next, which names the current step or what stands in its way. It costs a model
// at most 40 tokens.
type Heartbeat struct {
	Progress   string `json:"progress,omitempty"`
	NextAction string `json:"next_action"`
}

func (s *Service) heartbeat(state plan.State, c Caller) Heartbeat {
	return Heartbeat{Progress: progress(state.Plan), NextAction: s.NextActionIn(state, c)}
}

// ending is the heartbeat as the last lines of a reply's text.
func (h Heartbeat) ending() string {
	if h.Progress == "" {
		return ".\nNext: " + h.NextAction
	}
	return " (" + h.Progress + ").\nNext: " + h.NextAction
}

// progress writes how far a plan has come: "1/3 done", "" without a plan.
func progress(p *plan.Plan) string {
	if p == nil || p.Steps.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d done", p.Steps.Count(plan.Done), p.Steps.Len())
}
