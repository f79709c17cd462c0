package hook

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Event is one event of a host that planloop handles.
type Event struct {
	Name    string // as the command line names it: pre-tool-use
	Native  string // as the host names it: PreToolUse
	Moment  Moment
	Matcher string // for tools or sources, in the host's syntax; "" for all
}

// Hosts returns the hosts that have hooks, in the order of the documentation.
func Hosts() []Host {
	return []Host{Claude, Codex, Gemini, Antigravity, Cursor, VSCode, Opencode, Goose, Windsurf}
}

// TimeLimit is the hosts' time-out for a hook. A decision takes milliseconds; the rest is for busy machines.
const TimeLimit = 10 * time.Second

// Limit returns the time-out of an event in a host, longer where planloop may wait for a person's decision about a plan.
func (e Event) Limit(host Host) time.Duration {
	if e.Moment == AskUser || (host == Claude || host == Gemini) && e.Moment == BeforeTool || host == Codex && e.Moment == Stop {
		return 96 * time.Hour
	}
	return TimeLimit
}

// Events returns the handled events of a host in the order in which they occur; nil for a host without hooks.
func Events(host Host) []Event {
	start, stop := Event{"session-start", "SessionStart", SessionStart, ""}, Event{"stop", "Stop", Stop, ""}
	before := Event{"pre-tool-use", "PreToolUse", BeforeTool, ""}
	after := func(tools string) Event { return Event{"post-tool-use", "PostToolUse", AfterTool, tools} }
	switch host {
	case Claude:
		ask := Event{"permission-request", "PermissionRequest", AskUser, "ExitPlanMode"}
		return []Event{start, before, ask, after("ExitPlanMode|TodoWrite|TaskCreate|TaskUpdate"), stop}
	case Codex:
		prompt := Event{"user-prompt-submit", "UserPromptSubmit", UserPrompt, ""} // as after Codex's own question about a plan
		return []Event{start, before, after("update_plan"), stop, prompt}
	case Gemini:
		return []Event{
			start,
			{"before-tool", "BeforeTool", BeforeTool, ""},
			{"after-tool", "AfterTool", AfterTool, "^(write_todos|exit_plan_mode)$"},
			{"after-agent", "AfterAgent", Stop, ""},
		}
	case Antigravity: // PreInvocation comes before each call of the model; the first one marks the start of the session
		before.Matcher = "*"
		return []Event{{"pre-invocation", "PreInvocation", SessionStart, ""}, before, stop}
	case Cursor: // not every version calls preToolUse for each command and MCP tool
		return []Event{
			{"session-start", "sessionStart", SessionStart, ""},
			{"pre-tool-use", "preToolUse", BeforeTool, ""},
			{"before-shell-execution", "beforeShellExecution", BeforeTool, ""},
			{"before-mcp-execution", "beforeMCPExecution", BeforeTool, ""},
			{"stop", "stop", Stop, ""},
		}
	case VSCode: // Copilot's command line and cloud agent accept these names as well
		return []Event{start, before, stop}
	case Opencode: // called by planloop's own plugin
		return []Event{
			{"session-start", "session.start", SessionStart, ""},
			{"tool-execute-before", "tool.execute.before", BeforeTool, ""},
			{"tool-execute-after", "tool.execute.after", AfterTool, "todowrite"},
			{"stop", "stop", Stop, ""},
		}
	case Goose: // SessionStart there ignores answers
		return []Event{before, stop}
	case Windsurf: // accepts no context, and cannot be asked to continue
		return []Event{
			{"pre-write-code", "pre_write_code", BeforeTool, ""},
			{"pre-run-command", "pre_run_command", BeforeTool, ""},
			{"pre-mcp-tool-use", "pre_mcp_tool_use", BeforeTool, ""},
		}
	}
	return nil
}

