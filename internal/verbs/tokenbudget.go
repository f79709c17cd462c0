package verbs

import (
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// tokenBudget is what is left for the texts of a task while they are shortened one after
// the other.
type tokenBudget struct {
	bounds
	left int  // tokens, where they are bounded
	cut  bool // something was shortened or left out
}

// keyTokens is what naming one more field costs, and lineTokens the least that a
// text is worth showing in.
const (
	keyTokens  = 5
	lineTokens = 4
)

// line returns a text within its share of the room, in tokens.
func (r *tokenBudget) line(text string, tokens int) string {
	if text == "" {
		return ""
	}
	if r.tokens == 0 {
		return r.shown(text, plan.Shorten(text, r.text))
	}
	if r.left -= keyTokens; r.left < lineTokens {
		r.cut = true
		return ""
	}
	return r.spent(text, min(tokens, r.left), r.text)
}

// lines returns the first lines of a list, each within its share.
func (r *tokenBudget) lines(in []string) []string {
	out := make([]string, 0, min(len(in), r.list))
	if len(in) == 0 {
		return out
	}
	r.left -= keyTokens
	share := r.left / 2 // what comes after needs some, too
	for _, line := range in[:min(len(in), r.list)] {
		switch {
		case r.tokens == 0:
			out = append(out, r.shown(line, plan.Shorten(line, r.bounds.line)))
			continue
		case share < lineTokens && len(out) > 0, r.left < lineTokens:
			r.cut = true
			return out
		}
		before := r.left
		out = append(out, r.spent(line, min(max(share, lineTokens), r.left), r.bounds.line))
		share -= before - r.left
	}
	r.cut = r.cut || len(in) > len(out)
	return out
}

// ids returns the first of a list of steps.
func (r *tokenBudget) ids(in []plan.StepID) []int {
	if r.tokens > 0 && len(in) > 2*r.list {
		in, r.cut = in[:2*r.list], true
	}
	out := make([]int, len(in))
	for i, id := range in {
		out[i] = int(id)
	}
	return out
}

func (r *tokenBudget) spent(text string, share, length int) string {
	short := tokens.Shorten(text, share, length)
	r.left -= tokens.Count(short) + 1
	return r.shown(text, short)
}

func (r *tokenBudget) shown(text, short string) string {
	r.cut = r.cut || short != text
	return short
}
