package workspace

import "go.yaml.in/yaml/v4"

// Section is a part of the configuration that is decoded by the one who needs
// it. The zero value is a section that nobody wrote.
type Section struct {
	source string
	line   int
	key    string
	node   *yaml.Node
}

// Given reports whether somebody wrote the section.
func (s Section) Given() bool { return s.node != nil }

// Decode fills the struct that into points to, by its yaml tags, and refuses
// what it has no field for. A section that nobody wrote leaves it as it is. The
// error is a *ConfigError.
func (s Section) Decode(into any) error {
	if s.node == nil {
		return nil
	}
	err := guarded(func() error { return s.node.Load(into, yaml.WithKnownFields()) })
	if err == nil {
		return nil
	}
	refusal := &ConfigError{Source: s.source, Line: s.line, Key: s.key, Err: err}
	refusal.describe(err)
	refusal.Want = "correct it; the documentation lists what " + s.key + " takes"
	return refusal
}

func setSection(v value, into *Section) error {
	node := v.node
	if node == nil {
		parsed, err := parseValue(v)
		if err != nil {
			return err
		}
		node = parsed
	}
	*into = Section{source: v.source, line: v.line, key: v.key, node: node}
	return nil
}

// parseValue reads the text of a variable or flag as YAML.
func parseValue(v value) (*yaml.Node, error) {
	node, err := parseYAML(v.source, []byte(v.text))
	if err != nil {
		return nil, err
	}
	if node == nil {
		return nil, v.refuse("is blank", "give it a value or leave it out")
	}
	return node, nil
}
