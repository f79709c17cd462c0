package scan

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns text on one line without control characters and characters
// that hide or reorder text, white space folded, in at most most characters.
func printable(text string, most int) string {
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(text, "") {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case hidden(r):
			continue
		case r == '`':
			r = '\'' // in a hint, back quotes name a file
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return shorten(b.String(), most)
}

// hidden reports characters that show nothing by themselves or change the order
// of others. Blank letters are no format characters, but hide as well.
func hidden(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, utf8.RuneError:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Variation_Selector)
}

const dots = "..."

// shorten cuts text to at most most characters, at a space if there is one near.
func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	cut := max(most-len(dots), 0)
	head := string(runes[:cut])
	if space := strings.LastIndexByte(head, ' '); space > len(head)*2/3 {
		head = head[:space]
	}
	return strings.TrimRight(head, " ,;:") + dots
}

// shortenPath cuts a path to at most most characters and keeps its end.
func shortenPath(name string, most int) string {
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	return dots + string(runes[len(runes)-most+len(dots):])
}

// nameable reports whether a plan, a prompt and a terminal can carry the name of
// a file: UTF-8 on one line, with nothing hidden, and no back quote, which ends
// the name of a file in a hint.
func nameable(name string) bool {
	if !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r == '`' || unicode.IsControl(r) || hidden(r) })
}

// binary reports content that is no text in UTF-8 or in an encoding like it.
func binary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 }

// maxLine is the length from which on a line was made by a program.
const maxLine = 2_000

// minified reports source that no person wrote, by its longest line.
func minified(content []byte) bool {
	for len(content) > maxLine {
		end := bytes.IndexByte(content, '\n')
		if end < 0 || end > maxLine {
			return true
		}
		content = content[end+1:]
	}
	return false
}

// generated reports source that says at its top that a program wrote it.
func generated(content []byte) bool {
	head := content[:min(len(content), 2<<10)]
	for line := range bytes.Lines(head) {
		if bytes.Contains(line, []byte("@generated")) || bytes.Contains(line, []byte("DO NOT EDIT")) {
			return true
		}
	}
	return false
}
