package gates

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/planloop/planloop/plan"
)

func checkVerifiable(_ context.Context, e *examination, i int) []flaw {
	t := e.New[i]
	if t.Type == plan.Test || given(t.Verify) || slices.ContainsFunc(t.AcceptanceCriteria, given) || measurable(withoutVerb(t.Title)) || measurable(words(t.Details)) {
		return nil
	}
	return []flaw{{message: "has nothing to verify it by.", fix: "give `acceptance_criteria`, or a command in `verify`"}}
}

// withoutVerb returns the words of a title behind the first, which says what to do
// and not what comes of it.
func withoutVerb(title string) []word {
	list := sentence(title)
	return list[min(1, len(list)):]
}

// measurable reports whether a text says what will be seen when it is true: a
// bound, or a word for an outcome.
func measurable(text []word) bool {
	for _, w := range text {
		if !w.code && (outcomes()[w.text] || strings.ContainsFunc(w.text, unicode.IsDigit) && quantity(w.text)) {
			return true
		}
	}
	return false
}

// quantity reports a number, also with a unit or a sign: 404, 100ms, 80%, >=3.
func quantity(text string) bool {
	number := strings.TrimLeft(text, "<>=~≤≥")
	unit := strings.TrimLeft(number, "0123456789.,")
	return number != text || unit != number && (unit == "" || unit == "%" || slices.Contains([]string{"ms", "s", "sec", "kb", "mb", "gb", "b", "x", "px", "rps"}, unit))
}

var outcomes = sync.OnceValue(func() map[string]bool {
	return set(`return returns respond responds reject rejects accept accepts pass passes fail fails print prints show shows display displays exit exits assert asserts
		test tests tested verify verifies raise raises throw throws equal equals match matches within until unless under below above exceed exceeds
		least most must should so when succeed succeeds refuse refuses log logs emit emits status benchmark benchmarks`)
})
