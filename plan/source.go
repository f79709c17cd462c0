package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxItems bounds the instances of a loop.
const MaxItems = 1_000

// ForEach is the source of a loop's entries: a literal list, a referenced value, or the workspace
// files that match a pattern, in order.
type ForEach struct {
	Items []json.RawMessage // nil unless it is a literal list
	From  Reference         // the list; empty Text unless it is a reference
	Glob  string            // with slashes; "" unless it is a pattern
}

// ParseForEach reads a step's for_each. The error is a *ValidationError without a field.
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
		if ref.Problem != "" {
			return refuse(ref.Problem, "refer to a list such as $S001.files")
		} else if ref.Step == 0 {
			return refuse("means the entry of a loop that is not there yet", "refer to a list such as $S001.files")
		}
		return ForEach{From: ref}, nil
	}
	glob, escaped := strings.CutPrefix(text, "$$")
	if escaped {
		glob = "$" + glob
	}
	_, _, dollar := splitReference(text)
	name, _, _ := splitReference("$" + text)
	switch problem := PathProblem(glob); {
	case text == "":
		return refuse("is blank", `give a list such as ["a","b"], a reference such as $S001.files, or a pattern such as *.txt`)
	case dollar:
		return refuse("names no step", "refer to a list such as $S001.files, or begin with $$ for a file whose name begins with $")
	case stepWord().MatchString(name):
		return refuse("is a step without $", "write $"+text)
	case problem != PathOK:
		return refuse(string(problem), "give a pattern of paths relative to the workspace, such as *.txt")
	}
	return ForEach{Glob: glob}, nil
}

// withinItems refuses a list that is too long for a loop.
func withinItems(n int) error {
	if n <= MaxItems {
		return nil
	}
	return Refuse(InvalidInput, "", fmt.Sprintf("has %d entries", n), fmt.Sprintf("give at most %d", MaxItems))
}

// ParseItems returns the entries of a loop's list.
func ParseItems(list json.RawMessage) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil || items == nil {
		return nil, Refuse(InvalidInput, "", "is not a list", "refer to a list")
	}
	return items, withinItems(len(items))
}

// UsesSteps reports whether arguments refer to a step; "$item" does not.
func UsesSteps(args json.RawMessage) bool {
	return slices.ContainsFunc(References(args), func(r Reference) bool { return r.Step != 0 })
}

// References lists the references in a step's arguments, condition and loop. At is a JSON pointer
// from the step.
func (s Spec) References() []Reference {
	all := References(s.Args)
	for i := range all {
		all[i].Pointer = "/args" + all[i].Pointer
	}
	eachConditionName(s.When, func(from, to int) {
		if id, ok := stepNamed(s.When[from:to]); ok {
			all = append(all, Reference{Pointer: "/when", Text: "steps." + s.When[from:to], Step: id})
		}
	})
	if ref, ok := ParseReference(s.ForEach); ok {
		ref.Pointer = "/for_each"
		all = append(all, ref)
	}
	return all
}

// ReferencedSteps lists the steps that a step refers to in its arguments, condition and loop.
func (s Spec) ReferencedSteps() []StepID {
	var ids []StepID
	for _, ref := range s.References() {
		if ref.Step != 0 && !slices.Contains(ids, ref.Step) {
			ids = append(ids, ref.Step)
		}
	}
	return ids
}

// LinkReferences returns the step with its references among its dependencies. named returns the step for a name in a
// reference, which is then written canonically, as $S001; if nil, any form of a step id is a name.
func (s Spec) LinkReferences(named func(string) (StepID, bool)) Spec {
	if named == nil {
		named = stepNamed
	}
	s = s.renameNames(func(name string) (string, bool) {
		id, known := named(name)
		return id.String(), known
	})
	for _, id := range s.ReferencedSteps() {
		if !slices.Contains(s.DependsOn, id) {
			s.DependsOn = append(slices.Clip(s.DependsOn), id)
		}
	}
	return s
}

// RenameReferences returns the step with its references to other steps renamed by call.
func (s Spec) RenameReferences(call func(StepID) string) Spec {
	return s.renameNames(func(name string) (string, bool) {
		if id, known := stepNamed(name); known {
			return call(id), true
		}
		return "", false
	})
}

func (s Spec) renameNames(named func(string) (string, bool)) Spec {
	s.Args, s.When, s.ForEach = renameReferences(s.Args, named), renameCondition(s.When, named), renameReference(s.ForEach, named)
	return s
}

// CheckReferences refuses invalid references and those to unknown steps. field is the JSON pointer
// of the step.
func (s Spec) CheckReferences(field string, known func(StepID) bool) error {
	var faults Faults
	for _, ref := range s.References() {
		literal := fmt.Sprintf("write %s for the text itself", Quote("$"+ref.Text))
		switch {
		case ref.Problem != "":
			faults.Add(Refuse(InvalidInput, field+ref.Pointer, Quote(ref.Text)+" "+ref.Problem, "mend it, or "+literal))
		case ref.Step == 0 || known(ref.Step):
		case ref.Text[0] == '$':
			faults.Add(Refuse(NotFound, field+ref.Pointer, Quote(ref.Text)+" refers to a step that does not exist",
				"name a step of the plan, or "+literal))
		default:
			faults.Add(Refuse(NotFound, field+ref.Pointer, Quote(ref.Text)+" refers to a step that does not exist",
				"name a step of the plan"))
		}
	}
	return faults.Err()
}

// renameCondition is renamed for a condition.
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
		if text[i:end] == "steps" && !followsDot(text[:i]) {
			if from, to, behind := conditionName(text, end); from < to {
				visit(from, to)
				end = behind
			}
		}
		i = end
	}
}

// tokenEnd returns the end of the word, quoted text, comment or character at i.
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

// followsDot reports whether a word after before is the name of a field.
func followsDot(before string) bool {
	before = strings.TrimRightFunc(before, unicode.IsSpace)
	return strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "..")
}

// conditionName returns the range of the name selected from the value that ends at i, and the index
// after the whole selector.
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
