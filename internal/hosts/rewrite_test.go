package hosts_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/hosts"
)

// TestRewriteProblem: planloop changes a command of Claude Code only if no other hook can undo that and no rule of the user may name it.
func TestRewriteProblem(t *testing.T) {
	const local, command = ".claude/settings.local.json", `bash -c 'g"o" test ./...'`
	hooked := func(event, line string) string {
		return `{"hooks":{"` + event + `":[{"matcher":"Edit","hooks":[{"type":"command","command":"` + line + `"}]}]}}`
	}
	rules := func(kind, rule string) string { return `{"permissions":{"` + kind + `":["` + rule + `"]}}` }
	for name, test := range map[string]struct {
		file, text string // below home or project
		args, want string // of the problem; "" for none
	}{
		"planloop alone":        {},
		"plain options":         {args: "-p --model=x --permission-mode acceptEdits", want: ""},
		"settings as option":    {args: "-p --settings x.json", want: "--settings may bring settings"},
		"rules as option":       {args: "--disallowedTools=Bash(go:*)", want: "may bring settings"},
		"another hook":          {"project/" + local, hooked("PreToolUse", "rtk"), "", "another hook for PreToolUse"},
		"a hook that wraps":     {"project/" + local, hooked("PreToolUse", "x; planloop hook claude pre-tool-use"), "", "another hook"},
		"a permission hook":     {"project/.claude/settings.json", hooked("PermissionRequest", "x"), "", "another hook"},
		"a hook after tools":    {"project/" + local, hooked("PostToolUse", "x"), "", ""},
		"another plugin":        {"project/" + local, `{"enabledPlugins":{"rtk@x":true}}`, "", "enables a plugin"},
		"planloop's own plugin": {"project/" + local, `{"enabledPlugins":{"planloop@x":true,"rtk@x":false}}`, "", ""},
		"remote settings":       {"home/.claude/remote-settings.json", `{}`, "", "does not read"},
		"broken settings":       {"project/" + local, `{`, "", "cannot be read"},
		"deny":                  {"project/" + local, rules("deny", "Bash(go test:*)"), "", "a rule under deny"},
		"ask":                   {"home/.claude/settings.json", rules("ask", "Bash(go *)"), "", "a rule under ask"},
		"deny all":              {"project/.claude/settings.json", rules("deny", "Bash"), "", "a rule under deny"},
		"deny another":          {"project/" + local, rules("deny", "Bash(npm test:*)"), "", ""},
		"deny another tool":     {"project/" + local, rules("deny", "WebFetch"), "", ""},
		"allow":                 {"project/" + local, rules("allow", "Bash(go test:*)"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			m.Getenv = func(name string) string { return map[string]string{"CLAUDE_PROJECT_DIR": m.Project}[name] }
			write(t, m, "claude", hosts.Request{Scope: hosts.User})
			if at := filepath.Join(filepath.Dir(m.Home), test.file); test.text != "" {
				if test.file == "home/.claude/settings.json" {
					test.text = strings.TrimSuffix(test.text, "}") + "," + strings.TrimPrefix(read(t, at), "{")
				}
				put(t, at, test.text)
			}
			got := m.RewriteProblem(command, strings.Fields(test.args))
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, not %q", got, test.want)
			}
		})
	}
	if m := machine(t); m.RewriteProblem(command, nil) == "" {
		t.Error("Claude Code was started elsewhere")
	}
}
