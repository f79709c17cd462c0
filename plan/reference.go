package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Reference is a string in a step's arguments that refers to a value: "$S001" to the value of a
// step, "$S001.path[0].to" to a part of it, "$S001.json.path" into text that is JSON, "$item" to the
// entry of the loop. Only a whole string is a reference, and "$$" at its beginning is a literal "$".
type Reference struct {
	Pointer string // JSON pointer to it within the arguments
	Text    string // as written
	Step    StepID // the step it refers to; 0: the entry of the loop
	Problem string // why it is invalid; "" if it is valid

	path []part
}

// part is one step of a path into a value: the name of a field, or the index of an entry.
type part struct {
	name  string
	index int // -1 if a field is named
}

// MaxResolved bounds, in bytes, arguments with their references replaced.
const MaxResolved = 16 << 20

// item is the name of the loop's entry.
const item = "item"

var stepWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[sS]|[sS][tT][eE][pP]|[tT][aA][sS][kK])[_-]?[0-9]+$`)
})

// ParseReference reads a text as a reference; false if it is a literal text.
func ParseReference(text string) (Reference, bool) {
	head, rest, found := splitReference(text)
	if !found || head != item && !stepWord().MatchString(head) {
		return Reference{}, false
	}
	ref := Reference{Text: text}
	if head != item {
		var err error
		if ref.Step, err = ParseStepID(head); err != nil {
			ref.Problem = "does not name a step"
			return ref, true
		}
	}
	ref.path, ref.Problem = parsePath(rest)
	return ref, true
}

// Name returns the name of the step as written in the reference.
func (r Reference) Name() string {
	name, _, _ := splitReference("$" + strings.TrimPrefix(strings.TrimPrefix(r.Text, "$"), "steps."))
	return name
}

// splitReference cuts "$name.rest" after the name; false if text cannot be a reference.
func splitReference(text string) (name, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "$")
	if end := strings.IndexAny(text, ".["); end >= 0 {
		text, rest = text[:end], text[end:]
	}
	return text, rest, ok && text != "" && text[0] != '$'
}

// parsePath reads ".path[0]["a name"]", or describes the fault in it.
func parsePath(text string) (path []part, bad string) {
	for text != "" {
		if len(path) == MaxNesting {
			return nil, fmt.Sprintf("reaches more than %d levels deep", MaxNesting)
		}
		next, rest, ok := cutPart(text)
		if !ok {
			return nil, "has " + Quote(text) + " where a field such as .path or an entry such as [0] is expected"
		}
		path, text = append(path, next), rest
	}
	return path, ""
}

// cutPart cuts the first part of a path: .name, [0] or ["a name"].
func cutPart(text string) (next part, rest string, ok bool) {
	next.index = -1
	if text[0] == '.' {
		next.name = text[1:]
		if end := strings.IndexAny(next.name, ".["); end >= 0 {
			next.name, rest = next.name[:end], next.name[end:]
		}
		return next, rest, next.name != "" && !strings.ContainsAny(next.name, "]\"' \t\n$")
	}
	text, bracket := strings.CutPrefix(text, "[")
	if strings.HasPrefix(text, `"`) {
		end := literalEnd(text, 0)
		bracket = bracket && json.Unmarshal([]byte(text[:end]), &next.name) == nil
		rest, ok = strings.CutPrefix(text[end:], "]")
		return next, rest, ok && bracket
	}
	index, rest, ok := strings.Cut(text, "]")
	number, err := strconv.ParseUint(index, 10, 31)
	next.index = int(number)
	return next, rest, ok && bracket && err == nil
}

// References lists the references in arguments, in order.
func References(args json.RawMessage) []Reference {
	var all []Reference
	eachDollar(args, func(from, to int, at func() string) {
		if ref, ok := ParseReference(unquoted(args[from:to])); ok {
			ref.Pointer = at()
			all = append(all, ref)
		}
	})
	return all
}

