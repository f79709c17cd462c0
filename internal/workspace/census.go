package workspace

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/plan"
)

// census walks what a text holds and refuses what a configuration has no need
// of and what makes a reader stumble: anchors and aliases (a few of them can
// stand for gigabytes), merge keys, tags, directives, names that are no words or
// come twice, deep nesting, endless lists.
type census struct{ values int }

// take counts n, which stands depth levels below its document, and all below it.
func (c *census) take(n *yaml.Node, depth int) error {
	c.values++
	switch {
	case c.values > maxValues:
		return refusal(n, fmt.Sprintf("has more than %d values", maxValues), "shorten it")
	case depth > maxDepth:
		return refusal(n, tooDeep(), plainly)
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return refusal(n, hasAnchor, plainly)
	case tagged(n) || directed(n):
		return refusal(n, hasTag, plainly)
	}
	if n.Kind == yaml.MappingNode {
		if err := distinctWords(n); err != nil {
			return err
		}
	}
	for _, below := range n.Content {
		if err := c.take(below, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func refusal(n *yaml.Node, problem, want string) error {
	return &ConfigError{Line: n.Line, Problem: problem, Want: want}
}

// tagged reports whether a value was written with a tag; a lone exclamation mark is one.
func tagged(n *yaml.Node) bool { return n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" }

func directed(n *yaml.Node) bool {
	return n.Stream != nil && (n.Stream.Version != nil || len(n.Stream.TagDirectives) > 0)
}

// distinctWords refuses a mapping with a key that is no word or that is there before.
func distinctWords(mapping *yaml.Node) error {
	lines := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.ShortTag() == "!!merge" {
			return refusal(key, hasAnchor, plainly)
		}
		if tagged(key) || key.Anchor != "" || key.Kind == yaml.AliasNode {
			continue // take says so
		}
		name, ok := scalarText(key)
		if !ok {
			return refusal(key, "has a key that is not one word", "write key: value lines")
		}
		if before, twice := lines[name]; twice {
			return refusal(key, fmt.Sprintf("has the key %s, which is already defined on line %d", plan.Quote(name), before), "keep one of them")
		}
		lines[name] = key.Line
	}
	return nil
}
