package safetext

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/plan"
)

// Keepable returns what a program printed as text that a plan takes, in so many characters at
// most, whose end is kept: without escape sequences and what hides text.
func Keepable(text string, max int) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(ansi.Strip(strings.ToValidUTF8(text, "?")))
	if over := utf8.RuneCountInString(text) - max; over > 0 {
		text = string([]rune(text)[over:])
	}
	rule := plan.Text{Max: max, Multiline: true}
	clean, err := rule.Clean(text)
	if err != nil {
		clean, _ = rule.Clean(strings.Map(plainRune, text)) // "" where nothing may be kept
	}
	return clean
}

func plainRune(r rune) rune {
	if r == '\n' || r == '\t' || r >= ' ' && r < 0x7f {
		return r
	}
	return '?'
}

// LastLine returns the last line of what a program printed that says anything, fit to be shown.
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
