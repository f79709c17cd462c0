package safetext

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/plan"
)

// Keepable makes a program's output acceptable as text of a plan: it keeps the last max characters, without escape
// sequences and invisible characters.
func Keepable(text string, max int) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(ansi.Strip(strings.ToValidUTF8(text, "?")))
	if over := utf8.RuneCountInString(text) - max; over > 0 {
		text = string([]rune(text)[over:])
	}
	rule := plan.Text{Max: max, Multiline: true}
	clean, err := rule.Clean(text)
	if err != nil {
		clean, _ = rule.Clean(strings.Map(plainRune, text)) // "" if nothing remains
	}
	return clean
}

func plainRune(r rune) rune {
	if r == '\n' || r == '\t' || r >= ' ' && r < 0x7f {
		return r
	}
	return '?'
}

// LastLine returns the last line of a program's output that is not blank, fit for display.
func LastLine(text string) string {
	for {
		text = strings.TrimRight(text, "\r\n\t ")
		start := strings.LastIndexAny(text, "\r\n") + 1
		if line := strings.TrimSpace(ansi.Strip(text[start:])); line != "" || start == 0 {
			return EscapeLine(line)
		}
		text = text[:start]
	}
}