// ResolveArgs returns arguments with each reference replaced by its value, and "$$" at the
// beginning of a string by "$". Everything else stays as it is, byte for byte, and inserted values
// are not searched again. item is the entry of the loop, nil outside of one. An error quotes the
// reference.
func ResolveArgs(args json.RawMessage, value func(StepID) (json.RawMessage, error), item json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	var faults Faults
	r := resolution{value: value, item: item, known: map[StepID]json.RawMessage{}}
	done := 0
	eachDollar(args, func(from, to int, at func() string) {
		text := unquoted(args[from:to])
		put, err := json.RawMessage(nil), error(nil)
		if ref, ok := ParseReference(text); ok {
			put, err = r.of(ref)
		} else if strings.HasPrefix(text, "$$") {
			literal := bytes.TrimPrefix(bytes.TrimPrefix(args[from:to], []byte(escapedDollar)), []byte(`"$`))
			put = slices.Concat([]byte{'"'}, literal)
		} else {
			return
		}
		if err == nil && out.Len()+len(put) > MaxResolved {
			err = fmt.Errorf("the arguments grow beyond %d MiB", MaxResolved>>20)
		}
		if err != nil {
			faults.Add(Refuse(InvalidInput, "/args"+at(), Quote(text)+": "+err.Error(), ""))
			return
		}
		out.Write(args[done:from])
		out.Write(put)
		done = to
	})
	if err := faults.Err(); err != nil {
		return nil, err
	}
	out.Write(args[done:])
	return out.Bytes(), nil
}

// resolution replaces references in one step's arguments.
type resolution struct {
	value func(StepID) (json.RawMessage, error)
	item  json.RawMessage
	known map[StepID]json.RawMessage // fetched values
	read  int                        // bytes searched
}

func (r *resolution) of(ref Reference) (json.RawMessage, error) {
	whole, seen := r.item, true
	if ref.Step != 0 {
		whole, seen = r.known[ref.Step]
	} else if r.item == nil {
		return nil, errors.New("item exists only in a loop")
	}
	if !seen {
		var err error
		if whole, err = r.value(ref.Step); err != nil {
			return nil, err
		} else if len(whole) > 0 && !json.Valid(whole) {
			return nil, errors.New("the value is not valid JSON")
		}
		r.known[ref.Step] = whole
	}
	if r.read += len(whole) * len(ref.path); r.read > 16*MaxResolved {
		return nil, errors.New("too many references into large values")
	}
	return ref.Select(whole)
}

