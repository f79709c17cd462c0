package gates

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/planloop/planloop/plan"
)

func checkTitle(_ context.Context, e *examination, i int) []flaw {
	title := strings.TrimSpace(e.New[i].Title)
	if title == "" {
		return missing("title", "name the goal of the task in one sentence")
	}
	return flawIf(!hasObject(sentence(title)), "has a title that names nothing to work on.",
		"name the change and its object, such as \"Add `password_hash` to the User model\"")
}

// hasObject reports whether a title has words left without its verbs and filler words.
func hasObject(title []word) bool {
	for i, w := range title {
		switch {
		case w.code, w.named() && strings.ContainsFunc(w.text, unicode.IsLetter):
			return true
		case !strings.ContainsFunc(w.text, unicode.IsLetter) || isListed(w.text, "fillers", "bareVerbs"):
		case i == 0 && isListed(gerundOf(w.text), "bareVerbs"):
		default:
			return true
		}
	}
	return false
}

// twin is a step with the title of a new task: an open step, or another new task.
type twin struct {
	id   plan.StepID
	open bool
}

// twins finds the tasks with a title already in use, by position. This makes a repeated call harmless.
func twins(c Candidate) map[int]twin {
	taken := map[string]twin{}
	if !c.Replaces {
		for step := range c.Have.All() {
			key := sameTitle(step.Title)
			if _, ok := taken[key]; !ok && !step.Status.IsFinished() {
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

// sameTitle returns a normal form for comparing titles: case, spaces, quotes and final punctuation do not count.
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
	if other.open {
		return flawIf(ok, "has the title of "+other.id.String()+", which is open.",
			"update "+other.id.String()+" instead of adding it again, or use a different title")
	}
	return flawIf(ok, "has the title of another new task, "+other.id.String()+".", "remove one of them, or use different titles")
}

func checkResponsibility(_ context.Context, e *examination, i int) []flaw {
	second := secondTask(e.New[i].Title)
	return flawIf(second != "", "asks for two things: \""+excerpt(second, titleShown)+"\" is a separate task.",
		"make it two tasks; add a dependency if the second needs the first")
}

// secondTask returns the part of a title that asks for a second thing: after a conjunction, a verb with its own object.
func secondTask(title string) string {
	list := sentence(title)
	for i := 1; i < len(list); i++ {
		from, ok := clauseAt(list, i)
		if !ok {
			continue
		}
		before, after := list[:i], list[from:]
		if len(before) > 1 && verbWithObject(before[0], after) && !coordinated(before) && !subordinate(before) && !companion(after) {
			return phrase(after)
		}
	}
	return ""
}

func phrase(list []word) string {
	var parts []string
	for _, w := range list {
		raw := w.raw
		if w.code {
			raw = "`" + raw + "`"
		}
		if w.comma {
			raw += ","
		}
		parts = append(parts, raw)
	}
	return strings.Join(parts, " ")
}

// clauseAt reports whether a clause may begin at or right after the word at i, and where.
func clauseAt(list []word, i int) (from int, ok bool) {
	from = i
	for from < len(list) && !list[from].code && isListed(list[from].text, "joiners") {
		from++
	}
	before := list[i-1]
	return from, from < len(list) && (from > i || before.comma || before.stop)
}

// verbWithObject reports whether a clause begins with a verb in the form of the title's first word, followed by its
// object.
func verbWithObject(first word, clause []word) bool {
	verb, certain := verbLike(first, clause[0])
	clause = clause[1:]
	if verb == "" || len(clause) == 0 {
		return false
	}
	if particle := clause[0].text; isListed(verb+" "+particle, "particles") {
		clause, certain = clause[1:], true
	}
	if len(clause) == 0 || isListed(clause[0].text, "prepositions") {
		return false
	}
	return certain || clause[0].code || isListed(clause[0].text, "determiners")
}

// verbLike returns the verb of a word if its form is that of the first word, and whether it can be nothing else.
func verbLike(first, w word) (verb string, certain bool) {
	switch {
	case w.code || w.text == "":
	case gerundOf(first.text) != "":
		return gerundOf(w.text), true
	case thirdPersonOf(first.text) != "" && !isTaskVerb(first.text):
		verb = thirdPersonOf(w.text)
		return verb, isListed(verb, "taskVerbs")
	case isTaskVerb(w.text):
		return w.text, isListed(w.text, "taskVerbs") && !isListed(w.text, "nounVerbs")
	}
	return "", false
}

// coordinated reports whether the last word is a verb that shares its object with the verb after the conjunction: read
// and write access, create and edit notes.
func coordinated(before []word) bool {
	last := before[len(before)-1]
	gerunds := gerundOf(before[0].text) != "" && gerundOf(last.text) != ""
	if last.code || last.comma || last.stop || !isTaskVerb(last.text) && !gerunds {
		return false
	}
	prior := before[len(before)-2]
	return !isListed(last.text, "nounVerbs") || !isListed(prior.text, "determiners") && (len(before) == 2 || prior.comma)
}

// subordinate reports whether the words before the conjunction begin a subordinate clause that continues after it: "Let
// users create notes and add tags", "Write a script that reads the log and prints a summary".
func subordinate(before []word) bool {
	for i, w := range before {
		switch {
		case w.code:
		case i == 0 && isListed(w.text, "enablers"), i > 0 && isListed(w.text, "clauses"):
			return true
		case i > 0 && before[i-1].text == "to" && !before[i-1].code && isTaskVerb(w.text):
			return true
		}
	}
	return false
}

// companion reports whether a clause belongs in the same commit as the change before it: its tests, its documentation,
// its uses, and other work on the same thing.
func companion(clause []word) bool {
	object := true // up to the first preposition
	for _, w := range clause[1:] {
		switch {
		case w.code:
		case isListed(w.text, "pronouns"), object && isListed(w.text, "companions"):
			return true
		case isListed(w.text, "prepositions"):
			object = false
		}
	}
	return false
}

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
		return slices.ContainsFunc(object, func(w word) bool { return isListed(w.text, "comparatives") })
	}
	core := content(object)
	switch {
	case isListed(verb, "endless"):
		return len(core) <= 2 || isListed(head(object), "abstracts")
	case isListed(verb, "unspecific"):
		return !slices.ContainsFunc(core, func(w string) bool { return !isListed(w, "abstracts") })
	}
	return false
}

// specific reports whether anything in a title narrows it down.
func specific(list []word) bool {
	for i, w := range list {
		switch {
		case w.named() && !isListed(w.text, "abstracts"):
			return true
		case i == 0 || i+1 == len(list):
		case w.text == "by" && strings.HasSuffix(list[i+1].text, "ing"), w.text == "to" && isTaskVerb(list[i+1].text) &&
			!isListed(list[i+1].text, "unspecific", "endless"):
			return true
		case i > 1 && isListed(w.text, "pins"):
			return true
		}
	}
	return false
}

// verbAndObject splits a title. A form in -ing counts as its verb, and a verb may have a particle: clean up, work on.
func verbAndObject(list []word) (verb string, object []word) {
	verb = cmp.Or(gerundOf(list[0].text), list[0].text)
	for len(list) > 2 && isListed(verb, "adverbs") {
		list = list[1:]
		verb = list[0].text
	}
	if joined := verb + " " + list[1].text; isListed(joined, "endless", "unspecific", "particles") {
		return joined, list[2:]
	}
	return verb, list[1:]
}

// content returns the meaningful words of an object.
func content(object []word) []string {
	var list []string
	for _, w := range object {
		if w.text != "" && !isListed(w.text, "determiners", "prepositions", "pronouns", "emptyWords") {
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
		if isListed(w.text, "prepositions") && w.text != "and" && w.text != "&" {
			break
		}
		last = w.text
	}
	return last
}

func checkVerifiable(_ context.Context, e *examination, i int) []flaw {
	t := e.New[i]
	title := sentence(t.Title)
	verifiable := t.Type == plan.Test || verifies(t.Verify) || slices.ContainsFunc(t.AcceptanceCriteria, isGiven) ||
		measurable(title[min(1, len(title)):]) || measurable(words(t.Details)) // a title's first word names the work, not its outcome
	message := "does not say how to verify the result."
	if isGiven(t.Verify) {
		message = "is not verified by " + code(t.Verify) + ", which always succeeds."
	}
	return flawIf(!verifiable, message, "give `acceptance_criteria`, or a command in `verify` that can fail")
}

// measurable reports whether a text names a visible result: a bound, or a word for an outcome.
func measurable(text []word) bool {
	return slices.ContainsFunc(text, func(w word) bool {
		return !w.code && (isListed(w.text, "outcomes") || strings.ContainsFunc(w.text, unicode.IsDigit) && quantity(w.text))
	})
}

// quantity reports whether a text is a number, maybe with a unit or a sign: 404, 100ms, 80%, >=3.
func quantity(text string) bool {
	number := strings.TrimLeft(text, "<>=~≤≥")
	unit := strings.TrimLeft(number, "0123456789.,")
	return number != text || unit != number && (unit == "" || unit == "%" || slices.Contains([]string{"ms", "s", "sec", "kb", "mb", "gb",
		"b", "x", "px", "rps"}, unit))
}
