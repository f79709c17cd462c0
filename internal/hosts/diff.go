package hosts

import (
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// maxLineBytes limits the bytes of a line in a difference, because some programs write a whole file on one line.
const maxLineBytes = 300

// Difference returns an edit as a unified difference with one line of context, because lines
// nearby may contain secrets. name is the file's name in it.
func (e Edit) Difference(name string) string {
	if !e.HasChanges() {
		return ""
	}
	old, now := name, name
	if !e.Exists {
		old = "/dev/null"
	}
	if !e.WillExist {
		now = "/dev/null"
	}
	unified, err := udiff.ToUnified(old, now, string(e.Before), udiff.Lines(string(e.Before), string(e.After)), 1)
	if err != nil {
		return "--- " + old + "\n+++ " + now + "\n"
	}
	var lines strings.Builder
	for line := range strings.Lines(unified) {
		if text := strings.TrimRight(line, "\n"); len(text) > maxLineBytes {
			cut := maxLineBytes
			for cut > 0 && !utf8.RuneStart(text[cut]) {
				cut--
			}
			line = text[:cut] + "…\n"
		}
		lines.WriteString(line)
	}
	return lines.String()
}