// Select returns the part of value that the reference names; value is that of its step, or the entry of the loop.
func (r Reference) Select(value json.RawMessage) (json.RawMessage, error) {
	if r.Problem != "" {
		return nil, errors.New("it " + r.Problem)
	}
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	for _, one := range r.path {
		var err error
		if value, err = one.of(value); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// of returns the part of a value with that name or index.
func (p part) of(value json.RawMessage) (json.RawMessage, error) {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch kind := bytes.TrimLeft(value, " \t\r\n"); {
	case bytes.HasPrefix(kind, []byte{'['}) && json.Unmarshal(value, &list) == nil:
		if p.index < 0 {
			return nil, fmt.Errorf("the value is a list without the field %s: name an entry, such as [0]", Quote(p.name))
		} else if p.index >= len(list) {
			return nil, fmt.Errorf("entry [%d] does not exist in a list of %d", p.index, len(list))
		}
		return list[p.index], nil
	case bytes.HasPrefix(kind, []byte{'{'}) && json.Unmarshal(value, &object) == nil:
		if found, ok := object[p.name]; ok && p.index < 0 {
			return found, nil
		} else if p.index >= 0 {
			return nil, fmt.Errorf("the value is an object without the entry [%d]: name a field", p.index)
		}
		return nil, fmt.Errorf("the object has no field %s", Quote(p.name))
	case p.name == textJSON && bytes.HasPrefix(kind, []byte{'"'}):
		return ParseText(unquoted(value))
	case p.index >= 0:
		return nil, fmt.Errorf("the value is not a list, so it has no entry [%d]", p.index)
	}
	return nil, fmt.Errorf("the value is not an object, so it has no field %s", Quote(p.name))
}

// textJSON is the name by which a path reaches into a text that is JSON.
const textJSON = "json"

// ParseText returns the JSON that a text holds, for $S001.json and steps.S001.json.
func ParseText(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if _, problem := CheckJSON([]byte(text), MaxNesting); problem != "" {
		return nil, fmt.Errorf("the value is not JSON text: it %s", problem)
	}
	return json.RawMessage(text), nil
}

// renameReferences returns arguments with the steps in references renamed by named.
func renameReferences(args json.RawMessage, named func(string) (string, bool)) json.RawMessage {
	var out bytes.Buffer
	done := 0
	eachDollar(args, func(from, to int, _ func() string) {
		text := unquoted(args[from:to])
		if canonical := renameReference(text, named); canonical != text {
			var quoted bytes.Buffer
			encoder := json.NewEncoder(&quoted)
			encoder.SetEscapeHTML(false)
			if encoder.Encode(canonical) == nil {
				out.Write(args[done:from])
				out.Write(bytes.TrimSuffix(quoted.Bytes(), []byte("\n")))
				done = to
			}
		}
	})
	if done == 0 {
		return args
	}
	out.Write(args[done:])
	return out.Bytes()
}

// renameReference is renameReferences for one text, which may be a literal.
func renameReference(text string, named func(string) (string, bool)) string {
	name, rest, ok := splitReference(text)
	if !ok || name == item {
		return text
	}
	if other, known := named(name); known {
		return "$" + other + rest
	}
	return text
}

func stepNamed(name string) (StepID, bool) {
	if !stepWord().MatchString(name) {
		return 0, false
	}
	id, err := ParseStepID(name)
	return id, err == nil
}

func unquoted(literal []byte) string {
	var text string
	_ = json.Unmarshal(literal, &text)
	return text
}

const escapedDollar = `"\u0024`

// eachDollar visits the strings in a JSON value that begin with a dollar, except field names. at
// returns the JSON pointer of the visited string.
func eachDollar(data []byte, visit func(from, to int, at func() string)) {
	if !bytes.Contains(data, []byte(`"$`)) && !bytes.Contains(data, []byte(escapedDollar)) {
		return
	}
	w := newJSONWalk(data, len(data))
	w.text = func(from, to int) {
		from += bytes.IndexByte(data[from:to], '"')
		if literal := data[from:to]; bytes.HasPrefix(literal, []byte(`"$`)) || bytes.HasPrefix(literal, []byte(escapedDollar)) {
			visit(from, to, w.pointer)
		}
	}
	w.value()
}

// literalEnd returns where the string that begins with the quotation mark at from ends.
func literalEnd(text string, from int) int {
	for i := from + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[from]:
			return i + 1
		}
	}
	return len(text)
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
			faults.Add(Refuse(InvalidInput, field+ref.Pointer, Quote(ref.Text)+" "+ref.Problem, "fix it, or "+literal))
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

// ErrNoValue is wrapped by errors that say why a step has no value.
var ErrNoValue = errors.New("no value")

// ValueOf returns the value that references to the step get: of its result, of an agent's work the
// output, of a loop the list of its instances' values. kept reads a value that is not in the log,
// by its name.
func (p *Plan) ValueOf(id StepID, kept func(name string) (json.RawMessage, error)) (json.RawMessage, error) {
	step, ok := p.Steps.Get(id)
	if !ok {
		return nil, fmt.Errorf("step %s does not exist: %w", id, ErrNoValue)
	}
	if step.execution().IsExpanded {
		return p.listOf(step, kept)
	}
	none := func(why string) (json.RawMessage, error) {
		return nil, fmt.Errorf("%s %s, so there is %w", id, why, ErrNoValue)
	}
	result := step.Result
	switch {
	case step.Status != Done:
		return none(step.Status.Predicate())
	case result != nil && len(result.Value) > 0:
		return result.Value, nil
	case result != nil && result.StoredName != "":
		value, err := kept(result.StoredName)
		if err != nil {
			return nil, fmt.Errorf("the value of %s: %w", id, err)
		}
		return value, nil
	case step.Tool != "":
		return none("was not done by its tool, or the tool returned no value")
	case step.Output == "":
		return none("is done without an output")
	}
	return json.Marshal(step.Output)
}

// listOf returns the value of a loop; entries that were skipped or have no value are null.
func (p *Plan) listOf(loop *Step, kept func(string) (json.RawMessage, error)) (json.RawMessage, error) {
	if loop.Status != Done {
		return nil, fmt.Errorf("%s %s, so there is %w", loop.ID, loop.Status.Predicate(), ErrNoValue)
	}
	var list strings.Builder
	for _, id := range loop.execution().Instances {
		value := json.RawMessage("null")
		if instance, ok := p.Steps.Get(id); ok && instance.Status == Done {
			var err error
			if value, err = p.ValueOf(id, kept); errors.Is(err, ErrNoValue) {
				value = json.RawMessage("null")
			} else if err != nil {
				return nil, err
			}
		}
		if list.Len()+len(value) > MaxResolved {
			return nil, fmt.Errorf("the values of %s are too large for one list: %w", loop.ID, ErrNoValue)
		}
		list.WriteString("," + string(value))
	}
	return json.RawMessage("[" + strings.TrimPrefix(list.String(), ",") + "]"), nil
}
