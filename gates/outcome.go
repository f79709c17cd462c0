package gates

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/planloop/planloop/plan"
)

func checkOutcome(_ context.Context, e *examination, i int) []flaw {
	task := e.New[i]
	return flawIf(!verifies(task.Verify) && !slices.ContainsFunc(task.AcceptanceCriteria, isGiven) && vague(task.Title),
		"does not name a result.",
		"name a visible or measurable outcome, such as \"Optimize `GET /users` to respond in under 100 ms\", "+
			"or give `acceptance_criteria` or `verify`")
}

// vague reports whether a title asks for improvement instead of a result: a verb without an end (improve) and an object
// that is not narrowed down, or an unspecific verb and a word for everything (the backend, bugs).
func vague(title string) bool {
	list := sentence(title)
	if len(list) < 2 || specific(list) {
		return false
	}
	verb, object := verbAndObject(list)
	if verb == "make" || verb == "get" || verb == "keep" {
		return slices.ContainsFunc(object, func(w word) bool { return comparatives.has(w.text) })
	}
	core := content(object)
	switch {
	case endless.has(verb):
		return len(core) <= 2 || abstracts.has(head(object))
	case unspecific.has(verb):
		return !slices.ContainsFunc(core, func(w string) bool { return !abstracts.has(w) })
	}
	return false
}

// specific reports whether anything in a title narrows it down.
func specific(list []word) bool {
	for i, w := range list {
		switch {
		case w.named() && !abstracts.has(w.text):
			return true
		case i == 0 || i+1 == len(list):
		case w.text == "by" && strings.HasSuffix(list[i+1].text, "ing"), w.text == "to" && isTaskVerb(list[i+1].text) &&
			!unspecific.has(list[i+1].text) && !endless.has(list[i+1].text):
			return true
		case i > 1 && pins.has(w.text):
			return true
		}
	}
	return false
}

// verbAndObject splits a title. A form in -ing counts as its verb, and a verb may have a particle: clean up, work on.
func verbAndObject(list []word) (verb string, object []word) {
	verb = list[0].text
	if base := gerundOf(verb); base != "" {
		verb = base
	}
	for len(list) > 2 && adverbs.has(verb) {
		list = list[1:]
		verb = list[0].text
	}
	if joined := verb + " " + list[1].text; endless.has(joined) || unspecific.has(joined) || particles.has(joined) {
		return joined, list[2:]
	}
	return verb, list[1:]
}

// content returns the meaningful words of an object.
func content(object []word) []string {
	var list []string
	for _, w := range object {
		if w.text != "" && !determiners.has(w.text) && !prepositions.has(w.text) && !pronouns.has(w.text) && !emptyWords.has(w.text) {
			list = append(list, w.text)
		}
	}
	if len(list) == 0 {
		return []string{"things"}
	}
	return list
}

// head returns the last word of an object before its first preposition: the thing itself, without its place.
func head(object []word) string {
	last := ""
	for _, w := range object {
		if prepositions.has(w.text) && w.text != "and" && w.text != "&" {
			break
		}
		last = w.text
	}
	return last
}

func checkVerifiable(_ context.Context, e *examination, i int) []flaw {
	t := e.New[i]
	verifiable := t.Type == plan.Test || verifies(t.Verify) || slices.ContainsFunc(t.AcceptanceCriteria, isGiven) ||
		measurable(withoutVerb(t.Title)) || measurable(words(t.Details))
	return flawIf(!verifiable, "has no way to verify it.", "give `acceptance_criteria`, or a command in `verify`")
}

// withoutVerb returns the words of a title after the first, which names the work and not its outcome.
func withoutVerb(title string) []word {
	list := sentence(title)
	return list[min(1, len(list)):]
}

// measurable reports whether a text names a visible result: a bound, or a word for an outcome.
func measurable(text []word) bool {
	return slices.ContainsFunc(text, func(w word) bool {
		return !w.code && (outcomes.has(w.text) || strings.ContainsFunc(w.text, unicode.IsDigit) && quantity(w.text))
	})
}

// quantity reports whether a text is a number, maybe with a unit or a sign: 404, 100ms, 80%, >=3.
func quantity(text string) bool {
	number := strings.TrimLeft(text, "<>=~≤≥")
	unit := strings.TrimLeft(number, "0123456789.,")
	return number != text || unit != number && (unit == "" || unit == "%" || slices.Contains([]string{"ms", "s", "sec", "kb", "mb", "gb",
		"b", "x", "px", "rps"}, unit))
}
