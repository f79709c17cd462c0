package hosts

import (
	"fmt"
	"strings"

	"github.com/planloop/planloop/internal/hook"
)

// settings reads a JSON file that is not to be written.
func settings(file string) (map[string]any, error) {
	text, err := readAll(file)
	if err != nil {
		return nil, err
	}
	d, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	all, _ := d.value().(map[string]any)
	return all, nil
}

// said is what a JSON file says at a path, nil if it says nothing or cannot be read.
func said(file string, path ...string) any {
	all, _ := settings(file)
	value, _ := lookUp(all, path...)
	return value
}

// saidTOML is what a TOML file says, nothing if it cannot be read.
func saidTOML(file string) settingsTOML {
	text, _ := readAll(file) // without a file nothing is said
	all, _ := readTOML(text)
	return all
}

// lookUp returns the value at a path.
func lookUp(value any, path ...string) (found any, ok bool) {
	for _, name := range path {
		members, _ := value.(map[string]any)
		if value, ok = members[name]; !ok {
			return nil, false
		}
	}
	return value, true
}

// untrusted counts the hooks of planloop's in a file of Codex's that its settings have no
// trust for. Whether the trust is for the hook as it is now, only Codex can tell.
func (m Machine) untrusted(file, config string) int {
	state, count := saidTOML(config), 0
	for _, e := range hook.Events(hook.Codex) {
		for _, s := range m.spots(hook.Codex, said(file, "hooks", e.Native)) {
			name := fmt.Sprintf("%s:%s:%d:%d", file, strings.ReplaceAll(e.Name, "-", "_"), s.element, max(s.index, 0))
			if state.text("hooks", "state", name, "trusted_hash") == "" {
				count++
			}
		}
	}
	return count
}
