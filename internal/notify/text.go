package notify

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean returns text that shows as what it is: valid, with plain line ends, and
// with U+FFFD for control characters, for those that turn the direction of
// writing, and for those that nobody sees.
func clean(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n").Replace(strings.ToValidUTF8(s, "\ufffd"))
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && disguises(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// disguises reports whether a character changes how others are shown. Those that
// join letters and emoji are needed to write.
func disguises(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	if r == nonJoiner || r == joiner || unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf)
}

// line returns clean text on one line, with single spaces.
func line(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// paragraph returns clean text without space around it.
func paragraph(s string) string { return strings.TrimSpace(clean(s)) }

// ellipsis stands for what was cut off.
const ellipsis = "…"

// cut returns at most limit units of s, with an ellipsis for what is missing.
func cut(s string, limit int) string {
	return rewritten(s, limit, func(r rune) string { return string(r) })
}

// rewritten returns s with every character replaced by its piece, in at most
// limit units. No piece is divided: where the next has no room, an ellipsis ends
// the text. The limit is one or more.
func rewritten(s string, limit int, piece func(rune) string) string {
	var b strings.Builder
	length, kept := 0, 0 // in units; in bytes, that fit with an ellipsis after them
	for _, r := range s {
		p := piece(r)
		if length += units(p); length > limit {
			return b.String()[:kept] + ellipsis
		}
		b.WriteString(p)
		if length < limit {
			kept = b.Len()
		}
	}
	return b.String()
}

// units is the length of s as the strictest counter of characters counts: in
// UTF-16, where an emoji is two.
func units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
