package verbs

import (
	"strings"

	"github.com/planloop/planloop/plan"
)

// ServerTool is a tool of another server, with the facts for deciding whether to call it.
type ServerTool struct {
	Server      string
	Description string // from the server: untrusted text

	ReadOnly, Destructive, Idempotent, OpenWorld bool // by its hints

	Definition string // digest of all of this, and of its input and output schemas
}

// ServerTools returns the current tools of other servers by name. It must be quick.
type ServerTools func() map[string]ServerTool

func (s *Service) otherTools() map[string]ServerTool {
	if s.opts.ServerTools == nil {
		return nil
	}
	return s.opts.ServerTools()
}

// describeTool returns the lines that describe a step's tool to a person, if it is another server's. A definition other
// than the one decided about is not covered by an approval, and the text says so.
func describeTool(tools map[string]ServerTool, step *plan.Step, definition string) string {
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

// does returns the tool's possible effects, as far as its hints count.
func (t ServerTool) does() string {
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

// ToolDescription returns the description of a step's tool by its server, "" if it is not another server's tool. If the
// definition differs from the one shown or approved before, the text says so.
func (s *Service) ToolDescription(state plan.State, p *plan.Plan, step *plan.Step) string {
	if step.Tool == "" {
		return ""
	}
	tools := s.otherTools()
	definition := tools[step.Tool].Definition
	switch ask, request := step.OpenQuestion(), state.ModeNow().Request; {
	case ask != nil && ask.Kind == plan.AskApproval:
		definition = ask.Definition
	case p == state.Draft && request != nil:
		definition = request.Tools[step.Tool]
	case p.Approval != nil:
		definition = p.Approval.Tools[step.Tool]
	}
	text := describeTool(tools, step, definition)
	return strings.TrimSpace(strings.ReplaceAll("\n"+text, "\n   ", "\n"))
}
