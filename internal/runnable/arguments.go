package runnable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ArgumentsOf returns a tool's arguments in short: {path, from?: integer}; "" if its schema cannot be read.
func ArgumentsOf(schema json.RawMessage) string {
	var object struct {
		Properties map[string]struct {
			Type any   `json:"type"`
			Enum []any `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return ""
	}
	place := func(name string) int { // required ones first
		if at := slices.Index(object.Required, name); at >= 0 {
			return at
		}
		return len(object.Required)
	}
	names := slices.SortedFunc(maps.Keys(object.Properties), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b))
	})
	var fields []string
	for _, name := range names {
		field, property := name, object.Properties[name]
		if place(name) == len(object.Required) {
			field += "?"
		}
		switch kind, _ := property.Type.(string); {
		case len(property.Enum) > 0:
			field += ": " + strings.ReplaceAll(strings.Trim(fmt.Sprint(property.Enum), "[]"), " ", "|")
		case kind != "" && kind != "string":
			field += ": " + kind
		}
		fields = append(fields, field)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// Written decodes a JSON object that was given as a JSON string; any other value is returned unchanged.
func Written(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) == nil && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return json.RawMessage(text)
	}
	return value
}
