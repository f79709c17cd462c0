package strict

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// shape is the walk's knowledge of a type.
type shape struct {
	reflect.Type // with pointers removed
	nullable     bool
	self         bool // it has its own decoding method
	raw          bool // it holds JSON unchanged, like jsontext.Value
	supported    bool
	values       []string // values a string type accepts; nil: any
	fields       []field  // of a struct
	asks         bool     // its needed fields are asked for in a completed input
	alone        string   // the field set by a string given in place of the struct
}

// shape returns the shape of a type, cached so that a list of structs reflects on it once.
func (w *walk) shape(t reflect.Type) *shape {
	if s, ok := w.shapes[t]; ok {
		return s
	}
	s := &shape{Type: t}
	for s.Kind() == reflect.Pointer {
		s.Type = s.Elem()
	}
	self, raw := decodesItself(s.Type)
	s.self, s.raw = self != nil, raw
	s.nullable = t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || s.self && raw
	s.supported = s.self || supported(s.Type)
	s.values = valuesOf(s.Type)
	if s.Kind() == reflect.Struct && !s.self {
		s.fields = collect(make([]field, 0, s.NumField()), s.Type)
		zero := reflect.Zero(s.Type).Interface()
		if needs, ok := zero.(interface{ Needed() []string }); ok {
			for i := range s.fields {
				s.fields[i].needed = slices.Contains(needs.Needed(), s.fields[i].name)
			}
		}
		if asks, ok := zero.(interface{ Asked() []string }); ok {
			s.asks = true
			for i := range s.fields {
				s.fields[i].needed = slices.Contains(asks.Asked(), s.fields[i].name)
			}
		}
		if short, ok := zero.(interface{ Alone() string }); ok {
			s.alone = short.Alone()
		}
	}
	w.shapes[t] = s
	return s
}

// decodesItself returns a value of a type that has its own decoding method, else nil, and whether the type holds JSON
// unchanged.
func decodesItself(t reflect.Type) (self any, raw bool) {
	raw = t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	if t.PkgPath() == "" { // only a defined type has methods
		return nil, raw
	}
	switch v := reflect.New(t).Interface().(type) {
	case json.UnmarshalerFrom, json.Unmarshaler, encoding.TextUnmarshaler:
		return v, raw
	}
	return nil, raw
}

func supported(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Int64:
		return t != reflect.TypeFor[time.Duration]() // a bare number would not show its unit
	case reflect.Slice:
		return t.Elem().Kind() != reflect.Uint8 // bytes would need an encoding
	case reflect.Map:
		self, _ := decodesItself(t.Key())
		return t.Key().Kind() == reflect.String && self == nil
	case reflect.Interface:
		return t.NumMethod() == 0
	}
	return false
}

// valuesOf returns the values a string type accepts, nil if any.
func valuesOf(t reflect.Type) []string {
	if t.PkgPath() == "" || t.Kind() != reflect.String {
		return nil
	}
	if e, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		return e.Values()
	}
	return nil
}

// field is a struct field as JSON sees it: fields of embedded structs belong to the outer one.
type field struct {
	name     string
	typ      reflect.Type
	optional bool
	needed   bool     // a placeholder for the struct shows it although it is optional
	label    string   // text of a placeholder for its value
	some     bool     // a blank text is refused later
	verbatim bool     // any text is accepted unchanged, even one like a placeholder
	listed   bool     // a list is accepted as the text it is written as
	lines    bool     // the lines of a text are accepted as a list
	unlisted bool     // it is not listed in schemas and messages
	commands bool     // a list of commands is accepted: all must succeed
	rest     bool     // a corrected input keeps the texts of unknown fields here
	yes      []string // words that mean true
}

func indexOf(fields []field, name string) int {
	return slices.IndexFunc(fields, func(f field) bool { return f.name == name })
}

// collect appends the fields of t, and those of the structs embedded in it.
func collect(fields []field, t reflect.Type) []field {
	for sf := range t.Fields() {
		tag := sf.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case sf.Anonymous && sf.Type.Kind() == reflect.Struct && name == "":
			fields = collect(fields, sf.Type)
		case sf.IsExported():
			f := field{name: cmp.Or(name, sf.Name), typ: sf.Type, optional: sf.Type.Kind() == reflect.Pointer}
			_, description, _ := strings.Cut(sf.Tag.Get("jsonschema"), "description=")
			text := sf.Tag.Get("text")
			f.some, f.verbatim, f.listed, f.lines = strings.HasPrefix(text, "some"), text == "any", text == "list", text == "lines"
			f.commands, f.rest, f.yes = text == "commands", strings.HasSuffix(text, "rest"), strings.Fields(sf.Tag.Get("yes"))
			f.unlisted = sf.Tag.Get("jsonschema") == "-"
			f.label = cmp.Or(sf.Tag.Get("hint"), description, f.name)
			for option := range strings.SplitSeq(options, ",") {
				f.optional = f.optional || option == "omitempty" || option == "omitzero"
			}
			if i := indexOf(fields, f.name); i >= 0 { // it hides that of a struct embedded before it
				fields[i] = f
				continue
			}
			fields = append(fields, f)
		}
	}
	return fields
}
