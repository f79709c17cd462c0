package toolbox

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

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
