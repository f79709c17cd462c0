package splice

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// yamlText is YAML: one document, whose parser tells where its nodes begin. Where they end
// follows from what comes next and from the indentation. An alias is what it is, not what
// it stands for.
type yamlText struct{}

func (yamlText) parse(text []byte) (root *node, err error) {
	defer func() {
		if r := recover(); r != nil { // a fault of the parser; the text is still only text
			root, err = nil, faultAt(text, 0, "the YAML cannot be read")
		}
	}()
	if at := strangeBreak(text); at >= 0 {
		return nil, faultAt(text, at, "a line break that not every program takes for one")
	}
	in := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := in.Decode(&first); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlFault(text, err)
	}
	if err := in.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlFault(text, err)
		}
		return nil, &Fault{second.Line, second.Column, "the YAML holds several documents"}
	}
	empty := &node{kind: null, start: len(text), end: len(text)}
	if len(first.Content) == 0 {
		return empty, nil
	}
	r := yamlReader{text: text, lines: lineStarts(text)}
	body := first.Content[0]
	if body.Kind == yaml.ScalarNode && body.Value == "" && body.Style == 0 && body.Anchor == "" {
		return empty, nil
	}
	if root, err = r.node(body, len(text), false); err != nil {
		return nil, err
	}
	if root.kind != object {
		return nil, faultAt(text, root.start, "the document is no YAML mapping")
	}
	root.implied = root.form == block && root.raw == ""
	return root, nil
}

func yamlFault(text []byte, err error) *Fault {
	if wrong := (*yaml.LoadError)(nil); errors.As(err, &wrong) {
		return &Fault{max(1, wrong.Mark.Line), max(1, wrong.Mark.Column), wrong.Message}
	}
	return faultAt(text, 0, strings.TrimPrefix(err.Error(), "yaml: "))
}

// strangeBreak returns the offset of a line break of YAML 1.1 that is none for the rest of this package.
func strangeBreak(text []byte) int {
	for at, r := range string(text) {
		if r == 0x85 || r == 0x2028 || r == 0x2029 || r == '\r' && (at+1 == len(text) || text[at+1] != '\n') {
			return at
		}
	}
	return -1
}

func lineStarts(text []byte) []int {
	starts := []int{0}
	if hasMark(text) {
		starts[0] = len(mark)
	}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

type yamlReader struct {
	text  []byte
	lines []int // where they begin
}

// at returns the offset of a line and a column, which counts characters.
func (r *yamlReader) at(line, column int) int {
	if line > len(r.lines) {
		return len(r.text)
	}
	at := r.lines[line-1]
	for ; column > 1 && at < len(r.text); column-- {
		_, size := utf8.DecodeRune(r.text[at:])
		at += size
	}
	return at
}

// node reads a value that ends before a limit, a line's beginning unless it is in brackets.
func (r *yamlReader) node(y *yaml.Node, limit int, bracketed bool) (*node, error) {
	n := &node{kind: scalar, start: r.at(y.Line, y.Column), raw: y.Anchor}
	if y.Style&yaml.TaggedStyle != 0 || y.Tag == "!" {
		n.raw += " " + y.Tag
	}
	switch y.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		n.kind, n.form = list, block
		if y.Kind == yaml.MappingNode {
			n.kind = object
		}
		if y.Style&yaml.FlowStyle != 0 {
			n.form, n.start = inline, r.behindProperties(n.start)
		}
		return n, r.entries(n, y, limit)
	case yaml.AliasNode:
		n.value, n.raw = literal("*"+y.Value), "*"+y.Value
		n.end = n.start + len(n.raw)
		return n, nil
	}
	n.value = yamlValue(y)
	if n.value == nil {
		n.kind = null
	}
	n.raw = fmt.Sprint(y.Style, n.raw, "=", y.Value)
	if n.end = r.behindProperties(n.start); y.Value != "" || y.Style != 0 {
		n.end = scalarEnd(r.text, n.end, bracketed)
	}
	return n, nil
}

