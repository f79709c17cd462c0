package hosts

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/hook"
)

// Request says which change of a host's files the caller wants.
type Request struct {
	Scope   Scope
	NoHooks bool // only the server
	Remove  bool // remove planloop's parts instead of making them current
}

// Host is a host on this machine, with the state of planloop's parts in its files.
type Host struct {
	Name, Title string
	Found       string // how it was found; "" if it was not
	Edits       []Edit // its files, with the requested changes
	Server      State
	Hooks       State    // None: it has no hooks, so planning mode is not enforced for its own tools
	Obstacles   []string // reasons why its hooks do not run although they are written
	Plugin      *Plugin  // that also has planloop; nil if no plugin does
	UnreadFiles []string // files of plugins that were not read, each with the reason
	Note        string   // left for the user to do after a write

	uncovered []string // hooks of plugins that are not called for every tool
}

// HasChanges reports whether there is anything to write.
func (h Host) HasChanges() bool { return slices.ContainsFunc(h.Edits, Edit.HasChanges) }

// NeedsPaste reports whether a person must paste something into its files.
func (h Host) NeedsPaste() bool {
	return slices.ContainsFunc(h.Edits, func(e Edit) bool { return e.Paste != "" })
}

// IsDuplicated reports whether its files repeat a part that a plugin has.
func (h Host) IsDuplicated() bool {
	return h.Plugin != nil && (h.Plugin.Server && h.Server.IsInFile() || h.Plugin.Hooks && h.Hooks.IsInFile())
}

// IsConfigured reports whether its files contain a part of planloop.
func (h Host) IsConfigured() bool { return h.Server.IsInFile() || h.Hooks.IsInFile() }

// Programs lists the programs by which its files start planloop, without duplicates.
func (h Host) Programs() []string {
	var all []string
	for _, edit := range h.Edits {
		all = appendNew(all, edit.Programs...)
	}
	return all
}

// InspectAll examines all hosts, in the order of the documentation. It changes nothing; a problem with a
// file is in its Edit.
func (m Machine) InspectAll(w Request) []Host {
	var all []Host
	for _, h := range table(m, w.Scope) {
		all = append(all, m.inspect(h, w))
	}
	return all
}

// Inspect examines one host. ok is false if no host has that name.
func (m Machine) Inspect(name string, w Request) (host Host, ok bool) {
	for _, h := range table(m, w.Scope) {
		if h.name == name {
			return m.inspect(h, w), true
		}
	}
	return Host{}, false
}

func (m Machine) inspect(h host, w Request) Host {
	seen := Host{Name: h.name, Title: h.title, Found: m.evidence(h), Note: h.note}
	servers, handlers := []State{}, []State{}
	if h.plugin != nil {
		seen.Plugin = h.plugin(&seen)
	}
	for _, t := range h.targets(w) {
		edit := m.edit(h, t, w)
		if p := seen.Plugin; p != nil && !w.Remove && (p.Scope == User || w.Scope == Project) {
			edit = m.omitPluginParts(*p, h, t, w, edit)
		}
		seen.Edits = append(seen.Edits, edit)
		servers, handlers = append(servers, edit.Server), append(handlers, edit.Hooks)
	}
	seen.Server, seen.Hooks = worst(servers...), worst(handlers...)
	if !seen.Hooks.IsInstalled() {
		seen.Obstacles = seen.uncovered
	}
	if h.obstacles != nil && seen.Hooks != None && !w.Remove {
		seen.Obstacles = append(seen.Obstacles, h.obstacles()...)
	}
	return seen
}

// omitPluginParts returns the edit without the parts that a plugin has and the file lacks.
func (m Machine) omitPluginParts(p Plugin, h host, t target, w Request, e Edit) Edit {
	lacks := func(s State) bool { return s == Missing || s == Foreign }
	server, handlers := p.Server && lacks(e.Server), p.Hooks && lacks(e.Hooks)
	if server {
		t.server = nil
	}
	if handlers {
		t.hooks = nil
	}
	if !server && !handlers {
		return e
	}
	if e = m.edit(h, t, w); server {
		e.Server = ByPlugin
	}
	if handlers {
		e.Hooks = ByPlugin
	}
	return e
}

