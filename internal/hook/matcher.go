package hook

import (
	"regexp"
	"slices"
	"strings"
)

// requiredTools returns the names that a hook before a tool must match, as the host compares them with an event's matcher: tools that
// change something, and one of planloop's own. It is nil if the host has no matchers or ignores them.
func requiredTools(host Host, native string) []string {
	switch {
	case host == Claude:
		return []string{"Bash", "Write", "Edit", "NotebookEdit", "mcp__planloop__planloop_status"}
	case host == Codex:
		return []string{"Bash", "apply_patch", "mcp__planloop__planloop_status"}
	case host == Gemini:
		return []string{"run_shell_command", "write_file", "replace", "mcp_planloop_planloop_status"}
	case host == Antigravity:
		return []string{"run_command", "write_to_file", "replace_file_content"}
	case host == Cursor && native == "preToolUse":
		return []string{"Write", "Delete"} // commands and MCP tools have events of their own
	case host == Cursor && native == "beforeShellExecution":
		return []string{"touch file"} // there the matcher applies to the command
	case host == Goose:
		return []string{"developer__shell", "developer__write", "developer__edit"}
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
