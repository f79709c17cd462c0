package resources

import (
	"strings"
	"unicode"
)

// escapeInline returns text so that Markdown shows it as it is: no code, link,
// HTML, emphasis or entity can come of it. A line break stays what it is.
func escapeInline(text string) string {
	runes := []rune(text)
	var b strings.Builder
	for i, r := range runes {
		if special(runes, i) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func special(runes []rune, i int) bool {
	near := func(k int) rune {
		if k < 0 || k >= len(runes) {
			return ' '
		}
		return runes[k]
	}
	before, after := near(i-1), near(i+1)
	switch runes[i] {
	case '\\', '`', '*', '[', ']', '<':
		return true
	case '_': // within a word it is no emphasis
		return !wordRune(before) || !wordRune(after)
	case '~':
		return before == '~' || after == '~'
	case '&':
		return after == '#' || unicode.IsLetter(after)
	case '#': // would open a heading or close one
		return before == ' ' || before == '\n' || before == '#'
	}
	return false
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// escapeLine is escapeInline for text that begins a line, where more characters
// mean something.
func escapeLine(line string) string {
	body := strings.TrimLeft(line, " \t")
	blanks := line[:len(line)-len(body)]
	if n := orderedMarker(body); n > 0 {
		return blanks + body[:n] + `\` + escapeInline(body[n:])
	}
	if body != "" && strings.IndexByte("-+=>|:", body[0]) >= 0 {
		return blanks + `\` + escapeInline(body)
	}
	return blanks + escapeInline(body)
}

// orderedMarker returns how many digits stand before the dot or bracket of an
// ordered list's marker, 0 when line has none.
func orderedMarker(line string) int {
	n := strings.IndexFunc(line, func(r rune) bool { return r < '0' || r > '9' })
	if n > 0 && (line[n] == '.' || line[n] == ')') {
		return n
	}
	return 0
}

// escapeBlock escapes text of several lines and puts margin before all but the
// first; what blanks end a line are dropped, for two would force a break.
func escapeBlock(text, margin string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " \t")
		if line == "" {
			lines[i] = ""
			continue
		}
		lines[i] = escapeLine(line)
		if i > 0 {
			lines[i] = margin + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}
