package workspace

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// field is one line of a mapping.
type field struct {
	name  string
	line  int
	value *yaml.Node
}

// mappingOf returns the fields of a mapping in order; names that are no words or
// come twice have been refused.
func mappingOf(node *yaml.Node) ([]field, bool) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, false
	}
	fields := make([]field, 0, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		name, ok := scalarText(key)
		if !ok {
			return nil, false
		}
		fields = append(fields, field{name: name, line: key.Line, value: node.Content[i+1]})
	}
	return fields, true
}

// scalarText returns a scalar as it was written, without quotes.
func scalarText(node *yaml.Node) (string, bool) {
	if isNull(node) || node.Kind != yaml.ScalarNode {
		return "", false
	}
	if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return strings.TrimSpace(node.Value), true
	}
	return node.Value, true
}

func isNull(node *yaml.Node) bool { return node == nil || node.ShortTag() == "!!null" }

func lineOf(node *yaml.Node) int {
	if node == nil {
		return 0
	}
	return node.Line
}
