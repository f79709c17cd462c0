package prompts

import "slices"

// Strategy is the mindset taught by the planning section. The zero value, and any unknown value, renders as
// [DefaultStrategy].
type Strategy string

// The strategies, as they are spelled in configuration and as prompt names.
const (
	// React alternates short reasoning, tool calls and noted observations.
	React Strategy = "react"
	// PlanActReflect outlines everything first, then reflects after each act.
	PlanActReflect Strategy = "plan_act_reflect"
	// GoalDecomposeRouteSynthesise restates the goal, splits it into
	// sub-problems, assigns tools to each and joins the results.
	GoalDecomposeRouteSynthesise Strategy = "goal_decompose_route_synthesise"

	// DefaultStrategy applies if none was chosen.
	DefaultStrategy = React
)

// Strategies returns every strategy, the default first. The order is fixed.
func Strategies() []Strategy {
	return []Strategy{React, PlanActReflect, GoalDecomposeRouteSynthesise}
}

// Values returns the accepted spellings in the order of [Strategies], whatever
// the receiver, so that schemas and completions can list them.
func (Strategy) Values() []string {
	all := Strategies()
	values := make([]string, len(all))
	for i, s := range all {
		values[i] = string(s)
	}
	return values
}

// orDefault keeps a known strategy and turns any other into the default.
func (s Strategy) orDefault() Strategy {
	if slices.Contains(Strategies(), s) {
		return s
	}
	return DefaultStrategy
}