// NameProblem returns an error text for an unknown host or event on the command line, with the most similar name; "" if both are known.
func NameProblem(host Host, event string) string {
	kind, given, known := "host", string(host), []string(nil)
	for _, other := range Hosts() {
		known = append(known, string(other))
	}
	if events := Events(host); events != nil {
		kind, given, known = "event of "+string(host), event, nil
		for _, e := range events {
			known = append(known, e.Name)
		}
	}
	if slices.Contains(known, given) {
		return ""
	}
	text := "planloop has no hook for the " + kind + " " + plan.Quote(plan.Shorten(given, plan.MaxName))
	if meant := safetext.Nearest(given, known); meant != "" {
		return text + "; did you mean " + meant + "?"
	}
	return text + "; use one of " + strings.Join(known, ", ")
}

func eventOf(host Host, name string) Event {
	events := Events(host)
	i := slices.IndexFunc(events, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{Name: name}
	}
	return events[i]
}

//go:embed opencode/planloop.js
var opencodePlugin string

// OpencodePlugin returns the text of the plugin that makes opencode call the hooks of a planloop program: planloop.js in the folder plugins
// of a configuration, for opencode 1 and 2. It has no dependencies. marks is the folder of the marks of planning mode.
func OpencodePlugin(program, marks string) string {
	text := opencodePlugin
	for name, value := range map[string]string{`"PLANLOOP"`: program, `"MARKS"`: marks} {
		quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(value, "\uFFFD"))
		text = strings.Replace(text, name, string(quoted), 1)
	}
	return text
}

// requiredTools returns the names that a hook before a tool must match, in the form of the host's matchers: tools that may change
// something, one of planloop's own, and one of another server; nil if the host has no matchers or ignores them.
func requiredTools(host Host, native string) []string {
	switch {
	case host == Claude:
		return []string{"Bash", "Write", "Edit", "NotebookEdit", "Monitor", "Agent", "Skill", "mcp__planloop__planloop_status",
			"mcp__other__write"}
	case host == Codex:
		return []string{"Bash", "apply_patch", "spawn_agent", "mcp__planloop__planloop_status", "mcp__other__write"}
	case host == Gemini:
		return []string{"run_shell_command", "write_file", "replace", "invoke_agent", "mcp_planloop_planloop_status", "mcp_other_write"}
	case host == Antigravity:
		return []string{"run_command", "write_to_file", "replace_file_content", "invoke_subagent", "call_mcp_tool"}
	case host == Cursor && native == "preToolUse":
		return []string{"Write", "StrReplace", "Delete", "Task"} // commands and MCP tools have events of their own
	case host == Cursor && native == "beforeShellExecution":
		return []string{"touch file"} // there the matcher applies to the command
	case host == Goose:
		return []string{"developer__shell", "developer__write", "developer__edit", "delegate"}
	}
	return nil
}

// UncoveredTools returns the changing tools that no hook of an event is called for, according to the hooks' matchers. unread is a matcher
// that planloop cannot read, "" if it can read all.
func UncoveredTools(host Host, native string, matchers []string) (missed []string, unread string) {
	for _, tool := range requiredTools(host, native) {
		matched := slices.ContainsFunc(matchers, func(matcher string) bool {
			isMatch, readable := matchTool(host, matcher, tool)
			if !readable {
				unread = matcher
			}
			return isMatch
		})
		if !matched {
			missed = append(missed, tool)
		}
	}
	return missed, unread
}

// matchTool reports whether a matcher covers a tool in a host. Claude Code and Codex read a matcher of certain characters as a list of
// names; they read all others, as the other hosts do, as a regular expression that may match anywhere.
func matchTool(host Host, matcher, tool string) (isMatch, readable bool) {
	names := map[Host]string{Claude: `^[\w\-, |]*$`, Codex: `^[\w|]*$`}[host]
	switch {
	case matcher == "" || matcher == "*":
		return true, true
	case names != "" && regexp.MustCompile(names).MatchString(matcher):
		listed := strings.FieldsFunc(matcher, func(r rune) bool { return r == '|' || r == ',' })
		return slices.ContainsFunc(listed, func(name string) bool { return strings.TrimSpace(name) == tool }), true
	}
	pattern, err := regexp.Compile(matcher)
	return err == nil && pattern.MatchString(tool), err == nil
}
