package plan

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// renameCondition is renameReference for a condition.
func renameCondition(text string, named func(string) (string, bool)) string {
	var b strings.Builder
	done := 0
	eachConditionName(text, func(from, to int) {
		if other, known := named(text[from:to]); known {
			b.WriteString(text[done:from] + other)
			done = to
		}
	})
	return b.String() + text[done:]
}

// eachConditionName visits the names of steps in a condition, in steps.name or steps["name"]. It
// reads words, not the grammar, so it may find too many. The compiler of conditions must refuse any
// in which it would find too few.
func eachConditionName(text string, visit func(from, to int)) {
	for i := 0; i < len(text); {
		end := tokenEnd(text, i)
		before := strings.TrimRightFunc(text[:i], unicode.IsSpace)
		if text[i:end] == "steps" && (!strings.HasSuffix(before, ".") || strings.HasSuffix(before, "..")) { // not a field's name
			if from, to, nextIndex := conditionName(text, end); from < to {
				visit(from, to)
				end = nextIndex
			}
		}
		i = end
	}
}

// tokenEnd returns the end of the word, quoted text, comment or character at i.
func tokenEnd(text string, i int) int {
	indexAfter := func(from int, end string) int {
		if at := strings.Index(text[from:], end); at >= 0 {
			return from + at + len(end)
		}
		return len(text)
	}
	switch rest := text[i:]; {
	case rest[0] == '"' || rest[0] == '\'':
		return literalEnd(text, i)
	case rest[0] == '`':
		return indexAfter(i+1, "`")
	case strings.HasPrefix(rest, "//"):
		return indexAfter(i, "\n")
	case strings.HasPrefix(rest, "/*"):
		return indexAfter(i+2, "*/")
	}
	if end := wordEnd(text, i); end > i {
		return end
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	return i + size
}

func wordEnd(text string, i int) int {
	inWord := func(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	return len(text) - len(strings.TrimLeftFunc(text[i:], inWord))
}

// conditionName returns the range of the name selected from the value that ends at i, and the index
// after the whole selector.
func conditionName(text string, i int) (from, to, nextIndex int) {
	skip := func(what string) {
		if rest, found := strings.CutPrefix(text[i:], what); found {
			i = len(text) - len(rest)
		}
		i = len(text) - len(strings.TrimLeftFunc(text[i:], unicode.IsSpace))
	}
	skip("")
	skip("?")
	dot := i
	skip(".")
	if i > dot && !strings.HasPrefix(text[i:], "[") {
		end := wordEnd(text, i)
		return i, end, end
	}
	bracket := i
	skip("[")
	if i == bracket || i == len(text) || !strings.ContainsRune("\"'`", rune(text[i])) {
		return 0, 0, 0
	}
	end := tokenEnd(text, i)
	return i + 1, end - 1, end
}

// readsEndOf reports whether the step's condition reads how another step ended: its status or ok. Anything but its
// value and output counts as that, so it may find too many.
func (s Spec) readsEndOf(id StepID) (reads bool) {
	eachConditionName(s.When, func(from, to int) {
		if named, ok := stepNamed(s.When[from:to]); !ok || named != id {
			return
		}
		from, to, _ = conditionName(s.When, len(s.When)-len(strings.TrimLeft(s.When[to:], "\"'`] \t")))
		reads = reads || !slices.Contains([]string{"value", "output", "json"}, s.When[from:to])
	})
	return reads
}

// ConditionUnmet skips a step with a false condition; its dependents may start.
type ConditionUnmet struct {
	Step StepID    `json:"step_id"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

func (e ConditionUnmet) marks() StepID { return e.Step }

func (e ConditionUnmet) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		step.become(StepMarked{Step: e.Step, Status: Skipped, By: e.By, At: e.At})
		step.execute(func(x *Execution) { x.ConditionFalse = true })
	})
}

// ConditionMet leaves a step with a true condition to agents.
type ConditionMet struct {
	Step StepID    `json:"step_id"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

func (e ConditionMet) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) { step.execute(func(x *Execution) { x.ConditionTrue = true }) })
}
