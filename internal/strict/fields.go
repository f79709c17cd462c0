package strict

import (
	"reflect"
	"slices"
	"strings"
)

// field is a struct field as JSON sees it: those of embedded structs are in the
// embedding one.
type field struct {
	name     string
	typ      reflect.Type
	index    []int
	tagged   bool // the name comes from a tag
	optional bool
}

// in returns the field within a struct, making the embedded structs on the way.
func (f field) in(v reflect.Value) reflect.Value {
	for i, x := range f.index {
		if i > 0 {
			v = allocatedOnce(v)
		}
		v = v.Field(x)
	}
	return v
}

func allocatedOnce(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Elem()
}

// absent reports whether the field belongs to an embedded struct that is not
// there, of which no field was given.
func (f field) absent(v reflect.Value) bool {
	_, err := v.FieldByIndexErr(f.index)
	return err != nil
}

func indexOf(fields []field, name string) int {
	for i := range fields {
		if fields[i].name == name {
			return i
		}
	}
	return -1
}

// structFields are the fields of one struct type.
type structFields struct {
	of     reflect.Type
	fields []field
}

func (d *decoding) fieldsOf(t reflect.Type) []field {
	for _, s := range d.structs {
		if s.of == t {
			return s.fields
		}
	}
	fields := dominant(collect(make([]field, 0, t.NumField()), t, nil, nil))
	d.structs = append(d.structs, structFields{t, fields})
	return fields
}

// collect appends the fields of t, which is reached by index through the types
// in outer, and those of its embedded structs.
func collect(fields []field, t reflect.Type, index []int, outer []reflect.Type) []field {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		if tag == "-" {
			continue
		}
		path := sf.Index
		if len(index) > 0 {
			path = slices.Concat(index, path)
		}
		name, options, _ := strings.Cut(tag, ",")
		if inner, ok := embeddedStruct(sf); ok && name == "" {
			if through := append(slices.Clip(outer), t); !slices.Contains(through, inner) {
				fields = collect(fields, inner, path, through)
			}
			continue
		}
		if sf.IsExported() {
			fields = append(fields, newField(sf, path, name, options))
		}
	}
	return fields
}

// embeddedStruct returns the struct type whose fields sf promotes. A pointer to
// an unexported type promotes none that could be set.
func embeddedStruct(sf reflect.StructField) (reflect.Type, bool) {
	t := sf.Type
	if t.Kind() == reflect.Pointer && sf.IsExported() {
		t = t.Elem()
	}
	return t, sf.Anonymous && t.Kind() == reflect.Struct
}

func newField(sf reflect.StructField, index []int, name, options string) field {
	f := field{name: name, typ: sf.Type, index: index, tagged: name != ""}
	if name == "" {
		f.name = sf.Name
	}
	f.optional = sf.Type.Kind() == reflect.Pointer
	for option := range strings.SplitSeq(options, ",") {
		f.optional = f.optional || option == "omitempty" || option == "omitzero"
	}
	return f
}

// dominant keeps, of several fields of one name, the one that lies shallowest
// and among those the one that is tagged; none if that is still several.
func dominant(all []field) []field {
	if !slices.ContainsFunc(all, func(f field) bool { return len(f.index) > 1 }) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f field) bool {
		return slices.ContainsFunc(all, func(g field) bool {
			if g.name != f.name || slices.Equal(g.index, f.index) || len(g.index) > len(f.index) {
				return false
			}
			return len(g.index) < len(f.index) || g.tagged || !f.tagged
		})
	})
}
