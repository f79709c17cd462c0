package hosts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/testenv"
)

// A hook whose matcher leaves out tools that write holds nobody: it is told, in a file of the host's and in a plugin.
func TestMatchersThatLeaveOut(t *testing.T) {
	const claude = ".claude/settings.json"
	for name, c := range map[string]struct{ host, file, hook, matcher, told string }{
		"no tool":  {"claude", claude, "PreToolUse", `"matcher": "Bsh",`, "is not called for Bash, Write, Edit"},
		"some":     {"gemini", ".gemini/settings.json", "BeforeTool", `"matcher": "replace",`, "is not called for run_shell_command"},
		"unread":   {"codex", ".codex/hooks.json", "PreToolUse", `"matcher": "(?!x)",`, "which planloop cannot read"},
		"all":      {"claude", claude, "PreToolUse", `"matcher": "*",`, ""},
		"an event": {"claude", claude, "Stop", `"matcher": "Bsh",`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			want := hosts.Request{Scope: hosts.User}
			write(t, m, c.host, want)
			file := filepath.Join(m.Home, c.file)
			before, after, _ := strings.Cut(read(t, file), `"`+c.hook+`": [`)
			put(t, file, before+`"`+c.hook+`": [`+strings.Replace(after, "{", "{"+c.matcher, 1))
			h := look(t, m, c.host, want)
			var wrong []string
			for _, edit := range h.Edits {
				wrong = append(wrong, edit.HookProblems...)
			}
			told := strings.Join(wrong, "\n")
			if h.Hooks != hosts.Edited || !strings.Contains(told, c.told) || (told == "") != (c.told == "") {
				t.Errorf("the hooks are %s, told is %q", h.Hooks, told)
			}
		})
	}
	const group = `{"hooks":{"PreToolUse":[{"matcher":"Bsh","hooks":[{"type":"command","command":"planloop hook claude pre-tool-use"}]}]}}`
	for name, text := range map[string]string{
		"a matcher": group,
		"an if":     strings.NewReplacer(`"matcher":"Bsh",`, "", `"type"`, `"if":"Bash(git *)","type"`).Replace(group),
		"no event":  strings.ReplaceAll(strings.ReplaceAll(group, "PreToolUse", "Stop"), "pre-tool-use", "stop"),
	} {
		c, m := pluginCases()["claude"], machine(t)
		c.install(t, m)
		put(t, filepath.Join(filepath.Dir(m.Home), c.lies, "hooks/hooks.json"), text)
		h := look(t, m, "claude", hosts.Request{Scope: hosts.User})
		if h.Plugin == nil || h.Plugin.Hooks || h.Hooks != hosts.Missing || !h.HasChanges() {
			t.Errorf("%s: the plugin is %+v, the hooks are %s", name, h.Plugin, h.Hooks)
		}
		told := strings.Join(h.Obstacles, "\n")
		if strings.Contains(told, "planloop@planloop: its hook for PreToolUse is not called for ") != (name != "no event") {
			t.Errorf("%s is told as %q", name, told)
		}
		write(t, m, "claude", hosts.Request{Scope: hosts.User})
		if h := look(t, m, "claude", hosts.Request{Scope: hosts.User}); h.Hooks != hosts.Current || len(h.Obstacles) > 0 {
			t.Errorf("%s, with hooks of init's: %s, %q", name, h.Hooks, h.Obstacles)
		}
	}
}

// TestLostAnswers: a hook that is called, but whose answer the host does not get, is reported.
func TestLostAnswers(t *testing.T) {
	const call = "planloop hook claude pre-tool-use"
	for line, isLost := range map[string]bool{
		call + " > /dev/null": true, call + " 2>&1 >>log": true,
		call + " | tee log": true, call + "|& true": true, call + " &": true,
		call + " &>log || true": true, call + " & wait": true,
		"if true; then " + call + " | cat; fi": true,
		call:                                   false, call + " 2>/dev/null": false,
		call + " || " + call: false, call + " 2>> log || exit 2": false,
		call + " && true": false,
	} {
		m, want := machine(t), hosts.Request{Scope: hosts.User}
		put(t, filepath.Join(m.Home, ".claude/settings.json"),
			`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"`+line+`"}]}]}}`)
		var wrong []string
		for _, edit := range look(t, m, "claude", want).Edits {
			wrong = append(wrong, edit.HookProblems...)
		}
		if strings.Contains(strings.Join(wrong, "\n"), "sends its answer elsewhere") != isLost {
			t.Errorf("%s: %q", line, wrong)
		}
	}
}

