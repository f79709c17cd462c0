package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// MaxNesting bounds the nesting of the JSON in a step's arguments or value.
	MaxNesting = 32

	maxArgs    = 256 << 10 // bytes of a step's arguments or value
	maxSeconds = 1<<31 - 1
	// maxLockName is short enough for the name of a file.
	maxLockName = 64
)

// CleanStep returns n with every field normalised and checked by the table of fields: text by Text,
// lists by length, paths within the workspace, words by their vocabulary, args as a JSON object.
// field is the JSON pointer of the step; the error is a *ValidationError that names the field below
// it, and the step then has its usable part. Decide checks whether the steps in DependsOn exist. n is not changed.
func CleanStep(field string, n NewStep) (NewStep, error) {
	step := Step{Spec: n.Spec, Progress: n.Progress}
	err := clean(field, StepFields(), &step)
	n.Spec, n.Progress = step.Spec, step.Progress
	return n, err
}

// CleanPatch returns p with the fields it gives cleaned, as CleanStep does for a step. With an
// error it still returns the usable part of p, so that the caller can judge the rest.
func CleanPatch(field string, p Patch) (Patch, error) {
	step := Step{Spec: p.Apply(Spec{})}
	given := p.Fields()
	err := clean(field, given, &step)
	return NewPatch(step.Spec, given), err
}

// CleanOutline returns o with every field normalised and checked, as CleanStep
// does for a step.
func CleanOutline(field string, o Outline) (Outline, error) {
	p := Plan{Outline: o}
	if err := clean(field, PlanFields(), &p); err != nil {
		return Outline{}, err
	}
	return p.Outline, nil
}

// CleanLines returns a list of lines cleaned, without the blank ones.
func CleanLines(field string, in []string, longest int) ([]string, error) {
	parent, name := path.Split(field)
	c := cleaner{field: strings.TrimSuffix(parent, "/")}
	list := slices.DeleteFunc(slices.Clone(in), func(text string) bool { return strings.TrimSpace(text) == "" })
	c.list(&list, name, LinesField, longest, MaxList)
	return list, c.Err()
}

// clean cleans the fields of a step or a plan in place.
func clean[T any](pointer string, fields []Field[T], of *T) error {
	c := cleaner{field: pointer}
	for i := range fields {
		f := &fields[i]
		switch v := f.Pointer(of).(type) {
		case *string:
			if f.Masked {
				*v = Mask(*v)
			}
			c.text(v, f.Name, Text{Max: f.Max, Multiline: f.Kind == BlockField}, f.Required)
			switch f.Kind {
			case PathField:
				c.path(v, f.Name)
			case NameField:
				c.name(v, f.Name)
			}
		case *[]string:
			if f.Masked {
				*v = slices.Clone(*v)
				for i := range *v {
					(*v)[i] = Mask((*v)[i])
				}
			}
			isEmptyList := f.Empty && *v != nil && len(*v) == 0
			if c.list(v, f.Name, f.Kind, f.Max, f.MaxEntries); isEmptyList {
				*v = []string{}
			}
		case *[]StepID:
			c.ids(v, f.Name)
		case *json.RawMessage:
			if c.object(v, f.Name); f.Name == "retry" && bytes.HasPrefix(*v, []byte{'{'}) && json.Valid(*v) {
				_, err := ParseRetry(*v)
				c.Add(prefixField(c.at(f.Name), err))
			}
		case *int:
			c.count(*v, f.Name, f.Max)
		case *time.Time:
			c.time(v, f.Name)
		case *[]Evidence:
			c.evidence(v)
		case **Result:
			c.result(v)
		default:
			if word, allowed := f.word(of); allowed != nil {
				c.Add(oneOf(c.at(f.Name), word.String(), allowed))
			}
		}
	}
	return c.Err()
}

// cleaner cleans fields in place and collects the refusals.
type cleaner struct {
	Faults
	field string
}

func (c *cleaner) evidence(list *[]Evidence) {
	if !c.fits(len(*list), "evidence", MaxList) {
		return
	}
	*list = append([]Evidence(nil), *list...)
	for i := range *list {
		e, name := &(*list)[i], fmt.Sprintf("evidence/%d/", i)
		c.line(&e.Criterion, name+"criterion", MaxLongLine)
		c.report(&e.Command, name+"command")
		c.report(&e.Output, name+"output")
		c.report(&e.Note, name+"note")
		c.line(&e.On, name+"on", MaxHint)
		c.line(&e.By, name+"by", MaxHint)
		c.time(&e.At, name+"at")
	}
}

