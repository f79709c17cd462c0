package hook

import (
	"slices"
	"strings"
	"testing"
)

// TestUnmatched: matchers are read as each host reads them.
func TestUnmatched(t *testing.T) {
	for _, test := range []struct {
		host     Host
		native   string
		matchers string // between semicolons
		missed   string
		unread   string
	}{
		{Claude, "PreToolUse", "", "", ""},
		{Claude, "PreToolUse", "*", "", ""},
		{Claude, "PreToolUse", "Read;", "", ""},
		{Claude, "PreToolUse", ".*", "", ""},
		{Claude, "PreToolUse", "Bsh", "Bash Write Edit NotebookEdit Monitor Agent Skill mcp__planloop__planloop_status mcp__other__write",
			""},
		{Claude, "PreToolUse", "Bash|Write", "Edit NotebookEdit Monitor Agent Skill mcp__planloop__planloop_status mcp__other__write", ""},
		{Claude, "PreToolUse", "Bash, Write | Edit,NotebookEdit;mcp__planloop__.*", "Monitor Agent Skill mcp__other__write", ""},
		{Claude, "PreToolUse", "mcp__planloop;^(Bash|.*Edit|Write|Agent|Skill|Monitor|mcp__other.*)$",
			"mcp__planloop__planloop_status", ""},
		{Claude, "PreToolUse", "^(?!Read$)",
			"Bash Write Edit NotebookEdit Monitor Agent Skill mcp__planloop__planloop_status mcp__other__write", "^(?!Read$)"},
		{Codex, "PreToolUse", "Bash|apply_patch|spawn_agent|mcp__other__write", "mcp__planloop__planloop_status", ""},
		{Codex, "PreToolUse", "Bash, apply_patch", // an expression in Codex
			"Bash apply_patch spawn_agent mcp__planloop__planloop_status mcp__other__write", ""},
		{Gemini, "BeforeTool", "write_file|replace|agent", "run_shell_command mcp_planloop_planloop_status mcp_other_write", ""},
		{Gemini, "BeforeTool", "run_|write|replace|mcp_|agent", "", ""},
		{Antigravity, "PreToolUse", "run_command", "write_to_file replace_file_content invoke_subagent call_mcp_tool", ""},
		{Cursor, "preToolUse", "Shell", "Write StrReplace Delete Task", ""},
		{Cursor, "beforeShellExecution", "^git ", "touch file", ""},
		{Cursor, "beforeMCPExecution", "x", "", ""},
		{Goose, "PreToolUse", "^developer__(shell|write)$", "developer__edit delegate", ""},
		{VSCode, "PreToolUse", "nothing", "", ""}, // VS Code ignores matchers
	} {
		missed, unread := UncoveredTools(test.host, test.native, strings.Split(test.matchers, ";"))
		if strings.Join(missed, " ") != test.missed || unread != test.unread {
			t.Errorf("%s %s %q: %q, %q", test.host, test.native, test.matchers, missed, unread)
		}
	}
	for _, host := range Hosts() { // requiredTools lists only tools known to change something
		for _, e := range Events(host) {
			for _, tool := range requiredTools(host, e.Native) {
				row, known := toolGroupOf(host, tool)
				_, name, mcp := mcpTool(host, tool, "")
				own := mcp && (name == "planloop_status" || name == "write")
				if !known && !own && tool != "touch file" || known && slices.Contains([]Effect{Reads, Plans}, row.effect) {
					t.Errorf("%s: %s is %+v", host, tool, row)
				}
			}
		}
	}
}

func TestOpencodePluginStartsThisProgram(t *testing.T) {
	text := OpencodePlugin(`C:\Program Files\"plan"loop.exe`, "/x")
	want := `const program = "C:\\Program Files\\\"plan\"loop.exe" //`
	if !strings.Contains(text, want) || strings.Contains(text, "PLANLOOP") {
		t.Errorf("%s is not in\n%s", want, text)
	}
	for _, event := range Events(Opencode) {
		if !strings.Contains(text, `"`+event.Name+`"`) {
			t.Errorf("the plugin never calls %s", event.Name)
		}
	}
}
