package hosts

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/hook"
)

// Plugin is an enabled plugin of a host that includes planloop. Its parts are in none of the files that init writes; init
// leaves them out so that the host does not have them twice.
type Plugin struct {
	Name     string // in the host's form: planloop@planloop
	Scope    Scope  // Project: enabled in this project only
	Server   bool
	Hooks    bool
	Programs []string // the programs that it starts, by the names it uses

	removeCommand string // the command that uninstalls it
}

// RemoveCommand returns the command by which a person uninstalls the plugin.
func (p Plugin) RemoveCommand() string { return p.removeCommand + " " + p.Name }

// Parts names the plugin's parts of planloop.
func (p Plugin) Parts() string {
	switch {
	case p.Server && p.Hooks:
		return "the server and the hooks"
	case p.Server:
		return "the server"
	}
	return "the hooks"
}

// readPlugin reads planloop's parts in a plugin's folder, and returns nil if it has none. Hooks that are not called for every
// tool that writes do not count.
func (h *Host) readPlugin(m Machine, folder string, p Plugin, manifests ...string) *Plugin {
	for _, manifest := range manifests {
		file := h.readPluginFile(filepath.Join(folder, manifest))
		servers, _ := file["mcpServers"].(map[string]any)
		for _, server := range servers {
			if command := commandWords(server, "command"); len(command) > 0 && m.isOwn(command[0]) {
				p.Server = true
				p.Programs = appendNew(p.Programs, command[0])
			}
		}
	}
	on := hook.Host(h.Name)
	if events, _ := h.readPluginFile(filepath.Join(folder, "hooks", "hooks.json"))["hooks"].(map[string]any); events != nil {
		programs, wrong := m.programs(on, nil, events), m.uncoveredTools(on, events)
		p.Hooks = len(programs) > 0 && len(wrong) == 0 &&
			!slices.ContainsFunc(hook.Events(on), func(e hook.Event) bool { // one before tools is missing
				return e.Moment == hook.BeforeTool && len(m.findHooks(on, events[e.Native])) == 0
			})
		for _, text := range wrong {
			h.uncovered = append(h.uncovered, p.Name+": "+text)
		}
		p.Programs = appendNew(p.Programs, programs...)
	}
	if !p.Server && !p.Hooks {
		return nil
	}
	return &p
}

// readPluginFile reads a file of a plugin. It returns nil on failure, because another author's plugin may contain anything.
func (h *Host) readPluginFile(path string) map[string]any {
	file, err := readSettings(path)
	if refused, ok := errors.AsType[*Refusal](err); ok {
		h.UnreadFiles = appendNew(h.UnreadFiles, refused.Error())
	}
	return file
}

// claudePlugin finds a plugin of Claude Code. The settings enable it, where a file nearer to the project overrides the
// others; installed_plugins.json has its folder.
func (h *Host) claudePlugin(m Machine, dir string) *Plugin {
	scopes := map[string]Scope{}
	files := []string{m.join(dir, "settings.json"), m.project(".claude", "settings.json"), m.project(".claude", "settings.local.json")}
	for i, file := range files {
		scope := []Scope{User, Project, Project}[i]
		enabled, _ := jsonSetting(file, "enabledPlugins").(map[string]any)
		for name, on := range enabled {
			if on == false {
				delete(scopes, name)
			} else if scopes[name] == "" {
				scopes[name] = scope
			}
		}
	}
	known, _ := h.readPluginFile(m.join(dir, "plugins", "installed_plugins.json"))["plugins"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(scopes)) {
		installed, _ := known[name].([]any)
		for _, one := range installed {
			members, _ := one.(map[string]any)
			folder, _ := members["installPath"].(string)
			p := Plugin{Name: name, Scope: scopes[name], removeCommand: "claude plugin uninstall"}
			if found := h.readPlugin(m, folder, p, ".mcp.json"); found != nil {
				return found
			}
		}
	}
	return nil
}

// codexPlugin finds a plugin of Codex. The settings enable it, and its folder is below that of its marketplace.
func (h *Host) codexPlugin(m Machine, dir string) *Plugin {
	all := tomlSettings(m.join(dir, "config.toml"))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		path := strings.Split(key, "\x00")
		if len(path) != 3 || path[0] != "plugins" || path[2] != "enabled" || all[key] == "false" {
			continue
		}
		name := path[1]
		plugin, market, _ := strings.Cut(name, "@")
		if !filepath.IsLocal(plugin) || !filepath.IsLocal(market) {
			continue
		}
		folders, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "plugins", "cache", escapeGlob(market), escapeGlob(plugin), "*"))
		for _, folder := range folders {
			p := Plugin{Name: name, Scope: User, removeCommand: "codex plugin remove"}
			if found := h.readPlugin(m, folder, p, ".mcp.json"); found != nil {
				return found
			}
		}
	}
	return nil
}

// geminiExtension finds an extension of Gemini CLI. It may be a link to another folder, and disabled for some projects.
func (h *Host) geminiExtension(m Machine, dir string) *Plugin {
	folders, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "extensions", "*"))
	for _, folder := range folders {
		name := filepath.Base(folder)
		overrides, _ := jsonSetting(m.join(dir, "extensions", "extension-enablement.json"), name, "overrides").([]any)
		on := true
		for _, rule := range overrides {
			rule, _ := rule.(string)
			at, off := strings.CutPrefix(rule, "!")
			if under, below := strings.CutSuffix(at, "*"); at == m.Project+"/" || below && strings.HasPrefix(m.Project+"/", under) {
				on = !off
			}
		}
		install := m.join(folder, ".gemini-extension-install.json")
		if source, _ := jsonSetting(install, "source").(string); jsonSetting(install, "type") == "link" {
			folder = source
		}
		p := Plugin{Name: name, Scope: User, removeCommand: "gemini extensions uninstall"}
		if found := h.readPlugin(m, folder, p, "gemini-extension.json"); on && found != nil {
			return found
		}
	}
	return nil
}

// escapeGlob escapes a path for use in a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}
