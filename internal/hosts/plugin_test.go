package hosts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/testenv"
)

// pluginCase is how a host records a plugin, as it was seen of Claude Code 2.1.330, Codex 0.169.0 and Gemini CLI 0.61.0.
// {home} and {project} stand for the folders.
type pluginCase struct {
	host, name string
	files      map[string]string // below the folder of both
	lies       string            // where the plugin lies
	from       string            // what it is made of; "" for an extension of Gemini CLI
	scope      hosts.Scope       // "": it is not turned on
}

func pluginCases() map[string]pluginCase {
	const at = "home/.claude/plugins/cache/planloop/planloop/0.1.0"
	const installed = `{"version":2,"plugins":{"planloop@planloop":[{"scope":"user","installPath":"{home}/.claude/plugins/cache/` +
		`planloop/planloop/0.1.0"}]}}`
	claude := func(user, project, local string) map[string]string {
		return map[string]string{"home/.claude/plugins/installed_plugins.json": installed, "home/.claude/settings.json": user,
			"project/.claude/settings.json": project, "project/.claude/settings.local.json": local}
	}
	const on, off = `{"enabledPlugins":{"planloop@planloop":true}}`, `{"enabledPlugins":{"planloop@planloop":false}}`
	codex := func(enabled string) map[string]string {
		return map[string]string{"home/.codex/config.toml": "[plugins.\"planloop@planloop\"]\nenabled = " + enabled + "\n"}
	}
	gemini := func(overrides string) map[string]string {
		return map[string]string{"home/.gemini/extensions/extension-enablement.json": `{"planloop":{"overrides":[` + overrides + `]}}`}
	}
	linked := gemini(`"{home}/*"`)
	linked["home/.gemini/extensions/planloop/.gemini-extension-install.json"] = `{"source":"{project}/ext","type":"link"}`
	const cached, extension = "home/.codex/plugins/cache/planloop/planloop/0.1.0", "home/.gemini/extensions/planloop"
	return map[string]pluginCase{
		"claude":                   {"claude", "planloop@planloop", claude(on, "", ""), at, "claude", hosts.User},
		"claude, off":              {"claude", "planloop@planloop", claude(off, "", ""), at, "claude", ""},
		"claude, nowhere on":       {"claude", "planloop@planloop", claude("", "", ""), at, "claude", ""},
		"claude, in the project":   {"claude", "planloop@planloop", claude("", on, ""), at, "claude", hosts.Project},
		"claude, off here":         {"claude", "planloop@planloop", claude(on, "", off), at, "claude", ""},
		"claude, back on here":     {"claude", "planloop@planloop", claude(off, "", on), at, "claude", hosts.Project},
		"claude, of something":     {"claude", "planloop@planloop", claude(on, "", ""), at, "", ""},
		"codex":                    {"codex", "planloop@planloop", codex("true"), cached, "codex", hosts.User},
		"codex, off":               {"codex", "planloop@planloop", codex("false"), cached, "codex", ""},
		"gemini":                   {"gemini", "planloop", gemini(`"{home}/*"`), extension, "", hosts.User},
		"gemini, linked":           {"gemini", "planloop", linked, "project/ext", "", hosts.User},
		"gemini, off":              {"gemini", "planloop", gemini(`"{home}/*","!{project}/*"`), extension, "", ""},
		"gemini, off above it":     {"gemini", "planloop", gemini(`"{home}/*","!{project}/../*"`), extension, "", hosts.User},
		"gemini, off beside it":    {"gemini", "planloop", gemini(`"{home}/*","!{project}x/*"`), extension, "", hosts.User},
		"gemini, off and on again": {"gemini", "planloop", gemini(`"!{project}/*","{project}/*"`), extension, "", hosts.User},
	}
}

func (c pluginCase) install(t *testing.T, m hosts.Machine) {
	t.Helper()
	places := strings.NewReplacer("{home}", m.Home, "{project}", m.Project)
	top := filepath.Dir(m.Home)
	for name, text := range c.files {
		if text != "" {
			put(t, filepath.Join(top, name), places.Replace(text))
		}
	}
	switch {
	case c.from != "":
		testenv.Check(t, os.CopyFS(filepath.Join(top, c.lies), os.DirFS("../../packaging/"+c.from)))
	case c.host == "gemini":
		put(t, filepath.Join(top, c.lies, "gemini-extension.json"), `{"mcpServers":{"planloop":{"command":"planloop","args":["serve"]}}}`)
		put(t, filepath.Join(top, c.lies, "hooks/hooks.json"),
			`{"hooks":{"BeforeTool":[{"hooks":[{"type":"command","command":"planloop hook gemini before-tool"}]}]}}`)
	default:
		put(t, filepath.Join(top, c.lies, ".mcp.json"), `{"mcpServers":{"planloop":{"command":"another"}}}`)
	}
}

