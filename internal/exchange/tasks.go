package exchange

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// task is an entry of another program's list.
type task struct {
	plan.Step
	name     string   // what it is called there; "" when it has no name
	part     string   // the name of the task that it is a part of
	after    []string // the names of those that have to be done before
	priority string   // in that program's words, "" for the usual one
	at       string   // where it stands, for people
}

// list is what a parser makes a source of.
type list struct {
	*source
	row     *row
	tasks   []task
	unknown map[string]bool // fields that nothing is made of
	strange map[string]bool // words for a status that nobody knows
	turned  map[string]bool // words for a status that became another one
}

func (in input) list(objective string) *list {
	return &list{row: in.row, unknown: map[string]bool{}, strange: map[string]bool{}, turned: map[string]bool{},
		source: &source{outline: plan.Outline{Objective: cmp.Or(foldLine(objective), in.row.text)}, foldLines: true}}
}

// status reads a word for a status. Programs let their users make up words: such a task is to do.
func (l *list) status(word string) plan.StepStatus {
	status := l.row.words.read(word)
	if status == "" && word != "" {
		l.strange[plan.Shorten(word, 40)] = true
	}
	if l.row.words.also[word] != "" {
		l.turned[word+" is "+status.Spaced()] = true
	}
	return cmp.Or(status, plan.Pending)
}

// add adds a task; its name becomes a hint, as what people there call it by.
func (l *list) add(t task) {
	if t.name != "" {
		t.ContextHints = append(t.ContextHints, plan.Shorten(l.row.word()+" "+t.name, plan.MaxHint))
	}
	if t.priority != "" {
		t.ContextHints = append(t.ContextHints, priorityHint+plan.Shorten(t.priority, 40))
	}
	l.tasks = append(l.tasks, t)
}

// hints adds hints of a kind, a bearable number of them.
func (t *task) hints(kind string, texts ...string) {
	for _, text := range texts[:min(len(texts), plan.MaxList/4)] {
		if text = foldLine(strings.TrimSpace(text)); text != "" {
			t.ContextHints = append(t.ContextHints, plan.Shorten(kind+text, plan.MaxHint))
		}
	}
}

// typeOf is the type of a task; "" for what we have no word for.
func typeOf(word string) plan.StepType {
	switch t := plan.StepType(word); t {
	case plan.Feature, plan.Chore, plan.Test:
		return t
	}
	if word == "bug" {
		return plan.Bugfix
	}
	return ""
}

// inFile says in which of several files err is.
func inFile(name string, err error) error { return fmt.Errorf("%s: %w", plan.Shorten(name, 120), err) }

const priorityHint = "Priority: "

// priority is what a hint of a step says of it; "" for the usual one.
func priority(step *plan.Step) string {
	for _, hint := range step.ContextHints {
		if word, is := strings.CutPrefix(hint, priorityHint); is {
			return word
		}
	}
	return ""
}

// done makes the source: each task becomes a step, numbered by its place.
func (l *list) done() (*source, error) {
	if len(l.tasks) > maxSteps {
		return nil, refuse("", fmt.Sprintf("there are more than %d tasks", maxSteps), "import a part of them")
	}
	places := map[string]plan.StepID{}
	for i, t := range l.tasks {
		if places[t.name] != 0 {
			return nil, refuse("", plan.Quote(t.name)+" appears twice", "give each task an id of its own")
		}
		if t.name != "" {
			places[t.name] = plan.StepID(i + 1)
		}
	}
	missing := map[string]bool{}
	for i, t := range l.tasks {
		t.ID = plan.StepID(i + 1)
		for _, name := range t.after {
			switch dep := places[name]; {
			case dep == 0:
				missing[plan.Shorten(name, 40)] = true
			case !slices.Contains(t.DependsOn, dep):
				t.DependsOn = append(t.DependsOn, dep)
			}
		}
		l.steps = append(l.steps, sourceStep{Step: t.Step, at: t.at})
	}
	l.parts(places, missing)
	l.call = func(id plan.StepID) string {
		if int(id) > len(l.tasks) || id < 1 {
			return id.String()
		}
		return plan.Shorten(cmp.Or(l.tasks[id-1].name, id.String()), 60)
	}
	for _, loss := range []struct {
		names map[string]bool
		lead  string
	}{
		{l.unknown, "Fields that have no place here were left out"},
		{l.strange, "These words for a status are not known, so the tasks are to do"},
		{l.turned, "Words for a status that are others here"},
		{missing, "Dependencies on tasks that are not among them were left out"},
	} {
		if len(loss.names) > 0 {
			l.note("%s: %s.", loss.lead, someOf(loss.names))
		}
	}
	return l.source, nil
}

