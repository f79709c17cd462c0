package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/plan"
)

// maxExpanded bounds the JSON that a YAML text stands for, aliases resolved.
const maxExpanded = 2 * maxBytes

// jsonOfYAML returns the JSON that text, which is one YAML document, stands for.
// It knows YAML's core schema without its curiosities: a bare word is null, true,
// false, a number as JSON writes it, or text; tags and merge keys are refused.
//
// The parser is go.yaml.in/yaml, since what is imported comes from anyone and
// goccy/go-yaml 1.19 needs quadratic time for some texts: 64 KB of blank lines in
// a block take it 45 seconds.
func jsonOfYAML(text []byte) (data []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // a fault of the parser; the text is still only text
			data, err = nil, refuse("", "the YAML cannot be read", "write it more simply, or use JSON")
		}
	}()
	body, err := oneDocument(yaml.NewDecoder(bytes.NewReader(text)))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	c := yamlConverter{out: jsontext.NewEncoder(&out)}
	if err := c.value(body, 0); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func oneDocument(in *yaml.Decoder) (*yaml.Node, error) {
	var first, second yaml.Node
	switch err := in.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, refuse("", "the YAML is empty", "give a plan to import")
	case err != nil:
		return nil, yamlSyntax(err)
	}
	switch err := in.Decode(&second); {
	case err == nil:
		return nil, refuse("", "the YAML holds several documents", "give one plan")
	case !errors.Is(err, io.EOF):
		return nil, yamlSyntax(err)
	}
	if len(first.Content) != 1 {
		return nil, refuse("", "the YAML is empty", "give a plan to import")
	}
	return first.Content[0], nil
}

func yamlSyntax(err error) error {
	text := strings.TrimPrefix(foldLine(err.Error()), "yaml: ")
	return refuse("", "the YAML is not valid: "+plan.Shorten(text, 160), "correct it")
}

// yamlConverter writes the nodes of a document as JSON.
type yamlConverter struct{ out *jsontext.Encoder }

func (c *yamlConverter) value(n *yaml.Node, depth int) error {
	switch {
	case depth > maxNesting:
		return c.refuse(n, fmt.Sprintf("is nested more than %d levels deep", maxNesting), "use fewer levels")
	case c.out.OutputOffset() > maxExpanded:
		return c.refuse(n, "expands to too much", "write repeated parts out in full instead of using aliases")
	case n.Style&yaml.TaggedStyle != 0, n.Tag == "!":
		return c.refuse(n, "has a tag", "write the value without it")
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.collection(n, jsontext.BeginObject, jsontext.EndObject, depth)
	case yaml.SequenceNode:
		return c.collection(n, jsontext.BeginArray, jsontext.EndArray, depth)
	case yaml.AliasNode:
		return c.value(n.Alias, depth+1)
	case yaml.ScalarNode:
		return c.scalar(n)
	}
	return c.refuse(n, "uses a YAML feature that is not supported here", "write it more simply")
}

func (c *yamlConverter) collection(n *yaml.Node, begin, end jsontext.Token, depth int) error {
	if err := c.write(n, begin); err != nil {
		return err
	}
	for i, child := range n.Content {
		convert := c.value
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			convert = c.key
		}
		if err := convert(child, depth+1); err != nil {
			return err
		}
	}
	return c.write(n, end)
}

func (c *yamlConverter) key(n *yaml.Node, _ int) error {
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 || !quoted(n) && n.Value == "<<" {
		return c.refuse(n, "has a key that is not a plain word", "write it more simply")
	}
	return c.write(n, jsontext.String(n.Value))
}

func (c *yamlConverter) scalar(n *yaml.Node) error {
	if quoted(n) {
		return c.write(n, jsontext.String(n.Value))
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return c.write(n, jsontext.Null)
	case "true", "True", "TRUE":
		return c.write(n, jsontext.True)
	case "false", "False", "FALSE":
		return c.write(n, jsontext.False)
	}
	if number := jsontext.Value(n.Value); number.Kind() == jsontext.KindNumber && number.IsValid() {
		return c.encoded(n, c.out.WriteValue(number))
	}
	return c.write(n, jsontext.String(n.Value))
}

// quoted reports whether a scalar is a text however it reads.
func quoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

func (c *yamlConverter) write(n *yaml.Node, token jsontext.Token) error {
	return c.encoded(n, c.out.WriteToken(token))
}

func (c *yamlConverter) encoded(n *yaml.Node, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName):
		return c.refuse(n, "has a duplicate key", "keep one of them")
	}
	return c.refuse(n, "cannot be read: "+plan.Shorten(err.Error(), 120), "write it more simply")
}

// refuse names the value that is being written, and its line.
func (c *yamlConverter) refuse(n *yaml.Node, problem, fix string) error {
	return refuse(shortPointer(string(c.out.StackPointer())), fmt.Sprintf("line %d %s", n.Line, problem), fix)
}
