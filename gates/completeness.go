package gates

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

func checkType(_ context.Context, e *examination, i int) []flaw {
	t := e.New[i].Type
	fix := "give one of " + strings.Join(t.Values(), ", ")
	if t == "" {
		return missing("type", fix)
	}
	return flawIf(!slices.Contains(t.Values(), string(t)), "has an unknown `type`: "+code(string(t))+".", fix)
}

func checkHintsGiven(_ context.Context, e *examination, i int) []flaw {
	if slices.ContainsFunc(e.New[i].ContextHints, isGiven) {
		return nil
	}
	return missing("context_hints", "name a place to read first, such as \"Read section 2 of `spec.md`\"")
}

func checkPathsGiven(_ context.Context, e *examination, i int) []flaw {
	if slices.ContainsFunc(e.New[i].RelevantFilePaths, isGiven) || slices.ContainsFunc(e.New[i].Creates, isGiven) {
		return nil
	}
	return missing("relevant_file_paths", "list the files the task will read or change, and in `creates` the new ones")
}

func isGiven(text string) bool { return strings.TrimSpace(text) != "" }

// missing returns the specification's sentence (planloop: Plan Validation Error Response).
func missing(field, fix string) []flaw {
	return []flaw{{message: "is missing the `" + field + "` field.", fix: fix, verbatim: true}}
}

func flawIf(found bool, message, fix string) []flaw {
	if !found {
		return nil
	}
	return []flaw{{message: message, fix: fix}}
}

// Limits of a task that fits into one commit, as a rule of thumb.
const (
	maxTitle    = 160
	maxDetails  = 3_000
	maxPaths    = 15
	maxCriteria = 12
)

func checkSize(_ context.Context, e *examination, i int) []flaw {
	t, reason := e.New[i], ""
	paths := len(distinct(slices.Concat(t.RelevantFilePaths, t.Creates)))
	switch words, title, details := sweeping(t.Title), utf8.RuneCountInString(t.Title), utf8.RuneCountInString(t.Details); {
	case words != "":
		reason = "the title says \"" + excerpt(words, titleShown) + "\""
	case title > maxTitle:
		reason = fmt.Sprintf("the title has %d characters", title)
	case details > maxDetails:
		reason = fmt.Sprintf("the details have %d characters", details)
	case paths > maxPaths:
		reason = fmt.Sprintf("it names %d paths", paths)
	case len(t.AcceptanceCriteria) > maxCriteria:
		reason = fmt.Sprintf("it has %d acceptance criteria", len(t.AcceptanceCriteria))
	}
	return flawIf(reason != "", "looks too large for one commit: "+reason+".",
		"break it down into tasks that are each one logical change")
}

// sweeping returns the words of a title that include everything.
func sweeping(title string) string {
	list := words(title)
	for i, w := range list {
		next := ""
		if i+1 < len(list) && !list[i+1].code {
			next = list[i+1].text
		}
		switch {
		case w.code:
		case (w.text == "entire" || w.text == "whole") && !isListed(next, "smallThings"):
			return strings.TrimSpace(w.text + " " + next)
		case w.text == "everything", w.text == "from" && next == "scratch",
			w.text == "all" && (next == "of" || isListed(next, "largeThings")):
			return strings.TrimSpace(w.text + " " + next)
		case w.text == "all" && next == "the" && i+2 < len(list) && isListed(list[i+2].text, "largeThings"):
			return "all the " + list[i+2].text
		}
	}
	return ""
}

func checkReversible(_ context.Context, e *examination, i int) []flaw {
	t := e.New[i]
	if t.Risk != plan.HighRisk {
		return nil
	}
	texts := slices.Concat([]string{t.Title, t.Details, t.Verify, t.Pause}, t.AcceptanceCriteria, t.ContextHints)
	text := strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(strings.Join(texts, "\n")))
	for way := range vocabularies()["waysBack"] { // to undo or to try
		if strings.Contains(text, way) {
			return nil
		}
	}
	return []flaw{{message: "has high risk, and no rollback is described.",
		fix: "describe how to undo it or try it first: a backup, a revert, a flag, a dry run"}}
}