func yamlValue(y *yaml.Node) any {
	plain := strings.ReplaceAll(y.Value, "_", "")
	switch y.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(y.Value, "true")
	case "!!int":
		if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
			return i
		}
		return literal(y.Value)
	case "!!float":
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return f
		}
		return literal(y.Value)
	case "!!str":
		return y.Value
	}
	return literal(y.Value)
}

// entries reads what is in a mapping or a sequence.
func (r *yamlReader) entries(n *node, y *yaml.Node, limit int) error {
	step := 1
	if n.kind == object {
		step = 2
	}
	var begins []int
	for i := 0; i < len(y.Content); i += step {
		begin := r.at(y.Content[i].Line, y.Content[i].Column)
		if n.form == block && n.kind == list {
			begin = r.dash(y, y.Content[i])
		}
		begins = append(begins, begin)
	}
	last := n.start + 1
	for i, begin := range begins {
		value, end := y.Content[i*step+step-1], limit
		if n.form == block && i+1 < len(begins) {
			end = lineStart(r.text, begins[i+1])
		}
		child, err := r.node(value, end, n.form == inline)
		if err != nil {
			return err
		}
		child.begin, child.colon = begin, begin+1
		if key := y.Content[i*step]; n.kind == object {
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
				return faultAt(r.text, begin, "a key that is no plain word")
			}
			child.key, child.colon = key.Value, r.colon(begin, n.form == inline)
		}
		if n.form == block {
			child.lines = []span{{begin, max(r.tail(value, begin, end), lineEnd(r.text, max(begin, child.end)))}}
		}
		last = max(child.end, begin)
		n.add(child)
	}
	if n.form == block {
		n.end = n.children[len(n.children)-1].lines[0].end
		return nil
	}
	n.end = last
	if c := r.text[min(n.start, len(r.text)-1)]; c == '{' || c == '[' { // else a single pair, in the brackets of a list
		n.end = min(len(r.text), yamlFlow().gapAt(r.text, last).end+1)
	}
	return nil
}

// dash returns where the dash stands of an element of a sequence.
func (r *yamlReader) dash(sequence, element *yaml.Node) int {
	for line := element.Line; line > sequence.Line; line-- {
		if at := r.at(line, sequence.Column); at < len(r.text) && r.text[at] == '-' {
			return at
		}
	}
	return r.at(sequence.Line, sequence.Column)
}

// colon returns where the value may begin of a key that begins at an offset; -1 where the key is written in another way.
func (r *yamlReader) colon(begin int, bracketed bool) int {
	end := scalarEnd(r.text, r.behindProperties(begin), bracketed)
	for end < len(r.text) && (r.text[end] == ' ' || r.text[end] == '\t') {
		end++
	}
	if end < len(r.text) && r.text[end] == ':' {
		return end + 1
	}
	return -1
}

// behindProperties returns where a node's value begins, behind its anchor and tag.
func (r *yamlReader) behindProperties(at int) int {
	for at < len(r.text) && (r.text[at] == '&' || r.text[at] == '!') {
		for at < len(r.text) && strings.IndexByte(blanks+",]}", r.text[at]) < 0 {
			at++
		}
		if rest := bytes.TrimLeft(r.text[at:], blanks); len(rest) > 0 && strings.IndexByte("&!{[\"'", rest[0]) >= 0 {
			at = len(r.text) - len(rest)
		} else if line := bytes.TrimLeft(r.text[at:], " \t"); len(line) > 0 && strings.IndexByte("\r\n#", line[0]) < 0 {
			at = len(r.text) - len(line)
		}
	}
	return at
}

