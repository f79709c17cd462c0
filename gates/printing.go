package gates

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

// How much of a text a message shows, in characters.
const (
	titleShown = 80
	pathShown  = 200
	hintShown  = 80
)

// printable returns text on one line and shortened to n characters, with
// everything that a terminal would act on, or that does not show, escaped.
func printable(text string, n int) string {
	text = plan.Shorten(text, n)
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToGraphic(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}

// code writes a path or an id as messages show it.
func code(text string) string { return "`" + printable(text, pathShown) + "`" }

// position is how a task without a title is called: counted from 1.
func position(i int) string { return strconv.Itoa(i + 1) }
