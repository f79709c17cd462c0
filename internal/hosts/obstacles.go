package hosts

import (
	"fmt"
	"strings"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/splice"
)

// said is what a file says at a path, nil where it says nothing or cannot be read.
func said(file string, format splice.Format, path ...splice.Key) any {
	d, err := document(file, format)
	if err != nil {
		return nil
	}
	value, _ := d.Value(path...)
	return value
}

// document reads a file that is not to be written.
func document(file string, format splice.Format) (*splice.Document, error) {
	text, err := readAll(file)
	if err != nil {
		return nil, err
	}
	return splice.Parse(format, text)
}

// untrusted counts the hooks of planloop's in a file of Codex's that its settings know no
// trust for. Whether the trust is for the hook as it stands, Codex alone can tell.
func (m Machine) untrusted(file, settings string) int {
	d, err := document(file, splice.JSON)
	if err != nil {
		return 0
	}
	count := 0
	for _, e := range hook.Events(hook.Codex) {
		for _, s := range m.spots(d, hook.Codex, []splice.Key{"hooks", e.Native}) {
			name := fmt.Sprintf("%s:%s:%d:%d", file, strings.ReplaceAll(e.Name, "-", "_"), s.element, max(s.handler, 0))
			if hash, _ := said(settings, splice.TOML, "hooks", "state", name, "trusted_hash").(string); hash == "" {
				count++
			}
		}
	}
	return count
}
