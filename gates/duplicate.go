package gates

import (
	"context"
	"strings"

	"github.com/planloop/planloop/plan"
)

// twin is a step with the title of a new task: one that is open, or one that is
// new as well.
type twin struct {
	id   plan.StepID
	open bool
}

// twins finds the tasks whose title is taken, by position. It is what makes a call
// that is sent twice harmless.
func twins(c Candidate) map[int]twin {
	taken := map[string]twin{}
	if !c.Replaces {
		for step := range c.Have.All() {
			key := sameTitle(step.Title)
			if _, ok := taken[key]; !ok && !step.Status.Finished() {
				taken[key] = twin{step.ID, true}
			}
		}
	}
	found := map[int]twin{}
	for i, t := range c.New {
		key := sameTitle(t.Title)
		other, ok := taken[key]
		switch {
		case key == "":
		case ok:
			found[i] = other
		default:
			taken[key] = twin{id: t.ID}
		}
	}
	return found
}

// sameTitle returns what two titles have in common when they say the same: neither
// case, spaces, quotes nor the punctuation at the end count.
func sameTitle(title string) string {
	title = strings.Map(func(r rune) rune {
		if strings.ContainsRune("`'\"“”‘’«»", r) {
			return -1
		}
		return r
	}, strings.ToLower(title))
	return strings.TrimRight(strings.Join(strings.Fields(title), " "), ".!?:;, ")
}

func checkDuplicate(_ context.Context, e *examination, i int) []flaw {
	other, ok := e.twins[i]
	switch {
	case !ok:
		return nil
	case other.open:
		return []flaw{{message: "has the title of " + other.id.String() + ", which is open.",
			fix: "update " + other.id.String() + " instead of adding it again, or give a title that tells the two apart"}}
	}
	return []flaw{{message: "has the title of another new task, " + other.id.String() + ".",
		fix: "drop one of the two, or give titles that tell them apart"}}
}
