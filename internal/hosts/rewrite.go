package hosts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/hook"
)

// plainOptions are Claude Code's options that bring no settings, rules or hooks.
const plainOptions = `-p --print -c --continue -r --resume --model --fallback-model --permission-mode --allowedTools --allowed-tools
	--dangerously-skip-permissions --verbose --output-format --session-id --fork-session --mcp-config --strict-mcp-config --max-turns
	--append-system-prompt --ide --effort -n --name`

// RewriteProblem returns why planloop's hook must not change this command of Claude Code, which was started with these arguments; "" if it
// may. Another hook may put its own change in the place of planloop's, and the user's rules only see the changed command.
func (m Machine) RewriteProblem(command string, args []string) string {
	for _, arg := range args {
		if name, _, _ := strings.Cut(arg, "="); strings.HasPrefix(arg, "-") && !slices.Contains(strings.Fields(plainOptions), name) {
			return "its option " + name + " may bring settings"
		}
	}
	opened, err := filepath.EvalSymlinks(m.Getenv("CLAUDE_PROJECT_DIR"))
	if project, wrong := filepath.EvalSymlinks(m.Project); err != nil || wrong != nil || opened != project {
		return "it was started in another folder"
	}
	dir := m.variable("CLAUDE_CONFIG_DIR", m.home(".claude"))
	row := claude(m, User)
	managed := row.hooks.layers[1]
	for _, unread := range []string{m.join(dir, "remote-settings.json"), strings.TrimSuffix(managed, ".json") + ".d"} {
		if _, err := os.Lstat(unread); !errors.Is(err, fs.ErrNotExist) {
			return m.Short(unread) + " has settings that planloop does not read"
		}
	}
	for _, file := range append([]string{m.join(dir, "settings.json"), m.join(dir, "settings.local.json"),
		m.project(".claude", "settings.json")}, row.hooks.layers...) {
		all, err := readSettings(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return m.Short(file) + " cannot be read"
		}
		if problem := m.rivalProblem(row.hooks, all, command); problem != "" {
			return m.Short(file) + problem
		}
	}
	return ""
}

// rivalProblem returns what in the settings of one file speaks against a change of this command; "" if nothing does.
func (m Machine) rivalProblem(own *hooks, all map[string]any, command string) string {
	plugins, _ := all["enabledPlugins"].(map[string]any)
	for name, on := range plugins {
		if on != false && !strings.HasPrefix(name, hook.OwnServer+"@") {
			return " enables a plugin, which may have hooks"
		}
	}
	events, _ := lookUp(all, own.root...)
	lists, _ := events.(map[string]any)
	for _, e := range hook.Events(hook.Claude) {
		for _, h := range listHooks(lists[e.Native]) {
			if (e.Moment == hook.BeforeTool || e.Moment == hook.AskUser) && h.handler["command"] != own.commandLine(m, hook.Claude, e) {
				return " has another hook for " + e.Native
			}
		}
	}
	for _, kind := range []string{"deny", "ask"} {
		found, _ := lookUp(all, "permissions", kind)
		rules, _ := found.([]any)
		for _, rule := range rules {
			if text, isText := rule.(string); !isText || mayName(text, command) {
				return " has a rule under " + kind + " that may name the command"
			}
		}
	}
	return ""
}

var ruleWords = regexp.MustCompile(`[\pL\pN]+`)

// mayName reports whether a rule such as Bash(go test:*) may name a command: it does only if the command has all words of the rule.
func mayName(rule, command string) bool {
	tool, specifier, _ := strings.Cut(rule, "(")
	if specifier == "" {
		return tool == "Bash" || strings.Contains(tool, "*")
	}
	plain := strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(command)
	return !slices.ContainsFunc(ruleWords.FindAllString(specifier, -1), func(word string) bool { return !strings.Contains(plain, word) })
}
