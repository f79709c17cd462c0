package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

// printable returns text fit for a terminal: control characters, escapes and
// characters that hide or reorder text, which old rows or foreign names may
// hold, are written as \xNN or \uNNNN. Line breaks and tabs stay.
func printable(text string) string {
	if harmless(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02X`, text[i])
		case shown(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	return b.String()
}

// printableLine is printable for text that has to stay on its line.
func printableLine(text string) string {
	return strings.NewReplacer("\n", `\x0A`, "\t", " ").Replace(printable(text))
}

func harmless(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || !shown(r) })
}

// shown reports the characters that a terminal shows as themselves, or that
// scripts and emoji need: blanks of all widths and joiners.
func shown(r rune) bool {
	const nonJoiner, joiner = 0x200C, 0x200D
	return unicode.IsPrint(r) || r == '\n' || r == '\t' || r == nonJoiner || r == joiner || unicode.Is(unicode.Zs, r)
}

// printableJSON returns a JSON document with what printable escapes written as
// \uNNNN, which says the same. Such characters stand within strings only.
func printableJSON(data []byte) []byte {
	if harmless(string(data)) {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		switch {
		case shown(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// quoted returns a word of the command line for a message.
func quoted(word string) string { return strconv.QuoteToGraphic(plan.Shorten(word, 60)) }