func (c *cleaner) findings(f *GateFindings) {
	c.count(f.Score, "found/score", 100)
	if !c.fits(len(f.Warnings), "found/warnings", MaxList) {
		return
	}
	f.Warnings = slices.Clone(f.Warnings)
	for i := range f.Warnings {
		w, name := &f.Warnings[i], fmt.Sprintf("found/warnings/%d/", i)
		if w.Step < 0 || w.Step > MaxStepID {
			c.refuse(name+"step_id", fmt.Sprintf("%d is not the number of a step", int(w.Step)), "name a step as S001")
		}
		c.line(&w.Gate, name+"gate", MaxHint)
		c.block(&w.Text, name+"text")
		c.block(&w.Fix, name+"fix")
	}
}

func (c *cleaner) result(r **Result) {
	if *r == nil {
		return
	}
	clean := **r
	c.raw(&clean.Value, "result/value")
	c.line(&clean.StoredName, "result/kept", MaxHint)
	c.report(&clean.Error, "result/error")
	if clean.Duration < 0 {
		c.refuse("result/duration", fmt.Sprintf("%d is negative", clean.Duration), "give milliseconds")
	}
	c.time(&clean.Timestamp, "result/timestamp")
	*r = &clean
}

func (c *cleaner) at(name string) string { return c.field + "/" + name }

func (c *cleaner) refuse(name, problem, fix string) {
	c.Add(Refuse(InvalidInput, c.at(name), problem, fix))
}

func (c *cleaner) text(text *string, name string, rule Text, required bool) {
	rule.Field = c.at(name)
	clean, err := rule.Clean(*text)
	if required && err == nil {
		clean, err = rule.Required(*text)
	}
	c.Add(err)
	*text = clean
}

func (c *cleaner) line(text *string, name string, longest int) {
	c.text(text, name, Text{Max: longest}, false)
}

func (c *cleaner) block(text *string, name string) {
	c.text(text, name, Text{Max: MaxLongText, Multiline: true}, false)
}

// report is block for the text of a program, or of an agent about its work. It is recorded without secrets.
func (c *cleaner) report(text *string, name string) {
	*text = Mask(*text)
	c.block(text, name)
}

// list cleans a copy of list, which may have at most limit entries; 0 means MaxList.
func (c *cleaner) list(list *[]string, name string, kind FieldKind, longest, limit int) {
	if !c.fits(len(*list), name, cmp.Or(limit, MaxList)) {
		return
	}
	*list = append([]string(nil), *list...)
	for i := range *list {
		at, text := fmt.Sprintf("%s/%d", name, i), &(*list)[i]
		c.text(text, at, Text{Max: longest, Multiline: kind == BlocksField}, true)
		if kind == PathsField {
			c.path(text, at)
		}
	}
	*list = slices.DeleteFunc(*list, func(text string) bool { return text == "" }) // refused paths
}

// path refuses a path outside of the workspace, and clears it.
func (c *cleaner) path(text *string, name string) {
	if problem := PathProblem(*text); problem != PathOK {
		c.refuse(name, Quote(*text)+" "+string(problem), "give a path relative to the workspace, with /")
		*text = ""
	}
}

// name makes a name safe as part of a file's name on every system.
func (c *cleaner) name(text *string, name string) {
	*text = strings.ToLower(*text)
	if strings.Trim(*text, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		c.refuse(name, Quote(*text)+" is not a name", "use letters, digits, dashes and underscores")
	}
}

func (c *cleaner) ids(list *[]StepID, name string) {
	if !c.fits(len(*list), name, DefaultMaxSteps) {
		return
	}
	seen := make(map[StepID]bool, len(*list))
	var ids []StepID
	for i, id := range *list {
		if id < 1 || id > MaxStepID {
			c.refuse(fmt.Sprintf("%s/%d", name, i), fmt.Sprintf("%d is not the number of a step", int(id)), "name steps as S001")
		}
		if !seen[id] {
			ids = append(ids, id)
		}
		seen[id] = true
	}
	*list = ids
}

// object is raw for a value that must be a JSON object.
func (c *cleaner) object(value *json.RawMessage, name string) {
	c.raw(value, name)
	if len(*value) > 0 && (*value)[0] != '{' {
		c.refuse(name, "is not a JSON object", `give names and values, such as {"path":"go.mod"}`)
	}
}

// raw compacts a JSON value, which must be valid and bounded.
func (c *cleaner) raw(value *json.RawMessage, name string) {
	if len(*value) == 0 {
		*value = nil
		return
	}
	if len(*value) > maxArgs {
		c.refuse(name, fmt.Sprintf("has %d bytes", len(*value)), fmt.Sprintf("shorten it to at most %d", maxArgs))
		return
	}
	if pointer, problem := CheckJSON(*value, MaxNesting); problem != "" {
		c.refuse(name+pointer, problem, "give one JSON value")
		return
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, *value) // it is known to be valid
	// The text inside a value is kept as it is, but hidden characters may only appear in it as escapes.
	_, err := Text{Field: c.at(name), Max: maxArgs}.Clean(compact.String())
	if refused, ok := errors.AsType[*ValidationError](err); ok {
		c.refuse(name, refused.Problem, `write such characters as \uNNNN`)
		return
	}
	*value = compact.Bytes()
}

