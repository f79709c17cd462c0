package prompts

import "slices"

// Section returns the planning section for a strategy: Markdown under a single second-level heading, without a trailing
// newline, for use next to other sections. Strategies differ only in the closing mindset.
func Section(s Strategy) string {
	mindset := mustRender("mindset_"+string(s.orDefault()), nil)
	return mustRender("section", struct{ Mindset string }{mindset})
}

// Instructions returns a server's instructions for its client: a first line that says when to use planloop, for hosts
// that load only tool names and instructions, and a digest of the [Section] and of the rules for agents. They have at
// most 400 tokens and 2,000 bytes. They name only tools of the offered toolsets, recommend planning mode if "mode" is one
// of them, and explain runnable steps if "execution" is; nil means planning, loop and mode. With "loop" alone they are brief.
func Instructions(s Strategy, toolsets []string) string {
	offered := func(toolset string) bool { return toolsets == nil || slices.Contains(toolsets, toolset) }
	brief, mindset := slices.Equal(toolsets, []string{"loop"}), ""
	if !brief || s.orDefault() != DefaultStrategy {
		mindset = mustRender("mindset_"+string(s.orDefault()), nil)
	}
	return mustRender("instructions", struct {
		Planning, Loop, Mode, Execution, Brief bool
		Mindset                                string
	}{offered("planning"), offered("loop"), offered("mode"), toolsets != nil && offered("execution"), brief, mindset})
}

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

func (s Strategy) orDefault() Strategy {
	if slices.Contains(Strategies(), s) {
		return s
	}
	return DefaultStrategy
}
