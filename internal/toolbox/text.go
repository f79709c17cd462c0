package toolbox

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns text that shows nothing but itself: newlines and tabs stay,
// other control characters and those that hide or reorder text are escaped, and
// bytes that are no UTF-8 are replaced.
func printable(text string) string {
	if strings.IndexFunc(text, deceptive) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text { // an invalid byte is U+FFFD here
		switch {
		case !deceptive(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// deceptive reports the characters that do not show as themselves. The joiners
// stay: scripts and emoji need them.
func deceptive(r rune) bool {
	switch r {
	case '\n', '\t', 0x200C, 0x200D:
		return false
	case 0x2028, 0x2029:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// oneLine is printable for what must stay on its line, such as a name.
func oneLine(text string) string {
	return strings.NewReplacer("\n", `\x0a`, "\t", `\x09`).Replace(printable(text))
}

// head returns at most max bytes of the beginning of text, in whole characters.
func head(text string, max int) string {
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	return text[:max]
}

// end returns at most max bytes of the end of text, in whole characters, and in
// whole lines unless the first of them is most of it.
func end(text string, max int) string {
	if len(text) <= max {
		return text
	}
	text = text[len(text)-max:]
	i := 0
	for i < len(text) && i < utf8.UTFMax && !utf8.RuneStart(text[i]) {
		i++
	}
	if i < utf8.UTFMax { // else it is no UTF-8
		text = text[i:]
	}
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)/2 {
		text = text[i+1:]
	}
	return text
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// counted writes a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