// scalarEnd returns where a scalar ends; of one that has no quotes and is not in brackets, where its first line does.
func scalarEnd(text []byte, at int, bracketed bool) int {
	if at >= len(text) {
		return len(text)
	}
	switch quote := text[at]; quote {
	case '"', '\'':
		for i := at + 1; i < len(text); i++ {
			switch {
			case text[i] == '\\' && quote == '"':
				i++
			case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
				i++
			case text[i] == quote:
				return i + 1
			}
		}
		return len(text)
	}
	end := at
	for i := at; i < len(text); i++ {
		c, next := text[i], byte(' ')
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case c == '\n' && !bracketed,
			c == '#' && i > at && strings.IndexByte(blanks, text[i-1]) >= 0,
			c == ':' && (strings.IndexByte(blanks, next) >= 0 || bracketed && strings.IndexByte(",[]{}", next) >= 0),
			bracketed && strings.IndexByte(",[]{}", c) >= 0:
			return end
		case strings.IndexByte(blanks, c) < 0:
			end = i + 1
		}
	}
	return end
}

// tail returns where the lines end of an entry that begins at an offset and ends before a
// limit: without blank lines, marks of the document's end, and comments, unless they may be
// the text of a block scalar.
func (r *yamlReader) tail(y *yaml.Node, begin, limit int) int {
	for len(y.Content) > 0 && y.Style&yaml.FlowStyle == 0 {
		y = y.Content[len(y.Content)-1]
	}
	deeper := columnOf(r.text, begin)
	if y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		deeper = len(r.text)
	}
	for {
		end := beforeBreak(r.text, limit)
		start := lineStart(r.text, end)
		if start <= begin {
			return lineEnd(r.text, begin)
		}
		if isNote, column := note(r.text[start:end]); !isNote || column > deeper {
			return end
		}
		limit = start
	}
}

// note reports whether a line says nothing, and where the comment begins that it may hold.
func note(line []byte) (isNote bool, column int) {
	rest := bytes.TrimLeft(line, blanks)
	return len(rest) == 0 || rest[0] == '#' || string(line) == "...", (len(line) - len(rest)) * min(1, len(rest))
}

// deeperNotes returns the end of the comments below a line that are indented more than so many columns.
func deeperNotes(text []byte, end, column int) int {
	for at := afterBreak(text, end); at < len(text); at = afterBreak(text, at) {
		line := text[at:lineEnd(text, at)]
		isNote, indented := note(line)
		switch {
		case !isNote || indented > 0 && indented <= column || indented == 0 && len(bytes.Trim(line, blanks)) > 0:
			return end
		case indented > column:
			end = at + len(line)
		}
	}
	return end
}

// columnOf returns how many characters stand before an offset in its line.
func columnOf(text []byte, at int) int { return utf8.RuneCount(text[lineStart(text, at):at]) }

func yamlFlow() flow {
	return flow{newline: "\n", unit: "  ", colon: ": ", comma: ", ", compact: true, key: yamlString, comment: hashComment}
}

func (y yamlText) replace(text []byte, old, value *node) []edit {
	s := yamlStyleOf(text, old.root())
	switch {
	case old.parent == nil:
		return belowAll(text, strings.TrimPrefix(s.lines(value, ""), s.newline))
	case old.parent.form == inline:
		return yamlFlow().replace(text, old, value)
	case old.colon < 0:
		return nil
	}
	from, to := old.colon, old.lines[0].end
	below := old.form == block && lineStart(text, old.children[0].begin) > old.colon // in lines of its own
	switch {
	case below:
		from = lineEnd(text, old.colon)
	case old.form == inline && lineEnd(text, old.end) == to:
		to = old.end // a comment may follow
	}
	switch {
	case len(value.children) == 0:
		at := old.colon
		if below {
			at = scalarEnd(text, at, false) // behind an anchor
		}
		return []edit{{at, at, " " + s.single(value)}, {from, to, ""}}
	case old.parent.kind == list:
		return []edit{{from, to, s.value(value, strings.Repeat(" ", columnOf(text, old.begin)), true)}}
	}
	end := max(to, lineEnd(text, to))
	return []edit{{from, to, ""}, {end, end, s.value(value, strings.Repeat(" ", columnOf(text, old.begin)), false)}}
}

