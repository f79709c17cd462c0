package hosts

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Want is what is asked of a host's files.
type Want struct {
	Scope   Scope
	NoHooks bool // the server alone
	Remove  bool // take out what is planloop's, instead of making it current
}

// Host is a host on this machine, and what its files hold of planloop.
type Host struct {
	Name, Title string
	Found       string // how it was found; "" when it was not
	Edits       []Edit // its files, and what would make them as wanted
	Server      State
	Hooks       State    // None: it has none, and what planning mode asks of its own tools is advisory
	Obstacles   []string // what keeps its hooks from being heard, though they are written
	Plugin      *Plugin  // that has planloop, too; nil: there is none
	Unread      []string // files of plugins, and why they were not read
	Unsure      bool     // what it makes of a refusal changes from version to version
	Note        string   // what is left to do once something was written

	unasked []string // hooks of plugins that are not called for every tool
}

// Changes reports whether there is anything to write.
func (h Host) Changes() bool { return slices.ContainsFunc(h.Edits, Edit.Changes) }

// Pastes reports whether there is anything that a person is to put into its files.
func (h Host) Pastes() bool {
	return slices.ContainsFunc(h.Edits, func(e Edit) bool { return e.Paste != "" })
}

// Twice reports whether what a plugin has stands in its files as well.
func (h Host) Twice() bool {
	return h.Plugin != nil && (h.Plugin.Server && h.Server.Stands() || h.Plugin.Hooks && h.Hooks.Stands())
}

// Has reports whether something of planloop's stands in its files.
func (h Host) Has() bool { return h.Server.Stands() || h.Hooks.Stands() }

// Starts are the programs by which its files start planloop, each once.
func (h Host) Starts() []string {
	var all []string
	for _, edit := range h.Edits {
		for _, program := range edit.Starts {
			if !slices.Contains(all, program) {
				all = append(all, program)
			}
		}
	}
	return all
}

// Find looks at all hosts, in the order of the documentation. Nothing is changed, and what is
// wrong with a file stands in its edit.
func (m Machine) Find(w Want) []Host {
	var all []Host
	for _, h := range table(m, w.Scope) {
		all = append(all, m.look(h, w))
	}
	return all
}

// Look looks at one host; not ok: there is none of that name.
func (m Machine) Look(name string, w Want) (host Host, ok bool) {
	for _, h := range table(m, w.Scope) {
		if h.name == name {
			return m.look(h, w), true
		}
	}
	return Host{}, false
}

func (m Machine) look(h host, w Want) Host {
	seen := Host{Name: h.name, Title: h.title, Found: m.found(h), Note: h.note, Unsure: h.unsure}
	servers, handlers := []State{}, []State{}
	if h.plugin != nil {
		seen.Plugin = h.plugin(&seen)
	}
	for _, t := range h.targets(w) {
		edit := m.edit(h, t, w)
		if p := seen.Plugin; p != nil && !w.Remove && (p.Scope == User || w.Scope == Project) {
			edit = m.beside(*p, h, t, w, edit)
		}
		seen.Edits = append(seen.Edits, edit)
		servers, handlers = append(servers, edit.Server), append(handlers, edit.Hooks)
	}
	seen.Server, seen.Hooks = worst(servers...), worst(handlers...)
	if !seen.Hooks.Known() {
		seen.Obstacles = seen.unasked
	}
	if h.obstacles != nil && seen.Hooks != None && !w.Remove {
		seen.Obstacles = append(seen.Obstacles, h.obstacles()...)
	}
	return seen
}

// beside leaves out of an edit what a plugin has, and the file has not.
func (m Machine) beside(p Plugin, h host, t target, w Want, e Edit) Edit {
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

// Entry is how a host's settings name the server for the user, as JSON; "" if there is no such host.
func (m Machine) Entry(name string) jsontext.Value {
	for _, h := range table(m, User) {
		if h.name == name && h.server != nil {
			return jsontext.Value(inlineJSON(h.server.entry))
		}
	}
	return nil
}

// Place is where a host keeps what planloop writes; "" for what it has no file for.
type Place struct{ Name, Title, Found, Server, Hooks string }

// Places are those of all hosts, in the order of the documentation. No file is read.
func (m Machine) Places(scope Scope) []Place {
	var all []Place
	for _, h := range table(m, scope) {
		place := Place{Name: h.name, Title: h.title, Found: m.found(h)}
		for _, t := range h.targets(Want{Scope: scope}) {
			if t.server != nil {
				place.Server = t.path
			}
			if t.hooks != nil || t.whole != nil && place.Hooks == "" {
				place.Hooks = t.path
			}
		}
		all = append(all, place)
	}
	return all
}
