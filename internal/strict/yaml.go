package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/plan"
)

// MaxNesting limits the depth of a document: that of a step's arguments, plus the levels around them.
const MaxNesting = plan.MaxNesting + 8

// YAML is a parsed YAML document.
type YAML struct {
	JSON []byte // the document as JSON
	root *yaml.Node
}

// ReadYAML converts the only document in text, to at most limit bytes of JSON with aliases resolved. It accepts
// YAML's core schema without its oddities: a bare word is null, true, false, a JSON number, or a string; tags
// and merge keys are refused. Its error is a *plan.ValidationError with the line.
//
// The parser is go.yaml.in/yaml, because the input may come from anyone and goccy/go-yaml 1.19 needs
// quadratic time for some texts: 45 seconds for 64 KB of blank lines in a block.
func ReadYAML(text []byte, limit int64) (d YAML, err error) {
	defer func() {
		if r := recover(); r != nil { // a bug in the parser; reject the text instead of crashing
			d, err = YAML{}, refuse("", "the YAML cannot be read", "write it more simply, or use JSON")
		}
	}()
	body, err := oneDocument(yaml.NewDecoder(bytes.NewReader(text)))
	if err != nil {
		return YAML{}, err
	}
	var out bytes.Buffer
	c := converter{out: jsontext.NewEncoder(&out), limit: limit}
	if err := c.value(body, 0); err != nil {
		return YAML{}, err
	}
	return YAML{JSON: out.Bytes(), root: body}, nil
}

// Line returns the line of the value that a JSON pointer names, or of the value around it if it does not
// exist.
func (d YAML) Line(pointer string) int {
	n, line := resolved(d.root), d.root.Line
	for _, token := range strings.Split(pointer, "/")[1:] {
		name, value := child(n, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if value == nil {
			return line
		}
		n, line = resolved(value), name.Line
	}
	return line
}

func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// child returns an entry of a mapping or a list and the node that names it, or nil.
func child(n *yaml.Node, token string) (name, value *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == token {
				return n.Content[i], n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	}
	return nil, nil
}

func oneDocument(in *yaml.Decoder) (*yaml.Node, error) {
	var first, second yaml.Node
	err := in.Decode(&first)
	if err == nil {
		err = in.Decode(&second)
	}
	switch {
	case err == nil:
		return nil, refuse("", "the YAML holds several documents", "keep one")
	case !errors.Is(err, io.EOF):
		text := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
		return nil, refuse("", "the YAML is not valid: "+plan.Shorten(text, 160), "correct it")
	case len(first.Content) != 1:
		return nil, refuse("", "the YAML is empty", "write one document")
	}
	return first.Content[0], nil
}

// converter writes the nodes of a document as JSON.
type converter struct {
	out   *jsontext.Encoder
	limit int64 // limit on the bytes of JSON
}

func (c *converter) value(n *yaml.Node, depth int) error {
	switch {
	case depth > MaxNesting:
		return c.refuse(n, fmt.Sprintf("is nested more than %d levels deep", MaxNesting), "use fewer levels")
	case c.out.OutputOffset() > c.limit:
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

func (c *converter) collection(n *yaml.Node, begin, end jsontext.Token, depth int) error {
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

func (c *converter) key(n *yaml.Node, _ int) error {
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 || !isQuoted(n) && n.Value == "<<" {
		return c.refuse(n, "has a key that is not a plain word", "write it more simply")
	}
	return c.write(n, jsontext.String(n.Value))
}

func (c *converter) scalar(n *yaml.Node) error {
	if isQuoted(n) {
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

// isQuoted reports whether a scalar is a string regardless of its content.
func isQuoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

func (c *converter) write(n *yaml.Node, token jsontext.Token) error {
	return c.encoded(n, c.out.WriteToken(token))
}

func (c *converter) encoded(n *yaml.Node, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName):
		return c.refuse(n, "has a duplicate key", "keep one of them")
	}
	return c.refuse(n, "cannot be read: "+plan.Shorten(err.Error(), 120), "write it more simply")
}

// refuse returns an error with the current value and its line.
func (c *converter) refuse(n *yaml.Node, problem, fix string) error {
	return refuse(plan.Shorten(string(c.out.StackPointer()), 200), fmt.Sprintf("line %d %s", n.Line, problem), fix)
}

func refuse(field, problem, fix string) error {
	return plan.Refuse(plan.InvalidInput, field, problem, fix)
}
