package gates

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/planloop/planloop/plan"
)

func checkOutcome(_ context.Context, e *examination, i int) []flaw {
	task := e.New[i]
	if given(task.Verify) || slices.ContainsFunc(task.AcceptanceCriteria, given) || !vague(task.Title) {
		return nil
	}
	return []flaw{{message: "does not say when it is done.",
		fix: "name an outcome one can see or measure, such as \"Optimize `GET /users` to respond in under 100 ms\", " +
			"or give `acceptance_criteria` or `verify`"}}
}

// vague reports a title that asks for better instead of for something: a verb that
// has no end (improve) on a thing that is not narrowed down, or any verb on a word
// for everything (the backend, bugs).
func vague(title string) bool {
	list := sentence(title)
	if len(list) < 2 || specific(list) {
		return false
	}
	verb, object := verbAndObject(list)
	if verb == "make" || verb == "get" || verb == "keep" {
		return slices.ContainsFunc(object, func(w word) bool { return comparatives()[w.text] })
	}
	core := content(object)
	abstract := func(w string) bool { return abstracts()[w] }
	switch {
	case endless()[verb]:
		return len(core) <= 2 || abstract(head(object))
	case unspecific()[verb]:
		return !slices.ContainsFunc(core, func(w string) bool { return !abstract(w) })
	}
	return false
}

// specific reports whether anything in a title narrows it down.
func specific(list []word) bool {
	for i, w := range list {
		switch {
		case w.named() && !abstracts()[w.text]:
			return true
		case i == 0 || i+1 == len(list):
		case w.text == "by" && strings.HasSuffix(list[i+1].text, "ing"), w.text == "to" && isTaskVerb(list[i+1].text) &&
			!unspecific()[list[i+1].text] && !endless()[list[i+1].text]:
			return true
		case i > 1 && pins()[w.text]:
			return true
		}
	}
	return false
}

// pins begin what narrows a title down.
var pins = sync.OnceValue(listed(`when whenever if after before until while instead without using via unless that which so only`))

// verbAndObject splits a title. A form in -ing counts as its verb, and so does one
// with a particle: clean up, work on.
func verbAndObject(list []word) (verb string, object []word) {
	verb = list[0].text
	if base := gerundOf(verb); base != "" {
		verb = base
	}
	for len(list) > 2 && adverbs()[verb] {
		list = list[1:]
		verb = list[0].text
	}
	if joined := verb + " " + list[1].text; endless()[joined] || unspecific()[joined] || particles()[joined] {
		return joined, list[2:]
	}
	return verb, list[1:]
}

var adverbs = sync.OnceValue(listed(`generally overall further continue please also just start try greatly significantly`))

// content returns the words of an object that say something.
func content(object []word) []string {
	var list []string
	for _, w := range object {
		if w.text != "" && !determiners()[w.text] && !prepositions()[w.text] && !pronouns()[w.text] && !emptyWords()[w.text] {
			list = append(list, w.text)
		}
	}
	if len(list) == 0 {
		return []string{"things"}
	}
	return list
}

// head returns the last word of an object before its first preposition: the thing
// itself, without where it is.
func head(object []word) string {
	last := ""
	for _, w := range object {
		if prepositions()[w.text] && w.text != "and" && w.text != "&" {
			break
		}
		last = w.text
	}
	return last
}

var emptyWords = sync.OnceValue(listed(`overall general generally better properly correctly nicely well good nice great whole entire
	full main basic core proper appropriate necessary needed required relevant further additional extra misc miscellaneous remaining
	rest lot lots bit little much many few possible potential final minor small big major important key current things stuff everything
	anything something etc very really as needed`))

// endless verbs have no point at which they are done.
var endless = sync.OnceValue(func() map[string]bool {
	all := set(`improve enhance optimize optimise polish streamline revamp modernize modernise overhaul better boost beautify refine
		strengthen elevate upgrade-experience rethink harden maximize maximise perfect investigate explore consider tune`)
	for _, two := range []string{"work on", "look into", "look at", "think about", "deal with", "take care", "play with",
		"experiment with", "speed up", "help with", "focus on"} {
		all[two] = true
	}
	return all
})

// unspecific verbs are fine with a thing, and vague with a word for everything.
var unspecific = sync.OnceValue(func() map[string]bool {
	all := set(`fix handle address resolve refactor rework restructure reorganize clean cleanup tidy simplify update change modify
		adjust tweak maintain support manage finalize finalise finish complete implement build develop write add create do test check
		review ensure debug solve integrate prepare cover document secure validate verify increase reduce deliver continue start provide
		design research study analyze analyse redesign rewrite code program extend perform apply`)
	for _, two := range []string{"clean up", "tidy up", "wrap up", "finish up", "set up", "carry out"} {
		all[two] = true
	}
	return all
})

// abstracts are words for everything, and for qualities that are never reached.
var abstracts = sync.OnceValue(listed(`performance quality code codebase ux ui ui/ux experience security reliability robustness
	stability readability maintainability scalability usability accessibility design architecture system systems app application
	applications project product program software platform service backend back-end frontend front-end api apis website site bug bugs
	issue issues problem problems error errors edge case cases corner feature features functionality functionalities logic
	implementation requirement requirements documentation docs test tests testing coverage handling logging speed efficiency latency
	memory user users developer customer customers everything things stuff all work task tasks improvement improvements change changes
	update updates fix fixes cleanup refactoring optimization optimizations optimisation technical debt tech best practices look feel
	style styling structure organization organisation consistency correctness workflow workflows process processes business data
	database deployment infrastructure flexibility modularity interface details bits pieces parts layer layers module modules component
	components it quality-of-life loose ends responsiveness behavior behaviour safety integrity resilience observability compatibility
	clarity simplicity production deliverable deliverables support`))

var comparatives = sync.OnceValue(listed(`better faster nicer cleaner prettier smarter simpler easier smoother quicker safer stronger
	robust maintainable readable scalable usable user-friendly friendly intuitive performant efficient reliable stable secure modern
	beautiful production-ready ready perfect good great nice snappy responsive flexible extensible modular pretty awesome professional
	solid clean working bug-free`))

func checkVerifiable(_ context.Context, e *examination, i int) []flaw {
	t := e.New[i]
	if t.Type == plan.Test || given(t.Verify) || slices.ContainsFunc(t.AcceptanceCriteria, given) || measurable(withoutVerb(t.Title)) ||
		measurable(words(t.Details)) {
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
	return number != text || unit != number && (unit == "" || unit == "%" || slices.Contains([]string{"ms", "s", "sec", "kb", "mb", "gb",
		"b", "x", "px", "rps"}, unit))
}

var outcomes = sync.OnceValue(listed(`return returns respond responds reject rejects accept accepts pass passes fail fails print prints
	show shows display displays exit exits assert asserts test tests tested verify verifies raise raises throw throws equal equals match
	matches within until unless under below above exceed exceeds least most must should so when succeed succeeds refuse refuses log logs
	emit emits status benchmark benchmarks`))