func (c *cleaner) count(n int, name string, limit int) {
	if n < 0 || n > limit {
		word := name[strings.LastIndexByte(name, '/')+1:]
		c.refuse(name, fmt.Sprintf("%s %d is out of range (1 to %d)", word, n, limit), fmt.Sprintf("give 1 to %d, or leave it out", limit))
	}
}

// time truncates t to milliseconds, the resolution of the log.
func (c *cleaner) time(t *time.Time, name string) {
	*t = t.UTC().Truncate(time.Millisecond)
	if y := t.Year(); y < 1 || y > 9999 {
		c.refuse(name, "is out of range", "give a time such as 2026-01-23T10:00:00Z")
	}
}

func (c *cleaner) fits(n int, name string, limit int) bool {
	if n > limit {
		c.refuse(name, fmt.Sprintf("has %d entries", n), fmt.Sprintf("give at most %d", limit))
	}
	return n <= limit
}

// PathFault says why a text is not a path within a workspace, as a predicate that follows the name
// of a field.
type PathFault string

// The faults of paths.
const (
	PathOK        PathFault = ""
	PathBackslash PathFault = "has a backslash"
	PathAbsolute  PathFault = "is absolute"
	PathHome      PathFault = "begins in a home directory"
	PathDrive     PathFault = "begins with a drive"
	PathOutside   PathFault = "leaves the workspace"
)

// PathProblem returns why text, already cleaned, is not a path within the workspace on some system
// or in some shell. Patterns and directories are paths too. Links that lead out do not show in the
// text; os.Root refuses them.
func PathProblem(text string) PathFault {
	switch {
	case strings.ContainsRune(text, '\\'):
		return PathBackslash
	case strings.HasPrefix(text, "/"):
		return PathAbsolute
	case strings.HasPrefix(text, "~"):
		return PathHome
	case len(text) > 1 && text[1] == ':' && text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z':
		return PathDrive
	}
	if clean := path.Clean(text); clean == ".." || strings.HasPrefix(clean, "../") {
		return PathOutside
	}
	return PathOK
}

// CheckJSON checks that data is one JSON value in valid UTF-8, without duplicate keys or lone
// surrogates, nested at most deepest levels. It returns the problem and the JSON pointer to it,
// both "" if data is valid.
func CheckJSON(data []byte, deepest int) (pointer, problem string) {
	if !utf8.Valid(data) {
		return "", "is not valid UTF-8"
	}
	var value json.RawMessage
	if err := json.Unmarshal(data, &value); err != nil {
		at := len(data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = min(max(int(syntax.Offset)-1, 0), len(data))
		}
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return "", fmt.Sprintf("is not valid JSON in line %d: %s", line, Shorten(err.Error(), 120))
	}
	// A lone surrogate is not a character, and gets lost when it is read.
	if bytes.Contains(data, []byte(`\u`)) && surrogate().Match(otherEscapes().ReplaceAll(data, []byte(" "))) {
		return "", `has half of a surrogate pair, such as \ud800`
	}
	w := newJSONWalk(data, deepest)
	w.value()
	return w.pointer(), w.problem
}

// jsonWalk visits a valid JSON value until it finds a problem.
type jsonWalk struct {
	in      *json.Decoder
	deepest int
	path    []string // "/name" of each value around the current one
	problem string
	text    func(from, to int) // receives the range of each string that is not a key, after any separators; may be nil
}

func newJSONWalk(data []byte, deepest int) *jsonWalk {
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	return &jsonWalk{in: in, deepest: deepest}
}

func (w *jsonWalk) pointer() string { return Shorten(strings.Join(w.path, ""), 200) }

func (w *jsonWalk) value() {
	from := int(w.in.InputOffset())
	token, err := w.in.Token()
	if _, is := token.(string); is && w.text != nil {
		w.text(from, int(w.in.InputOffset()))
	}
	delimiter, nested := token.(json.Delim)
	if err != nil {
		w.problem = "is not valid JSON"
	}
	if err != nil || !nested {
		return
	}
	if len(w.path) >= w.deepest {
		w.problem = fmt.Sprintf("is nested more than %d levels deep", w.deepest)
		return
	}
	var keys map[string]bool
	if delimiter == '{' {
		keys = map[string]bool{}
	}
	for i := 0; w.in.More(); i++ {
		name := strconv.Itoa(i)
		if keys != nil {
			key, _ := w.in.Token()
			name, _ = key.(string)
			if keys[name] && w.text == nil {
				w.problem = "is a duplicate key"
			}
			keys[name] = true
			name = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		}
		w.path = append(w.path, "/"+name)
		if w.problem == "" {
			w.value()
		}
		if w.problem != "" {
			return
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, _ = w.in.Token() // the closing bracket; the value is known to be valid
}

var (
	otherEscapes = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|\\[^u]`)
	}) // including valid pairs
	surrogate = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\u[dD][89a-fA-F]`) })
)
