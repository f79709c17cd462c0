package gates

import (
	"context"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

func checkType(_ context.Context, e *examination, i int) []flaw {
	t := e.New[i].Type
	switch {
	case t == "":
		return missing("type", "give one of "+strings.Join(t.Values(), ", "))
	case slices.Contains(t.Values(), string(t)):
		return nil
	}
	return []flaw{{message: "has a `type` that is not known: " + code(string(t)) + ".", fix: "give one of " + strings.Join(plan.StepType("").Values(), ", ")}}
}

func checkHintsGiven(_ context.Context, e *examination, i int) []flaw {
	if slices.ContainsFunc(e.New[i].ContextHints, given) {
		return nil
	}
	return missing("context_hints", "say what to read first, such as \"Read section 2 of `spec.md`\"")
}

func checkPathsGiven(_ context.Context, e *examination, i int) []flaw {
	if slices.ContainsFunc(e.New[i].RelevantFilePaths, given) {
		return nil
	}
	return missing("relevant_file_paths", "list the files the task will read or change; those it brings into being stand in `creates` as well")
}

func given(text string) bool { return strings.TrimSpace(text) != "" }

// missing is the sentence of the specification (planloop: Plan Validation Error Response).
func missing(field, fix string) []flaw {
	return []flaw{{message: "is missing the `" + field + "` field.", fix: fix, verbatim: true}}
}
