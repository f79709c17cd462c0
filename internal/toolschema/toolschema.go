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

// Generate returns the schema of a struct type, compact and ready to embed.
func Generate(t reflect.Type) ([]byte, error) {
	reflector := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, Mapper: mapped}
	schema := reflector.ReflectFromType(t)
	schema.Version = ""
	return json.Marshal(schema)
}

// mapped gives the types whose JSON their Go kind does not tell.
func mapped(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[plan.StepID]() {
		return &jsonschema.Schema{Type: "string"}
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
