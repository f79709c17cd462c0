// Package toolschema generates the JSON Schemas of tools from the Go types of
// their inputs and outputs, in the shape every host accepts: an object at the
// root, plain types, no references, unknown fields refused. It runs when the
// schemas are generated, never in the program.
package toolschema

import (
	"encoding/json"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/planloop/planloop/plan"
)

// Input returns the schema of a tool's input, compact and ready to embed.
func Input(t reflect.Type) ([]byte, error) {
	return json.Marshal(reflected(t, mapped))
}

// Output returns the schema of a tool's output. Hosts load it into every
// conversation, so it tells the fields of the root alone, as optional, and
// leaves room for fields to come.
func Output(t reflect.Type) ([]byte, error) {
	schema := reflected(t, mapped)
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

// listed returns the schema of a type without the fields that it takes and does
// not list.
func listed(t reflect.Type, unlisted []string) *jsonschema.Schema {
	schema := reflected(t, func(inner reflect.Type) *jsonschema.Schema {
		if inner == t {
			return nil
		}
		return mapped(inner)
	})
	for _, name := range unlisted {
		schema.Properties.Delete(name)
	}
	zero := reflect.Zero(t).Interface()
	if needs, ok := zero.(interface{ Needed() []string }); ok {
		schema.Required = needs.Needed()
	}
	if more, ok := zero.(interface{ TakesMore() bool }); ok && more.TakesMore() {
		schema.AdditionalProperties = nil
	}
	return schema
}

// mapped returns the schema of a type with JSON that does not follow from its Go kind, else nil.
func mapped(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[plan.StepID]() {
		return &jsonschema.Schema{Type: "string"}
	}
	if partly, ok := reflect.Zero(t).Interface().(interface{ Unlisted() []string }); ok {
		return listed(t, partly.Unlisted())
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
