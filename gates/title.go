package gates

import (
	"context"
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
		case !strings.ContainsFunc(w.text, unicode.IsLetter) || fillers.has(w.text) || bareVerbs.has(w.text):
		case i == 0 && bareVerbs.has(gerundOf(w.text)):
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
	switch {
	case !ok:
		return nil
	case other.open:
		return []flaw{{message: "has the title of " + other.id.String() + ", which is open.",
			fix: "update " + other.id.String() + " instead of adding it again, or use a different title"}}
	}
	return []flaw{{message: "has the title of another new task, " + other.id.String() + ".",
		fix: "remove one of them, or use different titles"}}
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
		if from, ok := clauseAt(list, i); ok && independent(list, i, from) {
			return phrase(list[from:])
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
	for from < len(list) && !list[from].code && joiners.has(list[from].text) {
		from++
	}
	before := list[i-1]
	return from, from < len(list) && (from > i || before.comma || before.stop)
}

// independent reports whether the words from a position on are a separate task from the words before end.
func independent(list []word, end, from int) bool {
	before, after := list[:end], list[from:]
	return len(before) > 1 && verbWithObject(before[0], after) && !coordinated(before) && !subordinate(before) && !companion(after)
}

// verbWithObject reports whether a clause begins with a verb in the form of the title's first word, followed by its
// object.
func verbWithObject(first word, clause []word) bool {
	verb, certain := verbLike(first, clause[0])
	clause = clause[1:]
	if verb == "" || len(clause) == 0 {
		return false
	}
	if particle := clause[0].text; particles.has(verb + " " + particle) {
		clause, certain = clause[1:], true
	}
	if len(clause) == 0 || prepositions.has(clause[0].text) {
		return false
	}
	return certain || clause[0].code || determiners.has(clause[0].text)
}

// verbLike returns the verb of a word if its form is that of the first word, and whether it can be nothing else.
func verbLike(first, w word) (verb string, certain bool) {
	switch {
	case w.code || w.text == "":
	case gerundOf(first.text) != "":
		return gerundOf(w.text), true
	case thirdPersonOf(first.text) != "" && !isTaskVerb(first.text):
		verb = thirdPersonOf(w.text)
		return verb, taskVerbs.has(verb)
	case isTaskVerb(w.text):
		return w.text, taskVerbs.has(w.text) && !nounVerbs.has(w.text)
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
	return !nounVerbs.has(last.text) || !determiners.has(prior.text) && (len(before) == 2 || prior.comma)
}

// subordinate reports whether the words before the conjunction begin a subordinate clause that continues after it: "Let
// users create notes and add tags", "Write a script that reads the log and prints a summary".
func subordinate(before []word) bool {
	for i, w := range before {
		switch {
		case w.code:
		case i == 0 && enablers.has(w.text), i > 0 && clauses.has(w.text):
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
		case pronouns.has(w.text), object && companions.has(w.text):
			return true
		case prepositions.has(w.text):
			object = false
		}
	}
	return false
}