// Entry returns the server's entry in a host's settings for the user, as JSON; nil for an unknown host or one without servers.
func (m Machine) Entry(name string) jsontext.Value {
	for _, h := range table(m, User) {
		if h.name == name && h.server != nil {
			return jsontext.Value(inlineJSON(h.server.entry))
		}
	}
	return nil
}

// HostFiles names the files of a host that planloop writes; "" if a part has no file.
type HostFiles struct{ Name, Title, Found, Server, Hooks string }

// HostFiles lists the places of all hosts, in the order of the documentation. It reads no file.
func (m Machine) HostFiles(scope Scope) []HostFiles {
	var all []HostFiles
	for _, h := range table(m, scope) {
		place := HostFiles{Name: h.name, Title: h.title, Found: m.evidence(h)}
		for _, t := range h.targets(Request{Scope: scope}) {
			if t.server != nil {
				place.Server = t.path
			}
			if t.hooks != nil || t.wholeText != nil && place.Hooks == "" {
				place.Hooks = t.path
			}
		}
		all = append(all, place)
	}
	return all
}

// State describes a part of planloop in a host's files.
type State string

// The states. A host without a place for a part has the state None for it.
const (
	None       State = ""
	Current    State = "current"
	Edited     State = "edited"        // planloop's and current, with changes made by hand, which stay
	Old        State = "old"           // planloop's, but incomplete, of another version or at another path
	Missing    State = "missing"       // not in the file
	Foreign    State = "foreign"       // another server has planloop's name
	Unreadable State = "unreadable"    // unknown, because the file cannot be read
	ByPlugin   State = "by the plugin" // not in init's files, because a plugin has it
	Kept       State = "kept"          // planloop's, but not removed, because init did not write it
)

// IsInFile reports whether the file has planloop's part, current or not.
func (s State) IsInFile() bool { return s == Current || s == Edited || s == Old || s == Kept }

// IsInstalled reports whether the host has the part, in a file or by a plugin.
func (s State) IsInstalled() bool { return s.IsInFile() || s == ByPlugin }

// asKept returns the state of a part that is not removed.
func (s State) asKept() State {
	if s.IsInFile() {
		return Kept
	}
	return s
}

// worst combines the states of several parts. It is Old if some exist and others are missing.
func worst(states ...State) State {
	states = slices.DeleteFunc(slices.Clone(states), func(s State) bool { return s == None })
	some := slices.ContainsFunc(states, State.IsInFile)
	for _, state := range []State{Unreadable, Foreign, Missing, Old, Edited, Current, Kept, ByPlugin} {
		switch {
		case !slices.Contains(states, state):
		case state == Missing && some:
			return Old
		default:
			return state
		}
	}
	return None
}

// Plugin is an enabled plugin of a host that includes planloop. Its parts are in none of the files that init writes; init
// leaves them out so that the host does not have them twice.
type Plugin struct {
	Name     string // in the host's form: planloop@planloop
	Scope    Scope  // Project: enabled in this project only
	Server   bool
	Hooks    bool
	Programs []string // the programs that it starts, by the names it uses

	removeCommand string         // the command that uninstalls it
	events        map[string]any // its hooks
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

// readPlugin reads planloop's parts in a plugin's folder, nil if none. Hooks that are not called for every writing tool do not count.
func (h *Host) readPlugin(m Machine, folder string, p Plugin, manifest string) *Plugin {
	servers, _ := h.readPluginFile(filepath.Join(folder, manifest))["mcpServers"].(map[string]any)
	for _, server := range servers {
		if command := commandWords(server, "command"); len(command) > 0 && m.isOwn(command[0]) {
			p.Server = true
			p.Programs = appendNew(p.Programs, command[0])
		}
	}
	on := hook.Host(h.Name)
	if events, _ := h.readPluginFile(filepath.Join(folder, "hooks", "hooks.json"))["hooks"].(map[string]any); events != nil {
		p.events = events
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

// claudePlugin finds a plugin of Claude Code: the settings nearest to the project enable it; installed_plugins.json has its folder.
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

func escapeGlob(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}