func (y yamlText) insert(text []byte, into, value *node) []edit {
	if into.form == inline {
		if len(into.children) == 0 && into.parent != nil && into.parent.form == block {
			return y.replace(text, into, &node{kind: into.kind, children: []*node{value}})
		}
		return yamlFlow().insert(text, into, value)
	}
	s := yamlStyleOf(text, into.root())
	last := into.children[len(into.children)-1]
	column := columnOf(text, last.begin)
	at, indent := deeperNotes(text, last.lines[0].end, column), strings.Repeat(" ", column)
	return []edit{{at, at, s.newline + indent + s.entry(into.kind, value, indent)}}
}

func (y yamlText) remove(text []byte, entry *node) []edit {
	siblings := entry.parent.children
	switch {
	case entry.parent.form == inline:
		return yamlFlow().remove(text, entry)
	case len(siblings) == 1 && entry.parent.parent != nil:
		return y.replace(text, entry.parent, &node{kind: entry.parent.kind})
	}
	lines := entry.lines[0]
	lines.end = deeperNotes(text, lines.end, columnOf(text, entry.begin))
	if !beginsLine(text, entry.begin) && lineStart(text, entry.begin) != entry.begin { // behind a dash
		if len(siblings) == 1 || entry != siblings[0] {
			return nil
		}
		next := siblings[1].begin
		if len(bytes.Trim(text[min(lines.end, next):next], blanks)) > 0 {
			return nil
		}
		return []edit{{entry.begin, next, ""}}
	}
	start := lineStart(text, entry.begin)
	if above := beforeBreak(text, start); above < start {
		return []edit{{above, lines.end, ""}}
	}
	return []edit{{start, afterBreak(text, lines.end), ""}}
}

// yamlStyle is how a document is written.
type yamlStyle struct {
	newline, unit string
	dash          string // by how much the dashes of a list are indented below its name
}

func yamlStyleOf(text []byte, root *node) yamlStyle {
	s := yamlStyle{newline: newline(text), unit: "  "}
	if column, ok := deeper(text, root, object); ok {
		s.unit = strings.Repeat(" ", column)
	}
	if column, ok := deeper(text, root, list); ok {
		s.dash = strings.Repeat(" ", column)
	}
	return s
}

// deeper returns by how much the entries of an object or list are indented below its name, by the first that shows it.
func deeper(text []byte, n *node, of kind) (int, bool) {
	for _, child := range n.children {
		if child.form != block {
			continue
		}
		if n.kind == object && child.kind == of && beginsLine(text, child.children[0].begin) {
			return columnOf(text, child.children[0].begin) - columnOf(text, child.begin), true
		}
		if column, ok := deeper(text, child, of); ok {
			return column, true
		}
	}
	return 0, false
}

// lines writes what is in an object or list, each in a line.
func (s yamlStyle) lines(n *node, indent string) string {
	out := ""
	for _, child := range n.children {
		out += s.newline + indent + s.entry(n.kind, child, indent)
	}
	return out
}

func (s yamlStyle) entry(in kind, n *node, indent string) string {
	if in == object {
		return yamlString(n.key) + ":" + s.value(n, indent, false)
	}
	return "-" + s.value(n, indent, true)
}

// value writes a value behind a colon, or behind a dash, with what parts it from that.
func (s yamlStyle) value(n *node, indent string, dash bool) string {
	switch {
	case len(n.children) == 0:
		return " " + s.single(n)
	case dash:
		return " " + strings.TrimLeft(s.lines(n, indent+"  "), blanks)
	case n.kind == list:
		return s.lines(n, indent+s.dash)
	}
	return s.lines(n, indent+s.unit)
}

func (s yamlStyle) single(n *node) string {
	if text, ok := n.value.(string); ok && n.kind == scalar {
		return yamlString(text)
	}
	return yamlFlow().write(n, "", true)
}

// yamlString writes a text without quotes where no reader could take it for something else.
func yamlString(text string) string {
	const letters, rest = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789/_-."
	plain := text != "" && strings.IndexByte(letters+"/_", text[0]) >= 0 && strings.Trim(text, letters+rest) == ""
	if plain && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text)) {
		return text
	}
	return quoted(text)
}