// What a plugin brings along is seen, and is not written a second time; a plugin that is turned off is none.
func TestPlugins(t *testing.T) {
	for name, c := range pluginCases() {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			c.install(t, m)
			for _, scope := range []hosts.Scope{hosts.User, hosts.Project} {
				h := look(t, m, c.host, hosts.Request{Scope: scope})
				seen := hosts.Scope("")
				if h.Plugin != nil {
					seen = h.Plugin.Scope
				}
				if seen != c.scope || h.Plugin != nil && (h.Plugin.Name != c.name || h.Plugin.Parts() != "the server and the hooks") {
					t.Fatalf("the plugin seen is %+v", h.Plugin)
				}
				counts := c.scope == hosts.User || c.scope == scope
				by := h.Server == hosts.ByPlugin && h.Hooks == hosts.ByPlugin
				if by != counts || h.HasChanges() == counts || h.IsDuplicated() {
					t.Errorf("in scope %s the server is %s, the hooks are %s, changes: %t", scope, h.Server, h.Hooks, h.HasChanges())
				}
			}
		})
	}
}

// Of several plugins that bring planloop the same one is named each time.
func TestFirstPluginIsNamed(t *testing.T) {
	m := machine(t)
	var enabled, settings []string
	for _, market := range []string{"d", "c", "b", "a"} {
		enabled = append(enabled, `"planloop@`+market+`":true`)
		settings = append(settings, "[plugins.\"planloop@"+market+"\"]\nenabled = true\n")
		lies := filepath.Join(m.Home, ".codex/plugins/cache", market, "planloop/0.1.0")
		testenv.Check(t, os.CopyFS(lies, os.DirFS("../../packaging/codex")))
	}
	place := `:[{"installPath":"` + filepath.Join(m.Home, "installed") + `"}]`
	put(t, filepath.Join(m.Home, ".claude/settings.json"), `{"enabledPlugins":{`+strings.Join(enabled, ",")+`}}`)
	put(t, filepath.Join(m.Home, ".claude/plugins/installed_plugins.json"),
		`{"plugins":{`+strings.ReplaceAll(strings.Join(enabled, ","), ":true", place)+`}}`)
	put(t, filepath.Join(m.Home, ".codex/config.toml"), strings.Join(settings, ""))
	testenv.Check(t, os.CopyFS(filepath.Join(m.Home, "installed"), os.DirFS("../../packaging/claude")))
	for _, host := range []string{"claude", "codex"} {
		for range 20 {
			if h := look(t, m, host, hosts.Request{Scope: hosts.User}); h.Plugin == nil || h.Plugin.Name != "planloop@a" {
				t.Fatalf("%s: the plugin seen is %+v", host, h.Plugin)
			}
		}
	}
}

// Where a file had planloop before the plugin came, both are told; taking planloop out of the files leaves one.
func TestPluginsBesideFiles(t *testing.T) {
	c := pluginCases()["claude"]
	m := machine(t)
	want := hosts.Request{Scope: hosts.User}
	write(t, m, "claude", want)
	put(t, filepath.Join(m.Home, ".claude/settings.json"), strings.Replace(read(t, filepath.Join(m.Home, ".claude/settings.json")), "{",
		`{"enabledPlugins":{"planloop@planloop":true},`, 1))
	delete(c.files, "home/.claude/settings.json")
	c.install(t, m)
	if h := look(t, m, "claude", want); !h.IsDuplicated() || h.Server != hosts.Current || h.HasChanges() {
		t.Errorf("twice: %t, the server is %s, changes: %t", h.IsDuplicated(), h.Server, h.HasChanges())
	}
	write(t, m, "claude", hosts.Request{Scope: hosts.User, Remove: true})
	if h := look(t, m, "claude", want); h.IsDuplicated() || h.Server != hosts.ByPlugin || h.Hooks != hosts.ByPlugin || h.HasChanges() {
		t.Errorf("afterwards it stands there twice: %t, the server is %s, the hooks are %s", h.IsDuplicated(), h.Server, h.Hooks)
	}
}
