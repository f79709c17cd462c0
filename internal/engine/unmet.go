package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/planloop/planloop/internal/condition"
	"github.com/planloop/planloop/plan"
)

// unmet reports whether the condition of a step is false. A loop's condition is evaluated once for all entries, unless
// it uses the entry.
func (r *resolver) unmet(ctx context.Context, s plan.State, step *plan.Step) (bool, error) {
	c, err := condition.Compile(step.When)
	if err != nil {
		return false, err
	}
	var item json.RawMessage
	instance := step.Loop() != 0
	if instance {
		item = step.Execution.Item
	}
	if loop := step.ForEach != "" && !instance; loop && c.UsesItem() || instance && !c.UsesItem() {
		return false, nil
	}
	sources := map[plan.StepID]condition.Source{}
	for _, id := range c.Steps() {
		from, ok := s.Plan.Steps.Get(id)
		if !ok {
			continue
		}
		value, err := r.value(ctx, s.Plan)(id)
		if err != nil && !errors.Is(err, plan.ErrNoValue) {
			return false, err
		}
		sources[id] = condition.Source{Value: value, OK: from.Status == plan.Done, Status: from.Status, Output: from.Output}
	}
	holds, err := c.Holds(ctx, sources, item)
	return !holds, err
}
