package splice

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonText is JSON, with comments and trailing commas. What it adds to JSON is blanked out,
// byte for byte, so that the project's own strict parser reads the rest and its offsets are
// those of the text.
type jsonText struct{}

const blanks = " \t\r\n"

func (jsonText) parse(text []byte) (*node, error) {
	plain, err := blanked(text)
	if err != nil {
		return nil, err
	}
	if len(bytes.Trim(plain, blanks)) == 0 {
		return &node{kind: null, start: len(text), end: len(text)}, nil
	}
	in := jsontext.NewDecoder(bytes.NewReader(plain), jsontext.AllowDuplicateNames(true))
	root, err := readJSON(in)
	if err != nil {
		at, problem := in.InputOffset(), "the JSON ends too early"
		if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
			at, problem = syntax.ByteOffset, strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")
		}
		return nil, faultAt(text, int(at), problem)
	}
	if rest := bytes.TrimLeft(plain[root.end:], blanks); len(rest) > 0 {
		return nil, faultAt(text, len(text)-len(rest), "more follows behind the value")
	}
	if root.kind != object {
		return nil, faultAt(text, root.start, "the document is no JSON object")
	}
	return root, nil
}

// readJSON reads the next value.
func readJSON(in *jsontext.Decoder) (*node, error) {
	n := &node{kind: object}
	switch in.PeekKind() {
	case '[':
		n.kind = list
	case '{':
	default:
		return readScalar(in)
	}
	if _, err := in.ReadToken(); err != nil {
		return nil, err
	}
	n.start = int(in.InputOffset()) - 1
	for {
		if kind := in.PeekKind(); kind == ']' || kind == '}' {
			break
		}
		var name *node
		var err error
		if n.kind == object {
			if name, err = readScalar(in); err != nil {
				return nil, err
			}
		}
		child, err := readJSON(in)
		if err != nil {
			return nil, err
		}
		child.begin = child.start
		if name != nil {
			child.key, child.begin = name.value.(string), name.start // an object's names are strings, or it is an error above
		}
		n.add(child)
	}
	_, err := in.ReadToken()
	n.end = int(in.InputOffset())
	return n, err
}

func readScalar(in *jsontext.Decoder) (*node, error) {
	raw, err := in.ReadValue()
	if err != nil {
		return nil, err
	}
	n := &node{kind: scalar, raw: string(raw), end: int(in.InputOffset())}
	n.start = n.end - len(raw)
	switch raw.Kind() {
	case 'n':
		n.kind = null
	case 't', 'f':
		n.value = raw.Kind() == 't'
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return nil, err
		}
		n.value = string(text)
	default:
		n.value = number(n.raw)
	}
	return n, nil
}

// blanked returns a text with blanks in place of comments, of trailing commas and of a byte order mark.
func blanked(text []byte) ([]byte, error) {
	plain := bytes.Clone(text)
	if hasMark(text) {
		copy(plain, "   ")
	}
	comma, before := -1, byte(0) // a comma that nothing has followed yet; what stands before here, or before it
	for i := 0; i < len(plain); i++ {
		switch c := plain[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '/':
			end, problem := jsonComment(text, i)
			if problem != "" {
				return nil, faultAt(text, i, problem)
			}
			copy(plain[i:end], bytes.Repeat([]byte(" "), end-i))
			i = end - 1
			continue
		case ',':
			if comma < 0 && before != 0 && !strings.ContainsRune("{[:", rune(before)) {
				comma = i
				continue
			}
		case '}', ']':
			if comma >= 0 {
				plain[comma] = ' '
			}
		case '"':
			for i++; i < len(plain) && plain[i] != '"'; i++ {
				if plain[i] == '\\' {
					i++
				}
			}
		}
		comma, before = -1, plain[min(i, len(plain)-1)]
	}
	return plain, nil
}

// jsonComment returns where the comment ends that begins at an offset: before its line break, or behind its end.
func jsonComment(text []byte, at int) (end int, problem string) {
	switch rest := text[at:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		end = lineEnd(text, at)
		if bytes.ContainsAny(text[at:end], "\r\u2028\u2029") {
			return 0, "a comment holds a line break that not every program takes for one"
		}
		return end, ""
	case bytes.HasPrefix(rest, []byte("/*")):
		if i := bytes.Index(rest[2:], []byte("*/")); i >= 0 {
			return at + 2 + i + 2, ""
		}
		return 0, "a comment has no end"
	}
	return 0, "invalid character '/'"
}

func (jsonText) replace(text []byte, old, value *node) []edit {
	f := jsonFlow(text, old.root())
	if old.parent != nil {
		return f.replace(text, old, value)
	}
	return belowAll(text, f.write(value, "", false))
}

func (jsonText) insert(text []byte, into, value *node) []edit {
	return jsonFlow(text, into.root()).insert(text, into, value)
}

func (jsonText) remove(text []byte, entry *node) []edit {
	return jsonFlow(text, entry.root()).remove(text, entry)
}

// jsonFlow returns how a document is written.
func jsonFlow(text []byte, root *node) flow {
	f := flow{newline: newline(text), unit: "  ", colon: ": ", comma: ", ", key: quoted, comment: jsonComment}
	if unit, ok := unitOf(text, root); ok {
		f.unit = unit
	}
	if len(root.children) == 0 {
		return f
	}
	f.compact = !bytes.Contains(text[root.start:root.end], []byte("\n"))
	if text[root.children[0].start-1] == ':' {
		f.colon = ":"
		if f.compact {
			f.comma = ","
		}
	}
	return f
}

// unitOf returns by how much the entries of an object or list are indented, by the first that show it.
func unitOf(text []byte, n *node) (string, bool) {
	for _, child := range n.children {
		if beginsLine(text, child.begin) {
			outer, inner := indent(text, n.start), indent(text, child.begin)
			if len(inner) > len(outer) && strings.HasPrefix(inner, outer) {
				return inner[len(outer):], true
			}
		}
		if unit, ok := unitOf(text, child); ok {
			return unit, true
		}
	}
	return "", false
}
