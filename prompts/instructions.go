package prompts

import "slices"

// InstructionsOptions says for what server the instructions are.
type InstructionsOptions struct {
	Strategy Strategy
	// Toolsets are the names of those offered. Only their tools are named, and
	// planning mode is recommended where "mode" is among them. Nil means planning,
	// loop and mode.
	Toolsets []string
}

// Instructions returns the instructions of a server that offers the toolsets
// planning and loop, but no planning mode.
func Instructions(s Strategy) string {
	return InstructionsFor(InstructionsOptions{Strategy: s, Toolsets: []string{"planning", "loop"}})
}

// InstructionsFor returns what a server tells its client about itself: a first
// line that says when to use planloop, for hosts that load only tool names and
// instructions, and a digest of the [Section] and of the rules that agents work
// by, at most 400 tokens and 2,000 bytes long.
func InstructionsFor(o InstructionsOptions) string {
	offered := func(toolset string) bool { return o.Toolsets == nil || slices.Contains(o.Toolsets, toolset) }
	return mustRender("instructions", struct {
		Planning, Loop, Mode bool
		Mindset              string
	}{
		offered("planning"), offered("loop"), offered("mode"),
		mustRender("mindset_"+string(o.Strategy.orDefault()), nil),
	})
}
