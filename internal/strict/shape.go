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

// shape is what the walk needs to know of a type.
type shape struct {
	reflect.Type // behind all pointers
	nullable     bool
	self         bool // it has a decoding method of its own
	raw          bool // it holds JSON as it is, as a jsontext.Value does
	supported    bool
	values       []string // what a string type accepts, nil when that is everything
	fields       []field  // of a struct
	alone        string   // the field that a string stands for in the place of the struct
}

// shape returns the shape of a type, so that a list of structs reflects on it once.
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
		if short, ok := zero.(interface{ Alone() string }); ok {
			s.alone = short.Alone()
		}
	}
	w.shapes[t] = s
	return s
}

// decodesItself returns a value of a type with a decoding method of its own, else
// nil, and whether the type holds JSON as it is.
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
		return t != reflect.TypeFor[time.Duration]() // a bare number would not say its unit
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

// enumerated is a string type that accepts certain values only.
type enumerated interface{ Values() []string }

// valuesOf returns what a string type accepts, nil when that is everything.
func valuesOf(t reflect.Type) []string {
	if t.PkgPath() == "" || t.Kind() != reflect.String {
		return nil
	}
	if e, ok := reflect.Zero(t).Interface().(enumerated); ok {
		return e.Values()
	}
	return nil
}

// field is a struct field as JSON sees it: those of embedded structs are in the
// embedding one.
type field struct {
	name     string
	typ      reflect.Type
	optional bool
	needed   bool   // a placeholder for the struct shows it all the same
	label    string // what a placeholder for its value says
	some     bool   // a blank text is refused later
	verbatim bool   // any text is taken as it is, even one that looks like a placeholder
	listed   bool   // a list means the text that it is written as
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
			f.some, f.verbatim, f.listed = text == "some", text == "any", text == "list"
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
