package resources

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/plan"
)

// YAML returns the document of JSON as YAML.
func YAML(s plan.State) ([]byte, error) {
	data, err := JSON(s)
	if err != nil {
		return nil, err
	}
	return YAMLOf(data)
}

// YAMLOf converts a JSON document to YAML 1.2, with the same order of keys. Text is written bare only if every YAML
// reader reads it as text, else in double quotes or, if it has lines, as a block. The library's own choice is read back
// differently for some texts (leading and trailing blanks, tabs, "? a").
func YAMLOf(data []byte) ([]byte, error) {
	root, err := yamlNode(jsontext.NewDecoder(bytes.NewReader(data)))
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	stand := stood(root)
	out, err := yaml.Dump(root, yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return escaped(stand.Replace(string(out))), nil
}

// stood replaces the characters beyond U+FFFF, which the library would escape, by a letter that the document does not
// contain and the character's number, and returns a replacer that restores them.
func stood(root *yaml.Node) *strings.Replacer {
	used := map[rune]bool{}
	each(root, func(node *yaml.Node) {
		for _, r := range node.Value {
			used[r] = true
		}
	})
	letter := '\u4E00'
	for used[letter] {
		letter++
	}
	var there, back []string
	for r := range used {
		if r > 0xFFFF && readable(r) {
			there = append(there, string(r), fmt.Sprintf("%c%06X", letter, r))
			back = append(back, fmt.Sprintf("%c%06X", letter, r), string(r))
		}
	}
	away := strings.NewReplacer(there...)
	each(root, func(node *yaml.Node) { node.Value = away.Replace(node.Value) })
	return strings.NewReplacer(back...)
}

func each(node *yaml.Node, do func(*yaml.Node)) {
	do(node)
	for _, child := range node.Content {
		each(child, do)
	}
}

func yamlNode(in *jsontext.Decoder) (*yaml.Node, error) {
	token, err := in.ReadToken()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: token.String()}
	switch token.Kind() {
	case jsontext.KindString:
		switch {
		case bare(node.Value):
		case strings.Contains(node.Value, "\n") && blockable(node.Value):
			node.Style = yaml.LiteralStyle
		default:
			node.Style = yaml.DoubleQuotedStyle
		}
		return node, nil
	case jsontext.KindBeginObject:
		node = &yaml.Node{Kind: yaml.MappingNode}
	case jsontext.KindBeginArray:
		node = &yaml.Node{Kind: yaml.SequenceNode}
	default:
		return node, nil
	}
	for in.PeekKind() != jsontext.KindEndObject && in.PeekKind() != jsontext.KindEndArray {
		child, err := yamlNode(in)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	_, err = in.ReadToken()
	return node, err
}

// escaped escapes invisible characters; they only occur in double quotes.
func escaped(out string) []byte {
	var b bytes.Buffer
	for _, r := range out {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	return b.Bytes()
}

// bare reports whether every reader reads the text as text, even without quotes.
func bare(text string) bool {
	for i, r := range text {
		letter := unicode.IsLetter(r) && !plan.IsInvisible(r)
		if !letter && (i == 0 || !unicode.IsDigit(r) && !strings.ContainsRune(" _./()+=;'\"@,!?-", r)) {
			return false
		}
	}
	reserved := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"} // read as another type by some YAML version
	return text != "" && !strings.HasSuffix(text, " ") && !slices.Contains(reserved, strings.ToLower(text))
}

// readable reports whether a character can be written unescaped: it is visible, and allowed in YAML.
func readable(r rune) bool { return unicode.IsPrint(r) && !plan.IsInvisible(r) }

func hidden(r rune) bool { return r != '\n' && !readable(r) }

// blockable reports whether text survives as a literal block without an indentation indicator: it does not begin with a
// blank, its lines do not end with one, and it contains no unprintable characters.
func blockable(text string) bool {
	for i, line := range strings.Split(text, "\n") {
		if strings.HasSuffix(line, " ") || i == 0 && (line == "" || strings.HasPrefix(line, " ")) {
			return false
		}
	}
	return !strings.HasSuffix(text, "\n") && !strings.ContainsFunc(text, hidden)
}
