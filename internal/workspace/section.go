package workspace

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Section is a part of the configuration that its user decodes. The zero value is a missing section.
type Section struct{ value value }

// Given reports whether the configuration has the section.
func (s Section) Given() bool { return s.value.node != nil }

// Decode fills the struct that into points to, by its yaml tags, and refuses unknown fields. A missing section leaves
// it unchanged. The error is a *ConfigError without any value, which might be a secret.
func (s Section) Decode(into any) error {
	v := s.value
	if v.node == nil {
		return nil
	}
	err := recoverPanic(func() error { return v.node.Load(into, yaml.WithKnownFields()) })
	if err == nil {
		return nil
	}
	if wrong := v.misfit(reflect.TypeOf(into).Elem()); wrong != nil {
		return v.locate(wrong[0], err)
	}
	refusal := &ConfigError{Want: "correct it"}
	refusal.describe(err)
	return v.locate(refusal, err)
}

// Entries returns the parts of a section that is a mapping, by name, so that one faulty part does not affect the
// others. The error is a *ConfigError.
func (s Section) Entries() (map[string]Section, error) {
	v := s.value
	if v.node == nil || isNull(v.node) {
		return nil, nil
	}
	entries, ok := v.entries()
	if !ok {
		return nil, v.locate(v.noMapping()[0], nil)
	}
	all := map[string]Section{}
	for _, entry := range entries {
		all[entry.entry] = Section{v.entryValue(entry)}
	}
	return all, nil
}

// locate completes an error about the section or a part of it. Only a file has lines.
func (v value) locate(wrong *ConfigError, cause error) *ConfigError {
	wrong.Source, wrong.Err = v.source, cause
	if wrong.Key == "" {
		wrong.Key = v.key
	}
	if wrong.Line == 0 || v.line == 0 {
		wrong.Line = v.line
	}
	return wrong
}

// entryValue returns a part of a mapping, with its full path as key.
func (v value) entryValue(entry value) value {
	entry.key = v.key + "." + plan.Shorten(safetext.EscapeLine(entry.entry), 60)
	if v.line == 0 {
		entry.line = 0
	}
	return entry
}

// misfit finds the part of a value that does not fit a Go type, and describes it in terms of the configuration. It
// returns nil if it finds nothing.
func (v value) misfit(t reflect.Type) faults {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case isNull(v.node):
		return nil
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return v.misfitBelow(t)
	case t.Kind() == reflect.Slice:
		elements, ok := v.elements()
		if !ok {
			name := v.key[strings.LastIndexByte(v.key, '.')+1:]
			return v.refuse("is not a list", "write a list, such as "+name+": [one, two]")
		}
		for i, element := range elements {
			element.key += "[" + strconv.Itoa(i) + "]"
			if wrong := element.misfit(t.Elem()); wrong != nil {
				return wrong
			}
		}
		return nil
	}
	if recoverPanic(func() error { return v.node.Load(reflect.New(t).Interface()) }) == nil {
		return nil
	}
	if t == reflect.TypeFor[time.Duration]() {
		return v.refuse("is not a time", "write a number with its unit, such as 30s, 10m or 1h")
	}
	switch t.Kind() {
	case reflect.Bool:
		return v.refuse("is neither true nor false", "write one of them")
	case reflect.Int:
		return v.refuse("is not a whole number", "write one, such as 3")
	case reflect.Float64:
		return v.refuse("is not a number", "write one, such as 0.5")
	}
	return v.refuse("is not one text", "write a text, in quotes if it has a colon or a brace")
}

// misfitBelow is misfit for a mapping.
func (v value) misfitBelow(t reflect.Type) faults {
	entries, ok := v.entries()
	if !ok {
		return v.noMapping()
	}
	fields := fieldsOf(t)
	for _, entry := range entries {
		entry = v.entryValue(entry)
		of, known := fields[entry.entry]
		if t.Kind() == reflect.Map {
			of, known = t.Elem(), true
		}
		if !known {
			names := slices.Sorted(maps.Keys(fields))
			return entry.refuse("is unknown", didYouMean(entry.entry, names)+"the keys here are "+strings.Join(names, ", "))
		}
		if wrong := entry.misfit(of); wrong != nil {
			return wrong
		}
	}
	return nil
}

func (v value) noMapping() faults {
	return v.refuse("is not a mapping", "write key: value lines below it")
}

// fieldsOf returns the fields of a struct by their YAML names.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return fields
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		if name != "-" {
			fields[name] = field.Type
		}
	}
	return fields
}
