package hook

import (
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/spelling"
	"github.com/planloop/planloop/plan"
)

// Event is one event of a host that planloop listens to.
type Event struct {
	Name    string // as the command line names it: pre-tool-use
	Native  string // as the host names it: PreToolUse
	Moment  Moment
	Matcher string        // of tools or sources, as the host matches them; "" for all
	Limit   time.Duration // what the host is told to wait at most
}

// Hosts are the hosts that have hooks, in the order of the documentation.
func Hosts() []Host {
	return []Host{Claude, Codex, Gemini, Antigravity, Cursor, VSCode, Opencode, Goose, Windsurf}
}

// How long a host waits. Deciding takes milliseconds; the rest is for a machine that is busy.
const (
	decides = 10 * time.Second
	tells   = 10 * time.Second
)

// Events are those of a host that planloop listens to, in the order they come in. A host without
// hooks has none.
func Events(host Host) []Event {
	switch host {
	case Claude:
		return []Event{
			{"session-start", "SessionStart", SessionStart, "", tells},
			{"pre-tool-use", "PreToolUse", BeforeTool, "", decides},
			{"post-tool-use", "PostToolUse", AfterTool, "ExitPlanMode|TodoWrite|TaskCreate|TaskUpdate", tells},
			{"stop", "Stop", Stop, "", tells},
		}
	case Codex:
		return []Event{
			{"session-start", "SessionStart", SessionStart, "", tells},
			{"pre-tool-use", "PreToolUse", BeforeTool, "", decides},
			{"post-tool-use", "PostToolUse", AfterTool, "update_plan", tells},
			{"stop", "Stop", Stop, "", tells},
		}
	case Gemini:
		return []Event{
			{"session-start", "SessionStart", SessionStart, "", tells},
			{"before-tool", "BeforeTool", BeforeTool, "", decides},
			{"after-tool", "AfterTool", AfterTool, "^(write_todos|exit_plan_mode)$", tells},
			{"after-agent", "AfterAgent", Stop, "", tells},
		}
	case Antigravity: // PreInvocation comes before each call of the model; its first stands for the session's start
		return []Event{
			{"pre-invocation", "PreInvocation", SessionStart, "", tells},
			{"pre-tool-use", "PreToolUse", BeforeTool, "*", decides},
			{"stop", "Stop", Stop, "", tells},
		}
	case Cursor: // preToolUse is not called for each command and MCP tool in every version
		return []Event{
			{"session-start", "sessionStart", SessionStart, "", tells},
			{"pre-tool-use", "preToolUse", BeforeTool, "", decides},
			{"before-shell-execution", "beforeShellExecution", BeforeTool, "", decides},
			{"before-mcp-execution", "beforeMCPExecution", BeforeTool, "", decides},
			{"stop", "stop", Stop, "", tells},
		}
	case VSCode: // Copilot's command line and cloud agent take these names as well
		return []Event{
			{"session-start", "SessionStart", SessionStart, "", tells},
			{"pre-tool-use", "PreToolUse", BeforeTool, "", decides},
			{"stop", "Stop", Stop, "", tells},
		}
	case Opencode: // called by planloop's own plugin
		return []Event{
			{"session-start", "session.start", SessionStart, "", tells},
			{"tool-execute-before", "tool.execute.before", BeforeTool, "", decides},
			{"tool-execute-after", "tool.execute.after", AfterTool, "todowrite", tells},
			{"stop", "stop", Stop, "", tells},
		}
	case Goose: // SessionStart only observes there
		return []Event{
			{"pre-tool-use", "PreToolUse", BeforeTool, "", decides},
			{"stop", "Stop", Stop, "", tells},
		}
	case Windsurf: // takes no context, and cannot be told to go on
		return []Event{
			{"pre-write-code", "pre_write_code", BeforeTool, "", decides},
			{"pre-run-command", "pre_run_command", BeforeTool, "", decides},
			{"pre-mcp-tool-use", "pre_mcp_tool_use", BeforeTool, "", decides},
		}
	}
	return nil
}

// Misnamed says that a command line names no host or event that planloop has a hook for, and what was probably meant;
// "" where it does.
func Misnamed(host Host, event string) string {
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
	if meant := spelling.Nearest(given, known); meant != "" {
		return text + "; did you mean " + meant + "?"
	}
	return text + ", but for " + strings.Join(known, ", ")
}

// eventOf is the event of a host by its name on the command line.
func eventOf(host Host, name string) Event {
	events := Events(host)
	i := slices.IndexFunc(events, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{Name: name}
	}
	return events[i]
}
