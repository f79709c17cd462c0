// Package hook reads the input that agents' hosts pass to their hooks, formats the answers as each host expects them, decides whether a
// tool may run in planning mode, and decodes the plans that agents keep in their hosts. Only this package knows the hosts' payloads, tool
// names and answer formats.
//
// It must not know logs or files: the caller says where a path leads and which commands are read-only.
package hook

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Host is an agents' host, as `planloop hook` and `planloop init` name it.
type Host string

// The hosts that have hooks.
const (
	Claude      Host = "claude"
	Codex       Host = "codex"
	Gemini      Host = "gemini"
	Antigravity Host = "antigravity"
	Cursor      Host = "cursor"
	VSCode      Host = "vscode"
	Opencode    Host = "opencode"
	Goose       Host = "goose"
	Windsurf    Host = "windsurf"
)

// Moment is when a hook is called, in one vocabulary for all hosts.
type Moment string

// The moments that planloop handles. Others are OtherMoment: they are accepted and get an empty answer.
const (
	OtherMoment  Moment = ""
	BeforeTool   Moment = "before_tool"
	AfterTool    Moment = "after_tool"
	SessionStart Moment = "session_start" // also after a compaction, where the host reports it
	Stop         Moment = "stop"          // the agent is about to end its turn
	UserPrompt   Moment = "user_prompt"   // the user has sent the agent a message
	AskUser      Moment = "ask_user"      // the host shows its user a plan, and asks whether to carry it out
)

// Effect is the kind of work that a tool does, as far as its name and the host reveal it.
type Effect string

// The acts. The zero value is unknown, which may write.
const (
	Unknown Effect = ""
	Reads   Effect = "reads"  // reads files, the web or the host's own memory of the session; asks, or waits
	Runs    Effect = "runs"   // runs Call.Command in a shell
	Writes  Effect = "writes" // writes Call.Paths
	Spawns  Effect = "spawns" // starts a subagent, or continues one
	Loads   Effect = "loads"  // loads a skill or a slash command, which may run commands
	Calls   Effect = "calls"  // calls the tool Call.Name of the MCP server Call.Server
	Plans   Effect = "plans"  // changes only the host's own plan or to-do list
)

// Call is one call of a hook.
type Call struct {
	Host   Host
	Event  string // as the command line names it: pre-tool-use
	Moment Moment

	Mode     string   // the permission mode of Claude Code, "" if unknown
	Session  string   // the host's own name of the session, "" if unknown
	Subagent string   // the kind or id of the acting subagent, "" for the session's own agent
	Version  string   // of the host, "" if unknown
	Dir      string   // the agent's current directory, "" if unknown
	Roots    []string // the directories open in the host, as far as it lists them
	Home     string   // the user's home directory; set by the caller of Read, since hosts do not report it

	IsNew       bool // of SessionStart: the host's program has just started with a new session
	IsCleared   bool // of SessionStart: the user has cleared the conversation, and the session goes on under another name
	IsContinued bool // of Stop: the agent continues already because a hook asked for it

	Message, Transcript, Turn string // of Stop: the agent's last text, the file with the whole session, and the turn's id there

	Use        string         // the host's id of the tool's use, "" if it gives none
	Tool       string         // as the host names it
	Effect     Effect         // its effect
	Server     string         // of Calls, as the host's configuration names it
	Name       string         // of Calls: the tool, without the server
	Program    string         // of Calls: what starts the server, "" if the host does not report it
	Command    string         // of Runs, as passed to the shell
	OnTerminal bool           // of Runs: the command gets a terminal
	Paths      []string       // of Writes, as reported: see Places
	WorkDirs   []string       // the working directories named in the tool's input, as reported: see Places
	Input      jsontext.Value // the tool's input, as reported
	Result     jsontext.Value // of AfterTool: the tool's answer, as reported
}

// OwnServer is the name of planloop's server in the configuration of hosts.
const OwnServer = "planloop"

// IsOwn reports whether the tool has the name of one of planloop's own, with any prefix of the host's.
func (c Call) IsOwn() bool { return c.Effect == Calls && c.Server == OwnServer }

// Answer is a hook's answer. The zero value lets the agent continue and says nothing.
type Answer struct {
	Command  string    // of BeforeTool in Claude Code: runs instead of the call's own command, without another say on permissions
	Refuse   string    // of BeforeTool and AskUser: why the tool must not run, and what to do instead; for the agent
	Context  string    // of SessionStart, AfterTool and UserPrompt: facts for the agent
	Continue string    // of Stop: the agent's unfinished work, or the answer to its plan; the agent reads it and continues once
	Approval *Approval // of a plan that the host shows its user
}

