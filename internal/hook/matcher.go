package hook

import (
	"regexp"
	"slices"
	"strings"
)

// mustSee are what a hook before a tool is called for, as the host compares it with the matcher of an event: tools that
// change something, and one of planloop's own. It is nil where the host has no matchers or heeds none.
func mustSee(host Host, native string) []string {
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
		return []string{"touch file"} // there it is the command
	case host == Goose:
		return []string{"developer__shell", "developer__write", "developer__edit"}
	}
	return nil
}

// Unmatched are tools that change something and that no hook of an event is called for, judged by the matchers of its
// hooks. Unread is a matcher that cannot be judged, "" for none.
func Unmatched(host Host, native string, matchers []string) (missed []string, unread string) {
	for _, tool := range mustSee(host, native) {
		matched := slices.ContainsFunc(matchers, func(matcher string) bool {
			is, readable := matches(host, matcher, tool)
			if !readable {
				unread = matcher
			}
			return is
		})
		if !matched {
			missed = append(missed, tool)
		}
	}
	return missed, unread
}

// matches reports whether a host takes a matcher to mean a tool. Claude Code and Codex read what holds no other characters
// as a list of names, and all else, like the other hosts, as a regular expression that matches anywhere.
func matches(host Host, matcher, tool string) (is, readable bool) {
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
