package main

import (
	"fmt"
	"strings"
	"unicode"
)

// printable returns text fit for a terminal: control characters and escapes,
// which old rows or foreign names may hold, are written as \xNN. Line breaks and
// tabs stay.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case r < 0x100 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02X`, r)
		case !unicode.IsPrint(r) && r != 0x200D && r != 0x200C:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
