package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxItems bounds how many steps a loop is made into.
const MaxItems = 1_000

// ForEach is what a step is run for, one by one: the entries of a list that is given, those of a
// value that is referred to, or the files of the workspace that a pattern matches, in order.
type ForEach struct {
	Items []json.RawMessage // nil where it is not a list that is given
	From  Reference         // of what; without a Text where it is no reference
	Glob  string            // with slashes; "" where it is no pattern
}

// ParseForEach reads what a step says it is run for. The error is a *ValidationError without a field.
func ParseForEach(text string) (ForEach, error) {
	refuse := func(problem, fix string) (ForEach, error) {
		return ForEach{}, Refuse(InvalidInput, "", Quote(text)+" "+problem, fix)
	}
	text = strings.TrimSpace(text)
	var items []json.RawMessage
	switch err := json.Unmarshal([]byte(text), &items); {
	case err == nil && items != nil:
		return ForEach{Items: items}, withinItems(len(items))
	case json.Valid([]byte(text)), strings.HasPrefix(text, "[") && strings.Contains(text, `"`):
		return refuse("is not a valid JSON list", `give a list such as ["a","b"]`)
	}
	if ref, ok := ParseReference(text); ok {
		if ref.Bad != "" {
			return refuse(ref.Bad, "refer to a list such as $S001.files")
		} else if ref.Step == 0 {
			return refuse("means the entry of a loop that is not there yet", "refer to a list such as $S001.files")
		}
		return ForEach{From: ref}, nil
	}
	glob, escaped := strings.CutPrefix(text, "$$")
	if escaped {
		glob = "$" + glob
	}
	_, _, dollar := cutReference(text)
	name, _, _ := cutReference("$" + text)
	switch problem := PathProblem(glob); {
	case text == "":
		return refuse("is blank", `give a list such as ["a","b"], a reference such as $S001.files, or a pattern such as *.txt`)
	case dollar:
		return refuse("names no step", "refer to a list such as $S001.files, or begin with $$ for a file whose name begins with $")
	case stepWord().MatchString(name):
		return refuse("is a step without $", "write $"+text)
	case problem != PathWithin:
		return refuse(string(problem), "give a pattern of paths relative to the workspace, such as *.txt")
	}
	return ForEach{Glob: glob}, nil
}

// withinItems refuses a list that is too long to be looped over.
func withinItems(n int) error {
	if n <= MaxItems {
		return nil
	}
	return Refuse(InvalidInput, "", fmt.Sprintf("has %d entries", n), fmt.Sprintf("give at most %d", MaxItems))
}

// ItemsOf returns the entries of the list that a loop goes over.
func ItemsOf(list json.RawMessage) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil || items == nil {
		return nil, Refuse(InvalidInput, "", "is not a list", "refer to a list")
	}
	return items, withinItems(len(items))
}

// UsesSteps reports whether arguments refer to a step, which an entry of a loop is not.
func UsesSteps(args json.RawMessage) bool {
	return slices.ContainsFunc(References(args), func(r Reference) bool { return r.Step != 0 })
}

// References lists what a step refers to in its arguments, its condition and its loop. At is a
// JSON pointer from the step.
func (s Spec) References() []Reference {
	all := References(s.Args)
	for i := range all {
		all[i].At = "/args" + all[i].At
	}
	eachConditionName(s.When, func(from, to int) {
		if id, ok := stepNamed(s.When[from:to]); ok {
			all = append(all, Reference{At: "/when", Text: "steps." + s.When[from:to], Step: id})
		}
	})
	if ref, ok := ParseReference(s.ForEach); ok {
		ref.At = "/for_each"
		all = append(all, ref)
	}
	return all
}

// Sources lists the steps that a step refers to, in its arguments, its condition and its loop.
func (s Spec) Sources() []StepID {
	var ids []StepID
	for _, ref := range s.References() {
		if ref.Step != 0 && !slices.Contains(ids, ref.Step) {
			ids = append(ids, ref.Step)
		}
	}
	return ids
}