// Approval lets a host carry out the plan that it shows, without asking its user again if it can.
type Approval struct {
	Edited       string // the whole plan after people's edits, "" without any
	AcceptsEdits bool   // the host need not ask before each edit of a file
}

// object is an object to write, in order: names, each followed by a text, a list or an object.
type object []any

// Write formats an answer for the call's host: its output and the exit code.
func (c Call) Write(a Answer) (stdout, stderr []byte, code int) {
	text := a.text(c.Moment)
	if a.Approval != nil && text == "" {
		return c.writeApproval(*a.Approval), nil, 0
	}
	if a.Command != "" && text == "" {
		return c.writeCommand(a.Command)
	}
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

// text returns the text of an answer at a moment, never a blank one: some hosts ignore a refusal without a reason.
func (a Answer) text(moment Moment) string {
	text := map[Moment]string{BeforeTool: a.Refuse, AskUser: a.Refuse, SessionStart: a.Context,
		AfterTool: a.Context, UserPrompt: a.Context, Stop: a.Continue}[moment]
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
	specific := c.specific
	forMoment := func(refusal, reason, context object) object {
		switch c.Moment {
		case BeforeTool:
			return refusal
		case AskUser:
			return specific("decision", object{"behavior", "deny", "message", text})
		case Stop:
			return reason
		}
		return context
	}
	deny, block := object{"decision", "deny", "reason", text}, object{"decision", "block", "reason", text}
	permission := object{"permissionDecision", "deny", "permissionDecisionReason", text}
	context := object{"additionalContext", text}
	switch c.Host {
	case Claude, Codex: // Codex rejects additional members
		return forMoment(specific(permission...), block, specific(context...))
	case Gemini:
		return forMoment(deny, deny, specific(context...))
	case Antigravity:
		return forMoment(deny, object{"decision", "continue", "reason", text},
			object{"injectSteps", []object{{"ephemeralMessage", text}}})
	case Cursor:
		return forMoment(object{"permission", "deny", "user_message", text, "agent_message", text},
			object{"followup_message", text}, object{"additional_context", text})
	case VSCode: // nested for VS Code, and at the top level for Copilot's command line
		form := forMoment(permission, block, context)
		return append(form, specific(form...)...)
	case Goose:
		return block
	case Opencode: // planloop's own plugin
		return forMoment(object{"refuse", text}, object{"go_on", text}, object{"context", text})
	}
	return nil
}

func (c Call) specific(members ...any) object {
	return object{"hookSpecificOutput", append(object{"hookEventName", eventOf(c.Host, c.Event).Native}, members...)}
}

// writeApproval formats an approval. Claude Code ignores one without the tool's whole input; the other hosts ask their user themselves.
func (c Call) writeApproval(a Approval) []byte {
	input := map[string]jsontext.Value{}
	if c.Host != Claude || len(c.Input) > 0 && json.Unmarshal(c.Input, &input) != nil {
		return nil
	}
	if a.Edited != "" {
		input["plan"], _ = jsontext.AppendQuote(nil, a.Edited)
	}
	answer := c.specific("permissionDecision", "allow", "updatedInput", input)
	if c.Moment == AskUser {
		decision := object{"behavior", "allow", "updatedInput", input}
		if a.AcceptsEdits {
			mode := object{"type", "setMode", "mode", "acceptEdits", "destination", "session"}
			decision = append(decision, "updatedPermissions", []object{mode})
		}
		answer = c.specific("decision", decision)
	}
	out, err := json.Marshal(answer, json.Deterministic(true))
	if err != nil {
		return nil // the host's own prompt remains
	}
	return append(out, '\n')
}

// writeCommand formats a change of the command, with the other members of the tool's input as they are. It refuses if that fails.
func (c Call) writeCommand(command string) (stdout, stderr []byte, code int) {
	input := map[string]jsontext.Value{}
	err := json.Unmarshal(c.Input, &input)
	quoted, invalid := jsontext.AppendQuote(nil, command)
	input["command"] = quoted
	out, wrong := json.Marshal(c.specific("updatedInput", input), json.Deterministic(true))
	if err = cmp.Or(err, invalid, wrong); err != nil {
		return c.Write(Answer{Refuse: "planloop could not change the command: " + err.Error()})
	}
	return append(out, '\n'), nil, 0
}

func (o object) MarshalJSONTo(out *jsontext.Encoder) error {
	err := out.WriteToken(jsontext.BeginObject)
	for _, nameOrValue := range o {
		err = cmp.Or(err, json.MarshalEncode(out, nameOrValue))
	}
	return cmp.Or(err, out.WriteToken(jsontext.EndObject))
}
