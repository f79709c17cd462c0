package hosts

import (
	"fmt"
	"strings"

	"github.com/planloop/planloop/internal/hook"
)

// readSettings reads a JSON file that planloop does not write.
func readSettings(file string) (map[string]any, error) {
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

// jsonSetting returns the value at a path of a JSON file, nil if the path or the file cannot be read.
func jsonSetting(file string, path ...string) any {
	all, _ := readSettings(file)
	value, _ := lookUp(all, path...)
	return value
}

// tomlSettings returns the settings in a TOML file, which are empty if it cannot be read.
func tomlSettings(file string) settingsTOML {
	text, _ := readAll(file) // a missing file has no settings
	all, _ := readTOML(text)
	return all
}

// inFiles returns an obstacle for each file that has it.
func (m Machine) inFiles(problem string, has func(file string) bool, files ...string) (found []string) {
	for _, file := range files {
		if has(file) {
			found = append(found, m.Short(file)+problem)
		}
	}
	return found
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

// countUntrusted counts planloop's hooks in a file of Codex that its settings do not trust. Only Codex
// can tell whether the trust covers the current text of a hook.
func (m Machine) countUntrusted(file, config string) int {
	state, count := tomlSettings(config), 0
	for _, e := range hook.Events(hook.Codex) {
		for _, s := range m.findHooks(hook.Codex, jsonSetting(file, "hooks", e.Native)) {
			name := fmt.Sprintf("%s:%s:%d:%d", file, strings.ReplaceAll(e.Name, "-", "_"), s.element, max(s.index, 0))
			if state.text("hooks", "state", name, "trusted_hash") == "" {
				count++
			}
		}
	}
	return count
}