// Linked returns a step that depends on what it refers to. named tells what step a name means that
// stands in a reference, which is written canonically then, as $S001; nil: whatever reads as an id.
func (s Spec) Linked(named func(string) (StepID, bool)) Spec {
	if named == nil {
		named = stepNamed
	}
	s = s.renamed(func(name string) (string, bool) {
		id, known := named(name)
		return id.String(), known
	})
	for _, id := range s.Sources() {
		if !slices.Contains(s.DependsOn, id) {
			s.DependsOn = append(slices.Clip(s.DependsOn), id)
		}
	}
	return s
}

// Calling returns a step in which other steps are referred to by the names that call gives them.
func (s Spec) Calling(call func(StepID) string) Spec {
	return s.renamed(func(name string) (string, bool) {
		if id, known := stepNamed(name); known {
			return call(id), true
		}
		return "", false
	})
}

func (s Spec) renamed(named func(string) (string, bool)) Spec {
	s.Args, s.When, s.ForEach = renamed(s.Args, named), renamedCondition(s.When, named), rename(s.ForEach, named)
	return s
}

// CheckReferences refuses references that cannot mean anything, or mean a step that is not known. field
// is the JSON pointer of the step.
func (s Spec) CheckReferences(field string, known func(StepID) bool) error {
	var faults Faults
	for _, ref := range s.References() {
		literal := fmt.Sprintf("write %s for the text itself", Quote("$"+ref.Text))
		switch {
		case ref.Bad != "":
			faults.Add(Refuse(InvalidInput, field+ref.At, Quote(ref.Text)+" "+ref.Bad, "mend it, or "+literal))
		case ref.Step == 0 || known(ref.Step):
		case ref.Text[0] == '$':
			faults.Add(Refuse(NotFound, field+ref.At, Quote(ref.Text)+" refers to a step that does not exist",
				"name a step of the plan, or "+literal))
		default:
			faults.Add(Refuse(NotFound, field+ref.At, Quote(ref.Text)+" refers to a step that does not exist", "name a step of the plan"))
		}
	}
	return faults.Err()
}

// renamedCondition is renamed for a condition.
func renamedCondition(text string, named func(string) (string, bool)) string {
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

// eachConditionName visits what stands for a step in a condition: the name in steps.name or
// steps["name"]. It reads words, not the grammar, so it may see one where there is none. Whoever
// compiles a condition refuses those in which it would see less than there is.
func eachConditionName(text string, visit func(from, to int)) {
	for i := 0; i < len(text); {
		end := tokenEnd(text, i)
		if text[i:end] == "steps" && !fieldOf(text[:i]) {
			if from, to, behind := conditionName(text, end); from < to {
				visit(from, to)
				end = behind
			}
		}
		i = end
	}
}

// tokenEnd returns where the word, the text in quotes, the comment or the sign at i ends.
func tokenEnd(text string, i int) int {
	behind := func(from int, end string) int {
		if at := strings.Index(text[from:], end); at >= 0 {
			return from + at + len(end)
		}
		return len(text)
	}
	switch rest := text[i:]; {
	case rest[0] == '"' || rest[0] == '\'':
		for k := i + 1; k < len(text); k++ {
			switch text[k] {
			case '\\':
				k++
			case rest[0]:
				return k + 1
			}
		}
		return len(text)
	case rest[0] == '`':
		return behind(i+1, "`")
	case strings.HasPrefix(rest, "//"):
		return behind(i, "\n")
	case strings.HasPrefix(rest, "/*"):
		return behind(i+2, "*/")
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

// fieldOf reports whether what follows is the name of a field of what stands before.
func fieldOf(before string) bool {
	before = strings.TrimRightFunc(before, unicode.IsSpace)
	return strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "..")
}

// conditionName returns where the name stands that is picked out of what ends at i, and what is
// behind it.
func conditionName(text string, i int) (from, to, behind int) {
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
