package prompts

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// goalLimit bounds a goal, in characters after trimming.
const goalLimit = 2000

// goal is a person's own words, fenced off from the texts of this package.
type goal struct {
	Text string
}

// parseGoal trims and checks a goal; blank text is none.
func parseGoal(text string) (*goal, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("the text is not valid UTF-8: send it as UTF-8")
	}
	if n := utf8.RuneCountInString(text); n > goalLimit {
		return nil, fmt.Errorf("the text has %d characters and at most %d are allowed: shorten it", n, goalLimit)
	}
	position := 0
	for _, r := range text {
		position++
		if refused(r) {
			return nil, fmt.Errorf("control character %U at character %d is not allowed: give the goal as plain text on one line", r, position)
		}
	}
	return &goal{Text: text}, nil
}

// refused reports characters that break the line or change how text is shown:
// a reader could be led to see something other than what a model is given.
func refused(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) ||
		'\u202A' <= r && r <= '\u202E' || // bidirectional embeddings and overrides
		'\u2066' <= r && r <= '\u2069' // bidirectional isolates
}

// Fence returns a code fence that the text cannot close.
func (g *goal) Fence() string { return fence(g.Text) }
