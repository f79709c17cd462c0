package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/planloop/planloop/plan"
)

// Bounds of one document. The parser's time grows with the square of the number
// of tokens and of the depth: 64 KB of brackets keep it busy for minutes.
const (
	maxFileBytes = 64 << 10
	maxTokens    = 4_000
	maxDepth     = 32
)

// parseYAML returns the one document of data, nil when it is empty.
func parseYAML(source string, data []byte) (node ast.Node, err error) {
	refuse := func(line int, problem, want string) error {
		return &ConfigError{Source: source, Line: line, Problem: problem, Want: want}
	}
	if len(data) > maxFileBytes {
		return nil, refuse(0, fmt.Sprintf("is larger than %d KB", maxFileBytes>>10), "shorten it")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if line := firstOdd(data); line > 0 {
		return nil, refuse(line, "has a control character or is not UTF-8", "remove it")
	}
	err = guarded(func() error {
		tokens := lexer.Tokenize(string(data))
		if at, problem := forbidden(tokens); problem != "" {
			return refuse(at, problem, "write the settings out plainly")
		}
		if len(tokens) == 0 && len(bytes.TrimSpace(data)) > 0 {
			return refuse(1, "is not YAML", "write key: value lines")
		}
		file, err := parser.Parse(tokens, 0)
		if err != nil {
			return err
		}
		node, err = onlyDocument(file, refuse)
		return err
	})
	return node, asConfigError(source, err)
}

func asConfigError(source string, err error) error {
	if err == nil {
		return nil
	}
	if own := (*ConfigError)(nil); errors.As(err, &own) {
		return own
	}
	refusal := &ConfigError{Source: source, Line: 1, Err: err, Want: "correct the YAML"}
	refusal.describe(err)
	return refusal
}

// guarded turns a panic of the YAML library, which reads what a stranger may
// have written, into an error.
func guarded(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML cannot be understood (%v)", r)
		}
	}()
	return call()
}

// firstOdd returns the line of the first byte that is not text, 0 when all is.
func firstOdd(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
			return line
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return 0
}

// forbidden finds what a configuration has no need of and what makes a parser
// or a reader stumble: anchors and aliases (a few of them can stand for
// gigabytes), tags, directives, deep nesting, endless lists.
func forbidden(tokens token.Tokens) (line int, problem string) {
	if len(tokens) > maxTokens {
		return tokens[maxTokens].Position.Line, fmt.Sprintf("has more than %d words and signs", maxTokens)
	}
	var depth nesting
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return t.Position.Line, "has an anchor, an alias or a merge key"
		case token.TagType, token.DirectiveType:
			return t.Position.Line, "has a tag or a directive"
		}
		if depth.after(t) > maxDepth {
			return t.Position.Line, fmt.Sprintf("is nested more than %d levels deep", maxDepth)
		}
	}
	return 0, ""
}

// nesting bounds from above how deep a parser must go: by brackets that are
// open, and by the entries and keys that one line opens.
type nesting struct {
	brackets, opened, line int
}

func (n *nesting) after(t *token.Token) int {
	if t.Position.Line != n.line {
		n.line, n.opened = t.Position.Line, 0
	}
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		n.brackets++
	case token.SequenceEndType, token.MappingEndType:
		n.brackets--
	case token.SequenceEntryType, token.MappingKeyType:
		n.opened++
	case token.MappingValueType:
		if n.brackets == 0 {
			n.opened++
		}
	}
	return max(n.brackets, n.opened)
}

func onlyDocument(file *ast.File, refuse func(int, string, string) error) (ast.Node, error) {
	var only ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if only != nil {
			return nil, refuse(lineOf(doc.Body), "has a second document", "keep one")
		}
		only = doc.Body
	}
	return only, nil
}

// field is one line of a mapping.
type field struct {
	name  string
	line  int
	value ast.Node
}

// mappingOf returns the fields of a mapping in order; the parser has refused
// names that come twice.
func mappingOf(node ast.Node) ([]field, bool) {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		return nil, false
	}
	fields := make([]field, 0, len(pairs))
	for _, pair := range pairs {
		name, ok := scalarText(pair.Key)
		if !ok {
			return nil, false
		}
		fields = append(fields, field{name: name, line: lineOf(pair.Key), value: pair.Value})
	}
	return fields, true
}

// scalarText returns a scalar as it was written, without quotes.
func scalarText(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func isNull(node ast.Node) bool {
	_, null := node.(*ast.NullNode)
	return null || node == nil
}

func lineOf(node ast.Node) int {
	if node == nil {
		return 0
	}
	at := node.GetToken()
	if at == nil || at.Position == nil {
		return 0
	}
	return at.Position.Line
}

// describe takes over what the YAML library says about the problem and the place.
func (e *ConfigError) describe(err error) {
	message := err.Error()
	var detail yaml.Error
	if errors.As(err, &detail) {
		message = detail.GetMessage()
		if at := detail.GetToken(); at != nil && at.Position != nil && e.Line > 0 {
			e.Line = at.Position.Line
		}
	}
	e.Problem = "cannot be read: " + plan.Shorten(printable(message), 200)
}
