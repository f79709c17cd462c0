package verbs

import (
	"maps"

	"github.com/planloop/planloop/plan"
)

// OtherTool is a tool of another server, as whoever decides whether it is called has to know it.
type OtherTool struct {
	Server      string
	Description string // what the server says of it: a stranger's words

	ReadOnly, Destructive, Idempotent, OpenWorld bool // what it counts as

	Definition string // a digest of all this, and of what it takes and gives
}

// OtherTools returns the tools of other servers by name, as they are now. It must be quick.
type OtherTools func() map[string]OtherTool

func (s *Service) otherTools() map[string]OtherTool {
	if s.opts.OtherTools == nil {
		return nil
	}
	return s.opts.OtherTools()
}

// definitions returns how the tools of other servers are defined.
func (s *Service) definitions() map[string]string {
	all := map[string]string{}
	for name, tool := range maps.All(s.otherTools()) {
		all[name] = tool.Definition
	}
	return all
}

// described returns the lines that tell a person what a step's tool is, where it is another server's. One that
// is not defined as what is decided about is not what an approval covers, and that is said.
func described(tools map[string]OtherTool, step *plan.Step, definition string) string {
	tool, known := tools[step.Tool]
	if !known && definition == "" {
		return ""
	}
	if !known {
		return "   of another server, which does not offer it now\n"
	}
	says := "nothing of it"
	if tool.Description != "" {
		says = "of it: " + plan.QuoteWhole(tool.Description)
	}
	text := "   of the server " + tool.Server + ", which says " + says + "\n   counts as a tool that " + tool.does() + "\n"
	if definition != tool.Definition {
		text += "   this has changed since the question was put: a run asks again before it calls the tool\n"
	}
	return text
}

// does is what a tool may do, as far as its hints count.
func (t OtherTool) does() string {
	text := "may change and delete things"
	switch {
	case t.ReadOnly:
		text = "only reads"
	case !t.Destructive:
		text = "may add and change things, and deletes none"
	}
	if t.OpenWorld {
		text += ", and may deal with the world outside"
	}
	if t.Idempotent && !t.ReadOnly {
		text += "; to call it twice does no more than to call it once"
	}
	return text
}