// parts makes tasks wait for their parts, and the parts for what the whole waits for. It says
// nothing that would lead in a circle: where people wrote that a part waits for the whole, that holds.
func (l *list) parts(places map[string]plan.StepID, missing map[string]bool) {
	parts, against := 0, 0
	for i, t := range l.tasks {
		whole := places[t.part]
		if t.part == "" || whole == 0 || int(whole) == i+1 {
			if t.part != "" {
				missing[plan.Shorten(t.part, 40)] = true
			}
			continue
		}
		parts++
		part, at := &l.steps[i], plan.StepID(i+1)
		part.ContextHints = append(part.ContextHints, plan.Shorten("Part of: "+foldLine(l.steps[whole-1].Title), plan.MaxHint))
		if l.waits(at, whole) {
			against++
			continue
		}
		for _, dep := range l.steps[whole-1].DependsOn {
			if !slices.Contains(part.DependsOn, dep) && l.tasks[dep-1].part != t.part && !l.waits(dep, at) {
				part.DependsOn = append(part.DependsOn, dep)
			}
		}
		if !slices.Contains(l.steps[whole-1].DependsOn, at) {
			l.steps[whole-1].DependsOn = append(l.steps[whole-1].DependsOn, at)
		}
	}
	if parts > 0 {
		l.note("%s of a task became %s; the whole waits for its parts.", plan.Counted(parts, "part"),
			map[bool]string{true: "a step of its own", false: "steps of their own"}[parts == 1])
	}
	if against > 0 {
		l.note("Of these %d wait for the whole instead, as it says there.", against)
	}
}

// waits reports whether a step waits for another, directly or by others.
func (l *list) waits(step, other plan.StepID) bool {
	seen := make([]bool, len(l.steps)+1)
	todo := []plan.StepID{step}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, dep := range l.steps[at-1].DependsOn {
			if dep == other {
				return true
			}
			if !seen[dep] {
				seen[dep] = true
				todo = append(todo, dep)
			}
		}
	}
	return false
}

// paragraphs joins texts that are not blank by blank lines.
func paragraphs(texts ...string) string {
	var kept []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, "\n\n")
}

// titled is a text with what it is before it, "" for no text.
func titled(title, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return title + ":\n" + strings.TrimSpace(text)
}

// criteria makes criteria of the lines of a text, or false where they are too many or too long to be some.
func criteria(text string) ([]string, bool) {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		for _, mark := range []string{"- [ ] ", "- [x] ", "- [X] ", "- ", "* "} {
			if rest, is := strings.CutPrefix(line, mark); is {
				line = rest
				break
			}
		}
		if len(line) > plan.MaxHint {
			return nil, false
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines, len(lines) <= plan.MaxList
}

// judgedBy gives a step the criteria of a text; a long text becomes details.
func judgedBy(step *plan.Step, title, text string) {
	lines, ok := criteria(text)
	if !ok {
		step.Details = paragraphs(step.Details, titled(title, text))
		return
	}
	step.AcceptanceCriteria = append(step.AcceptanceCriteria, lines...)
}

// bullets is a list of lines, as criteria reads it.
func bullets(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "- " + strings.Join(lines, "\n- ")
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
