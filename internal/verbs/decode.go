package verbs

import (
	"errors"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// Decode reads JSON strictly into an input struct, by the rules for the arguments
// of tools. Foreign names that models use for ours are accepted: id for step_id,
// description for title, goal for objective. The error about the input is a
// *plan.ValidationError.
func Decode(arguments []byte, into any) error {
	err := strict.Decode(arguments, into, map[string]string{
		"id": "step_id", "stepId": "step_id", "task_id": "step_id",
		"description": "title", "goal": "objective", "task": "objective", "objective": "goal",
		"depends_on": "dependencies", "dependsOn": "dependencies", "hints": "context_hints", "paths": "relevant_file_paths",
	})
	var bad *strict.Error
	if errors.As(err, &bad) {
		return refusal(bad)
	}
	return err
}

// refusal says what strict found in the words of a *plan.ValidationError. A
// type's own refusal, such as that of a step id, keeps its words.
func refusal(bad *strict.Error) error {
	e := &plan.ValidationError{Kind: plan.InvalidInput, Field: escapedPointer(bad.Pointer), Problem: bad.Problem}
	var own *plan.ValidationError
	switch {
	case errors.As(bad, &own):
		e.Problem, e.Fix = own.Problem, own.Fix
	case bad.Nearest != "":
		e.Fix = "did you mean " + strconv.Quote(bad.Nearest) + "?"
	case bad.Want != "":
		e.Fix = "give " + bad.Want
	}
	e.Fix = strings.TrimPrefix(e.Fix+further(bad.Others), "; ")
	return e
}

// further tells of the problems behind the first, so that one answer mends them all.
func further(others []*strict.Error) string {
	const shown = 6
	var b strings.Builder
	for _, other := range others[:min(len(others), shown)] {
		b.WriteString("; also " + other.Error())
	}
	if n := len(others) - shown; n > 0 {
		b.WriteString("; and " + strconv.Itoa(n) + " more")
	}
	return b.String()
}

// escapedPointer returns a JSON pointer, which repeats keys of the input, fit to be
// shown.
func escapedPointer(pointer string) string {
	quoted := strconv.QuoteToGraphic(plan.Shorten(pointer, 120))
	return safetext.Escape(quoted[1 : len(quoted)-1])
}
