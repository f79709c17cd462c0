// Package yamltext reads YAML of unknown origin as the JSON it stands for: bounded in
// depth and size, with aliases resolved, and without what YAML has beyond that. It knows
// nothing of what the documents say.
package yamltext

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

// MaxNesting bounds how deep a document is nested: as deep as the arguments of a
// step may be, and what is around them.
const MaxNesting = plan.MaxNesting + 8

// Document is a YAML document that was read.
type Document struct {
	JSON []byte // what it stands for
	root *yaml.Node
}

// Read returns the one document of text, which may stand for at most so many bytes of
// JSON, aliases resolved. It knows YAML's core schema without its curiosities: a bare word
// is null, true, false, a number as JSON writes it, or text; tags and merge keys are refused.
// The error is a *plan.ValidationError that names the line.
//
// The parser is go.yaml.in/yaml, since what is read comes from anyone and
// goccy/go-yaml 1.19 needs quadratic time for some texts: 64 KB of blank lines in
// a block take it 45 seconds.
func Read(text []byte, most int64) (d Document, err error) {
	defer func() {
		if r := recover(); r != nil { // a fault of the parser; the text is still only text
			d, err = Document{}, refuse("", "the YAML cannot be read", "write it more simply, or use JSON")
		}
	}()
	body, err := oneDocument(yaml.NewDecoder(bytes.NewReader(text)))
	if err != nil {
		return Document{}, err
	}
	var out bytes.Buffer
	c := converter{out: jsontext.NewEncoder(&out), most: most}
	if err := c.value(body, 0); err != nil {
		return Document{}, err
	}
	return Document{JSON: out.Bytes(), root: body}, nil
}

// Line returns the line in which that begins which a JSON pointer names, or what is
// around it where there is no such value.
func (d Document) Line(pointer string) int {
	line, _ := d.find(pointer)
	return line
}

// Keys returns the keys of the mapping that a JSON pointer names, in order; none where
// there is no such mapping.
func (d Document) Keys(pointer string) []string {
	var keys []string
	if _, n := d.find(pointer); n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			keys = append(keys, n.Content[i].Value)
		}
	}
	return keys
}

// find returns the value that a pointer names, nil where there is none, and the line of
// the last part of the way to it.
func (d Document) find(pointer string) (line int, n *yaml.Node) {
	n, line = resolved(d.root), d.root.Line
	for _, token := range strings.Split(pointer, "/")[1:] {
		name, value := child(n, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if value == nil {
			return line, nil
		}
		n, line = resolved(value), name.Line
	}
	return line, n
}

func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// child returns an entry of a mapping or a list with what names it, nil where there is none.
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
	switch err := in.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, refuse("", "the YAML is empty", "write one document")
	case err != nil:
		return nil, yamlSyntax(err)
	}
	switch err := in.Decode(&second); {
	case err == nil:
		return nil, refuse("", "the YAML holds several documents", "keep one")
	case !errors.Is(err, io.EOF):
		return nil, yamlSyntax(err)
	}
	if len(first.Content) != 1 {
		return nil, refuse("", "the YAML is empty", "write one document")
	}
	return first.Content[0], nil
}

func yamlSyntax(err error) error {
	text := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
	return refuse("", "the YAML is not valid: "+plan.Shorten(text, 160), "correct it")
}

// converter writes the nodes of a document as JSON.
type converter struct {
	out  *jsontext.Encoder
	most int64 // bytes of it
}

func (c *converter) value(n *yaml.Node, depth int) error {
	switch {
	case depth > MaxNesting:
		return c.refuse(n, fmt.Sprintf("is nested more than %d levels deep", MaxNesting), "use fewer levels")
	case c.out.OutputOffset() > c.most:
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
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 || !quoted(n) && n.Value == "<<" {
		return c.refuse(n, "has a key that is not a plain word", "write it more simply")
	}
	return c.write(n, jsontext.String(n.Value))
}

func (c *converter) scalar(n *yaml.Node) error {
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

// refuse names the value that is being written, and its line.
func (c *converter) refuse(n *yaml.Node, problem, fix string) error {
	return refuse(plan.Shorten(string(c.out.StackPointer()), 200), fmt.Sprintf("line %d %s", n.Line, problem), fix)
}

func refuse(field, problem, fix string) error {
	return plan.Refuse(plan.InvalidInput, field, problem, fix)
}
