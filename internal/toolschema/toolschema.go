// Package toolschema generates the JSON Schemas of tools from the Go types of
// their inputs and outputs, in the shape every host accepts: an object at the
// root, plain types, no references. Unknown fields are refused, unless the
// input takes fields that its schema does not list. It runs when the
// schemas are generated, never in the program.
package toolschema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/planloop/planloop/plan"
)

// Input returns the schema of a tool's input, compact and ready to embed.
func Input(t reflect.Type) ([]byte, error) { return InputWith("")(t) }

// InputWith returns a function like Input that also lists the fields that only a toolset needs, by the tag toolset.
func InputWith(toolset string) func(reflect.Type) ([]byte, error) {
	return func(t reflect.Type) ([]byte, error) {
		schema := generator{toolset}.listed(t)
		schema.Version = ""
		return json.Marshal(schema)
	}
}

// Output returns the schema of a tool's output. Hosts load it into every
// conversation, so it tells the fields of the root alone, as optional, and
// leaves room for fields to come.
func Output(t reflect.Type) ([]byte, error) {
	schema := reflected(t, generator{}.mapped)
	schema.AdditionalProperties, schema.Required = nil, nil
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		pair.Value = &jsonschema.Schema{Type: pair.Value.Type}
	}
	return json.Marshal(schema)
}

func reflected(t reflect.Type, mapper func(reflect.Type) *jsonschema.Schema) *jsonschema.Schema {
	reflector := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, Mapper: mapper}
	schema := reflector.ReflectFromType(t)
	schema.Version = ""
	return schema
}

type generator struct{ toolset string }

// listed returns the schema of a struct without the fields that it takes and does not list: those that its method Listed
// leaves out or Unlisted names, those of other toolsets, and those with the tag jsonschema:"-". Only schema:"closed" keeps it closed.
func (g generator) listed(t reflect.Type) *jsonschema.Schema {
	schema := reflected(t, func(inner reflect.Type) *jsonschema.Schema {
		if inner == t {
			return nil
		}
		return g.mapped(inner)
	})
	zero := reflect.Zero(t).Interface()
	only, isPartly := zero.(interface{ Listed() []string })
	if some, ok := zero.(interface{ Unlisted() []string }); ok {
		for _, name := range some.Unlisted() {
			schema.Properties.Delete(name)
		}
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		toolset := f.Tag.Get("toolset")
		if toolset != "" && toolset != g.toolset || isPartly && !slices.Contains(only.Listed(), name) {
			schema.Properties.Delete(name)
		}
		if _, isListed := schema.Properties.Get(name); !isListed && name != "" && name != "-" && f.Tag.Get("schema") != "closed" {
			schema.AdditionalProperties = nil
		}
	}
	if needs, ok := zero.(interface{ Needed() []string }); ok {
		schema.Required = needs.Needed()
	}
	return schema
}

// mapped returns the schema of a type with JSON that does not follow from its Go kind, else nil.
func (g generator) mapped(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[plan.StepID]() {
		return &jsonschema.Schema{Type: "string"}
	}
	if t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() {
		return g.listed(t)
	}
	if ref, ok := reflect.Zero(t).Interface().(interface{ Kinds() []string }); ok {
		schema := &jsonschema.Schema{}
		for _, kind := range ref.Kinds() {
			schema.AnyOf = append(schema.AnyOf, &jsonschema.Schema{Type: kind})
		}
		return schema
	}
	values, ok := reflect.Zero(t).Interface().(interface{ Values() []string })
	if !ok || t.Kind() != reflect.String {
		return nil
	}
	schema := &jsonschema.Schema{Type: "string"}
	for _, v := range values.Values() {
		schema.Enum = append(schema.Enum, v)
	}
	return schema
}
