package hook

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is an object to write, in order: names, each followed by a text, a list or an object.
type object []any

// Write formats an answer for the call's host: its output and the exit code.
func (c Call) Write(a Answer) (stdout, stderr []byte, code int) {
	text := a.text(c.Moment)
	if c.Host == Windsurf && text != "" { // it reads only the exit code
		return nil, []byte(text + "\n"), 2
	}
	answer := c.emptyAnswer()
	if text != "" {
		answer = c.format(text)
	}
	if answer == nil {
		return nil, nil, 0
	}
	out, _ := json.Marshal(answer, jsontext.AllowInvalidUTF8(true)) // it has only texts, lists and objects
	return append(out, '\n'), nil, 0
}

// text returns the text of an answer at a moment. A blank text is replaced with words, because some hosts ignore a refusal without a
// reason.
func (a Answer) text(moment Moment) string {
	text := ""
	switch moment {
	case BeforeTool:
		text = a.Refuse
	case SessionStart, BeforePrompt:
		text = a.Context
	case Stop:
		text = a.Continue
	}
	if text != "" && strings.TrimSpace(text) == "" {
		return "planloop gave no reason."
	}
	return text
}

// emptyAnswer returns a host's form of an empty answer; nil means no output.
func (c Call) emptyAnswer() object {
	switch {
	case c.Host == Cursor, c.Host == Opencode:
		return object{}
	case c.Host != Antigravity:
		return nil
	case c.Moment == BeforeTool: // its versions differ if the decision is missing; its own question to the user remains
		return object{"decision", "allow"}
	case c.Moment == Stop:
		return object{"decision", "stop"}
	}
	return object{}
}

// format returns a host's form of a refusal, of context, or of a reason to continue.
func (c Call) format(text string) object {
	specific := func(members ...any) object {
		return object{"hookSpecificOutput", append(object{"hookEventName", eventOf(c.Host, c.Event).Native}, members...)}
	}
	switch c.Host {
	case Claude, Codex: // Codex rejects additional members
		switch c.Moment {
		case BeforeTool:
			return specific("permissionDecision", "deny", "permissionDecisionReason", text)
		case Stop:
			return object{"decision", "block", "reason", text}
		}
		return specific("additionalContext", text)
	case Gemini:
		if c.Moment == SessionStart || c.Moment == BeforePrompt {
			return specific("additionalContext", text)
		}
		return object{"decision", "deny", "reason", text}
	case Antigravity:
		switch c.Moment {
		case BeforeTool:
			return object{"decision", "deny", "reason", text}
		case Stop:
			return object{"decision", "continue", "reason", text}
		}
		return object{"injectSteps", []object{{"ephemeralMessage", text}}}
	case Cursor:
		switch c.Moment {
		case BeforeTool:
			return object{"permission", "deny", "user_message", text, "agent_message", text}
		case Stop:
			return object{"followup_message", text}
		}
		return object{"additional_context", text}
	case VSCode: // nested for VS Code, and at the top level for Copilot's command line
		switch c.Moment {
		case BeforeTool:
			decision := object{"permissionDecision", "deny", "permissionDecisionReason", text}
			return append(decision, specific(decision...)...)
		case Stop:
			return append(object{"decision", "block", "reason", text}, specific("decision", "block", "reason", text)...)
		}
		return append(object{"additionalContext", text}, specific("additionalContext", text)...)
	case Goose:
		return object{"decision", "block", "reason", text}
	case Opencode: // planloop's own plugin
		name := "context"
		switch c.Moment {
		case BeforeTool:
			name = "refuse"
		case Stop:
			name = "go_on"
		}
		return object{name, text}
	}
	return nil
}

// MarshalJSONTo implements json.MarshalerTo.
func (o object) MarshalJSONTo(out *jsontext.Encoder) error {
	err := out.WriteToken(jsontext.BeginObject)
	for _, nameOrValue := range o {
		err = cmp.Or(err, json.MarshalEncode(out, nameOrValue))
	}
	return cmp.Or(err, out.WriteToken(jsontext.EndObject))
}