// A file that no host makes so large is not read, which is told.
func TestLargeFiles(t *testing.T) {
	c, m := pluginCases()["claude"], machine(t)
	c.install(t, m)
	want := hosts.Request{Scope: hosts.User}
	large := func(path string, size int64) {
		t.Helper()
		put(t, path, "{}")
		testenv.Check(t, os.Truncate(path, size))
	}
	manifest := filepath.Join(filepath.Dir(m.Home), c.lies, ".mcp.json")
	large(manifest, 5<<20)
	h := look(t, m, "claude", want)
	if told := manifest + " is larger than 2 MB"; len(h.UnreadFiles) != 1 || h.UnreadFiles[0] != told {
		t.Errorf("a plugin's is told as %q", h.UnreadFiles)
	}
	large(filepath.Join(m.Home, ".gemini/settings.json"), 5<<20)
	large(filepath.Join(m.Home, ".claude.json"), 65<<20)
	for _, host := range []string{"gemini", "claude"} {
		if h := look(t, m, host, want); h.Edits[0].Fault == nil || !strings.Contains(h.Edits[0].Fault.Error(), "is larger than") {
			t.Errorf("%s: %v", host, h.Edits[0].Fault)
		}
	}
	put(t, filepath.Join(m.Home, ".claude.json"), `{"history": "`+strings.Repeat("x", 5<<20)+`"}`)
	if h := look(t, m, "claude", want); h.Edits[0].Fault != nil || h.Edits[0].Server != hosts.Missing {
		t.Errorf("with a history: %+v", h.Edits[0].Fault)
	}
}

// A hook that asks for a host or an event which there is not lets every tool pass: it is told, and init mends it.
func TestMisspeltHooks(t *testing.T) {
	for _, host := range []struct{ name, file, right string }{
		{"claude", ".claude/settings.json", "claude pre-tool-use"},
		{"codex", ".codex/hooks.json", "codex pre-tool-use"},
		{"gemini", ".gemini/settings.json", "gemini before-tool"},
		{"cursor", ".cursor/hooks.json", "cursor before-shell-execution"},
		{"windsurf", ".codeium/windsurf/hooks.json", "windsurf pre-run-command"},
	} {
		name, event, _ := strings.Cut(host.right, " ")
		for wrong, told := range map[string]string{
			name + " " + event[:len(event)-1]: "which is not a known event; use planloop hook " + host.right,
			name[:len(name)-1] + " " + event:  "which is not this host's name; use planloop hook " + host.right,
			name + " pre-tool":                "which is not a known event; use planloop hook " + host.right,
		} {
			m := machine(t)
			want := hosts.Request{Scope: hosts.User}
			write(t, m, host.name, want)
			file := filepath.Join(m.Home, host.file)
			good := read(t, file)
			put(t, file, strings.ReplaceAll(good, "hook "+host.right, "hook "+wrong))
			h := look(t, m, host.name, want)
			var found []string
			for _, edit := range h.Edits {
				found = append(found, edit.HookProblems...)
			}
			if len(found) != 1 || !strings.HasSuffix(found[0], told) || !strings.Contains(found[0], " runs planloop hook "+wrong+", ") {
				t.Errorf("%s as %q is told as %q", host.right, wrong, found)
			}
			if h.Hooks != hosts.Old {
				t.Errorf("%s as %q: the hooks are %s", host.right, wrong, h.Hooks)
			}
			write(t, m, host.name, want)
			if got := read(t, file); got != good {
				t.Errorf("%q was mended to\n%s", wrong, got)
			}
		}
	}
}
