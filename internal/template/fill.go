package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
)

// place says which parameters a text takes.
type place int

// The places.
const (
	prose    place = iota // any, anywhere in it
	paths                 // those that are paths
	whole                 // a command, as the whole of it
	argument              // any, as the whole of it
	nothing               // none
)

// placeOf is the place of a step's field, by its name.
func placeOf(field string) place {
	switch field {
	case "title", "details", "context_hints", "acceptance_criteria", "pause":
		return prose
	case "relevant_file_paths", "creates":
		return paths
	case "verify":
		return whole
	}
	return nothing
}

// fill gives every text of the outline and the steps to f, which returns what is to stand
// there, and puts that in its place. at is the text's JSON pointer in the file.
func (t *Template) fill(f func(at string, in place, text string) []string) {
	body := plan.Plan{Outline: t.outline}
	each(plan.PlanFields(), &body, func(name string) (string, place) {
		return "/" + strings.TrimPrefix(name, "metadata/"), prose
	}, f)
	t.outline, t.steps = body.Outline, slices.Clone(t.steps)
	for i := range t.steps {
		s := plan.Step{Spec: t.steps[i].Spec}
		at := fmt.Sprintf("/steps/%d/", i)
		each(plan.SpecFields(), &s, func(name string) (string, place) { return at + name, placeOf(name) }, f)
		s.Args = json.RawMessage(fillArgs(at+"args", jsontext.Value(s.Args), f))
		t.steps[i].Spec = s.Spec
	}
}

func each[T any](fields []plan.Field[T], of *T, where func(name string) (at string, in place),
	f func(at string, in place, text string) []string) {
	for _, field := range fields {
		at, in := where(field.Name)
		switch v := field.In(of).(type) {
		case *string:
			*v = strings.Join(f(at, in, *v), ", ")
		case *[]string:
			var list []string
			for i, text := range *v {
				list = append(list, f(fmt.Sprintf("%s/%d", at, i), in, text)...)
			}
			*v = list
		}
	}
}

// fillArgs is fill for the strings in arguments, which become the JSON that is returned for
// them. A string for which there is none is left out, with its name.
func fillArgs(at string, args jsontext.Value, f func(at string, in place, text string) []string) jsontext.Value {
	object := args.Kind() == jsontext.KindBeginObject
	switch {
	case args.Kind() == jsontext.KindString:
		text, _ := jsontext.AppendUnquote(nil, args)
		if put := f(at, argument, string(text)); len(put) > 0 {
			return jsontext.Value(put[0])
		}
		return nil
	case !object && args.Kind() != jsontext.KindBeginArray:
		return args
	}
	begin, end := byte('['), byte(']')
	if object {
		begin, end = '{', '}'
	}
	in, out := jsontext.NewDecoder(bytes.NewReader(args)), []byte{begin}
	_, err := in.ReadToken()
	for i := 0; err == nil && in.PeekKind() != jsontext.Kind(end); i++ {
		name, token := []byte(nil), strconv.Itoa(i)
		var entry jsontext.Value
		if object {
			entry, err = in.ReadValue()
			unquoted, _ := jsontext.AppendUnquote(nil, entry)
			name, token = append(bytes.Clone(entry), ':'), string(unquoted)
		}
		if err == nil {
			entry, err = in.ReadValue()
		}
		if entry = fillArgs(string(jsontext.Pointer(at).AppendToken(token)), entry.Clone(), f); entry == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, name...), entry...)
	}
	if err != nil {
		return args // which the rules for arguments refuse
	}
	return append(out, end)
}

// piece is a part of a text: some text, or the name of a parameter.
type piece struct{ text, name string }

var placed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{\{ *([a-z][a-z0-9_-]*) *\}\}`) })

// pieces takes a text apart. Two braces begin the place of a parameter, and four stand for two.
func pieces(text string) (all []piece, ok bool) {
	for text != "" {
		before, _, found := strings.Cut(text, "{{")
		if before != "" {
			all = append(all, piece{text: before})
		}
		if !found {
			return all, true
		}
		text = text[len(before):]
		if rest, escaped := strings.CutPrefix(text, "{{{{"); escaped {
			all, text = append(all, piece{text: "{{"}), rest
			continue
		}
		m := placed().FindStringSubmatch(text)
		if m == nil {
			return nil, false
		}
		all, text = append(all, piece{name: m[1]}), text[len(m[0]):]
	}
	return all, true
}

// filled returns what stands in the place of a text once the parameters have their values.
func filled(values map[string]value, in place, text string) []string {
	all, _ := pieces(text)
	if len(all) == 1 && all[0].name != "" {
		v := values[all[0].name]
		switch {
		case v.json == nil:
			return nil
		case in == argument:
			return []string{string(v.json)}
		case v.list != nil:
			return v.list
		}
		return []string{v.text}
	}
	var b strings.Builder
	for _, one := range all {
		b.WriteString(one.text + values[one.name].text)
	}
	if in == argument {
		return []string{quoted(b.String())}
	}
	return []string{b.String()}
}

// quoted is a text as JSON.
func quoted(text string) string {
	data, _ := jsontext.AppendQuote(nil, text)
	return string(data)
}

// checkPlaces notes what is wrong with the places for parameters.
func (r *reader) checkPlaces() {
	r.fill(func(at string, in place, text string) []string {
		r.usable(at, in, text)
		if in == argument {
			text = quoted(text)
		}
		return []string{text}
	})
}

// usable notes what is wrong with the places for parameters in a text.
func (r *reader) usable(at string, in place, text string) {
	all, ok := pieces(text)
	if !ok {
		r.fault(at, "has {{ without the name of a parameter and }} behind it", "write {{{{ for two braces")
	}
	for _, one := range all {
		if one.name == "" {
			continue
		}
		p, known := r.parameter(one.name)
		mark := "{{" + one.name + "}}"
		switch {
		case !known:
			r.fault(at, mark+" names no parameter", unknown(one.name, r.names()))
		case in == nothing:
			r.fault(at, mark+" stands where no parameter does", "write it out; parameters are for prose, and for whole values of args")
		case in == whole && (len(all) > 1 || p.Type != Command):
			r.fault(at, mark+" is to be all of it, and of the type command", "nothing is put into a command that somebody else wrote")
		case in == argument && len(all) > 1:
			r.fault(at, mark+" is a part of a longer text", "make it the whole value; a command takes values by env")
		case in == paths && p.Type != Path && p.Type != List:
			r.fault(at, mark+" is of the type "+string(p.Type), "let a path be of the type path or list")
		}
		if in == paths && known {
			r.Parameters[slices.Index(r.names(), one.name)].paths = true
		}
	}
}

func (t *Template) parameter(name string) (Parameter, bool) {
	i := slices.Index(t.names(), name)
	if i < 0 {
		return Parameter{}, false
	}
	return t.Parameters[i], true
}

func (t *Template) names() []string {
	names := make([]string, len(t.Parameters))
	for i, p := range t.Parameters {
		names[i] = p.Name
	}
	return names
}
