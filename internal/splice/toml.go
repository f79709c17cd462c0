package splice

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlText is TOML. Its decoder says whether a text is TOML at all, its parser where things are.
type tomlText struct{}

func (tomlText) parse(text []byte) (*node, error) {
	plain := bytes.Clone(text)
	if hasMark(text) {
		copy(plain, "   ")
	}
	if err := toml.Unmarshal(plain, &map[string]any{}); err != nil {
		if wrong := (*toml.DecodeError)(nil); errors.As(err, &wrong) {
			line, column := wrong.Position()
			return nil, &Fault{line, column, strings.TrimPrefix(wrong.Error(), "toml: ")}
		}
		return nil, faultAt(text, 0, strings.TrimPrefix(err.Error(), "toml: "))
	}
	r := tomlReader{text: text, root: &node{kind: object, form: table}}
	r.current = r.root
	r.in.Reset(plain)
	for r.in.NextExpression() {
		r.statement(r.in.Expression())
	}
	if err := r.in.Error(); err != nil {
		return nil, faultAt(text, 0, err.Error()) // the decoder, which uses this parser, has read it
	}
	return r.root, nil
}

type tomlReader struct {
	in            unstable.Parser
	text          []byte
	root, current *node // current is the table of the last header
	at            int   // of the statement
}

// statement adds a header, or a key with its value, to the tree.
func (r *tomlReader) statement(e *unstable.Node) {
	keys, start, end := r.keys(e)
	lines := span{lineStart(r.text, start) + len(indent(r.text, start)), lineEnd(r.text, end)}
	r.at = lines.start
	last := len(keys) - 1
	switch e.Kind {
	case unstable.Table:
		r.current = r.way(r.root, keys, table)
		r.current.implied = false
	case unstable.ArrayTable:
		array := r.way(r.way(r.root, keys[:last], table), keys[last:], entries)
		r.current = &node{kind: object, form: table, begin: r.at, start: r.at}
		array.add(r.current)
	case unstable.KeyValue:
		value := r.value(e.Value(), skipTo(r.text, end))
		value.key, value.begin = keys[last], start
		lines.end = lineEnd(r.text, value.end)
		value.lines = []span{lines}
		r.way(r.current, keys[:last], dotted).add(value)
	}
	r.current.lines = append(r.current.lines, lines)
}

// keys returns the parts of a key, and where it begins and ends.
func (r *tomlReader) keys(e *unstable.Node) (keys []string, start, end int) {
	for i := e.Key(); i.Next(); {
		k := i.Node()
		if len(keys) == 0 {
			start = int(k.Raw.Offset)
		}
		keys, end = append(keys, string(k.Data)), int(k.Raw.Offset+k.Raw.Length)
	}
	return keys, start, end
}

// way returns what stands at the end of a way through tables, made where it is not there yet.
func (r *tomlReader) way(n *node, keys []string, of form) *node {
	for i, key := range keys {
		found := n.named(key)
		switch {
		case len(found) == 0:
			next := &node{kind: object, key: key, form: of, implied: true, begin: r.at, start: r.at}
			if of == entries && i == len(keys)-1 {
				next.kind = list
			}
			n.add(next)
			n = next
		case found[0].form == entries && (of != entries || i < len(keys)-1) && len(found[0].children) > 0:
			n = found[0].children[len(found[0].children)-1]
		default:
			n = found[0]
		}
	}
	return n
}

// skipTo returns where the value begins whose key ends at an offset.
func skipTo(text []byte, at int) int {
	for at < len(text) && strings.IndexByte(" \t=", text[at]) >= 0 {
		at++
	}
	return at
}

// value reads a value that begins at an offset.
func (r *tomlReader) value(v *unstable.Node, start int) *node {
	n := &node{kind: scalar, begin: start, start: start, end: start + int(v.Raw.Length)}
	n.raw = string(r.text[n.start:n.end])
	number := strings.ReplaceAll(n.raw, "_", "")
	switch v.Kind {
	case unstable.Array, unstable.InlineTable:
		n.kind, n.raw = list, ""
		if v.Kind == unstable.InlineTable {
			n.kind = object
		}
		n.end = r.entries(n, v)
	case unstable.String:
		n.value = string(v.Data)
	case unstable.Bool:
		n.value = n.raw == "true"
	case unstable.Integer:
		i, _ := strconv.ParseInt(number, 0, 64) // the decoder has refused what is out of range
		n.value = i
	case unstable.Float:
		f, _ := strconv.ParseFloat(number, 64)
		n.value = f
	default:
		n.value = literal(n.raw)
	}
	return n
}

// entries reads what is in brackets, and returns where they end.
func (r *tomlReader) entries(n *node, v *unstable.Node) int {
	next := tomlFlow().gapAt(r.text, n.start+1).end
	for i := v.Children(); i.Next(); {
		e := i.Node()
		var child *node
		if e.Kind == unstable.KeyValue {
			keys, start, end := r.keys(e)
			child = r.value(e.Value(), skipTo(r.text, end))
			child.key, child.begin = keys[len(keys)-1], start
			r.way(n, keys[:len(keys)-1], inline).add(child)
		} else {
			child = r.value(e, next)
			n.add(child)
		}
		next = tomlFlow().gapAt(r.text, child.end).end
	}
	return next + 1
}

func tomlFlow() flow {
	return flow{newline: "\n", unit: "  ", colon: " = ", comma: ", ", pad: " ", compact: true, key: tomlKey, comment: hashComment}
}

// hashComment returns where a comment of TOML or YAML ends.
func hashComment(text []byte, at int) (int, string) {
	if text[at] == '#' {
		return lineEnd(text, at), ""
	}
	return 0, "no comment"
}

func tomlKey(key string) string {
	if key != "" && strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == "" {
		return key
	}
	return quoted(key)
}

func (t tomlText) replace(text []byte, old, value *node) []edit {
	switch {
	case old.form == inline && old.implied:
		return nil // a dotted key in an inline table
	case old.form == inline:
		return tomlFlow().replace(text, old, value)
	case old.form == dotted:
		return append(t.remove(text, old), t.insert(text, old.parent, value)...)
	case !blocks(value):
		return nil
	}
	nl, all, name := newline(text), old.blocks(), old.way()
	edits := cut(text, all)
	edits[0] = edit{all[0].start, all[0].end, strings.Join(tomlTables(name, value, old.parent.kind == list, nl), nl+nl)}
	return edits
}

func (t tomlText) insert(text []byte, into, value *node) []edit {
	nl := newline(text)
	statement := tomlKey(value.key) + tomlFlow().colon + tomlFlow().write(value, "", true)
	switch {
	case into.form == inline && into.implied:
		return nil // a dotted key in an inline table
	case into.form == inline:
		f := tomlFlow()
		f.newline = nl
		return f.insert(text, into, value)
	case into.form == entries:
		return below(text, into, tomlTables(into.way(), value, true, nl))
	case into.form == dotted:
		holder := into
		for ; holder.form == dotted; holder = holder.parent {
			statement = tomlKey(holder.key) + "." + statement
		}
		all := into.blocks()
		return under(text, all[len(all)-1], statement)
	case blocks(value):
		return below(text, into, tomlTables(joined(into.way(), value.key), value, false, nl))
	case len(into.lines) > 0:
		return under(text, into.lines[len(into.lines)-1], statement)
	case into.parent != nil:
		return below(text, into, []string{"[" + into.way() + "]" + nl + statement})
	}
	return aboveHeaders(text, into, statement)
}

// under writes a statement in the line behind another.
func under(text []byte, other span, statement string) []edit {
	return []edit{{other.end, other.end, newline(text) + indent(text, other.start) + statement}}
}

// below writes tables behind all that is said of another.
func below(text []byte, other *node, tables []string) []edit {
	nl := newline(text)
	written := strings.Join(tables, nl+nl)
	if other.parent == nil {
		return atEnd(text, nl+nl, written)
	}
	all := other.blocks()
	end := notesBelow(text, all[len(all)-1].end)
	return []edit{{end, end, nl + nl + written}}
}

// atEnd writes something behind all there is, with what parts it from that.
func atEnd(text []byte, gap, written string) []edit {
	end := len(bytes.TrimRight(text, blanks))
	if end == 0 || string(text[:end]) == mark {
		return []edit{{len(text), len(text), written + newline(text)}}
	}
	end = lineEnd(text, end)
	return []edit{{end, end, gap + written}}
}

// notesBelow returns the end of the comments that follow a line directly, unless they stand on top of something else.
func notesBelow(text []byte, end int) int {
	for at := end; ; {
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 || at+next+1 == len(text) {
			return at
		}
		line := at + next + 1
		switch rest := bytes.TrimLeft(text[line:lineEnd(text, line)], " \t"); {
		case len(rest) == 0:
			return at
		case rest[0] != '#':
			return end
		}
		at = lineEnd(text, line)
	}
}

// aboveHeaders writes a statement of the root above the first header, and above the comments on top of it.
func aboveHeaders(text []byte, root *node, statement string) []edit {
	all := root.blocks()
	if len(all) == 0 {
		return atEnd(text, newline(text), statement)
	}
	at := lineStart(text, all[0].start)
	for at > 0 && text[at-1] == '\n' {
		above := lineStart(text, at-1)
		if !bytes.HasPrefix(bytes.TrimLeft(text[above:at], " \t"), []byte("#")) {
			break
		}
		at = above
	}
	return []edit{{at, at, statement + newline(text)}}
}

func (tomlText) remove(text []byte, entry *node) []edit {
	if entry.form == inline && len(entry.lines) == 0 {
		if entry.implied || entry.parent.implied {
			return nil // a dotted key in an inline table
		}
		return tomlFlow().remove(text, entry)
	}
	return cut(text, entry.blocks())
}

// cut takes out statements with a line break, and headers with a blank line as well.
func cut(text []byte, all []span) []edit {
	var edits []edit
	for _, s := range all {
		start, end, header := lineStart(text, s.start), s.end, text[s.start] == '['
		kept := bytes.TrimPrefix(apply(text[:start], edits), []byte(mark))
		if len(bytes.Trim(kept, blanks)) == 0 { // nothing is above it
			start, end = s.start, afterBreak(text, end)
			if header && lineEnd(text, end) == end {
				end = afterBreak(text, end)
			}
		} else if start = beforeBreak(text, start); header && lineStart(text, start) == start {
			start = beforeBreak(text, start)
		}
		edits = append(edits, edit{start, end, ""})
	}
	return edits
}

// blocks returns the parts of a text that say something of a value and of what is in it, in
// order: tables from the header to the last key, and single statements.
func (n *node) blocks() []span {
	all := n.statements(nil)
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	end := -1
	return slices.DeleteFunc(all, func(s span) bool {
		inside := s.end <= end
		end = max(end, s.end)
		return inside
	})
}

func (n *node) statements(all []span) []span {
	if n.form == table && n.parent != nil && len(n.lines) > 0 {
		all = append(all, span{n.lines[0].start, n.lines[len(n.lines)-1].end})
	} else {
		all = append(all, n.lines...)
	}
	if n.form != inline {
		for _, child := range n.children {
			all = child.statements(all)
		}
	}
	return all
}

// way returns the name of a table in headers.
func (n *node) way() string {
	switch {
	case n.parent == nil:
		return ""
	case n.parent.kind == list:
		return n.parent.way()
	}
	return joined(n.parent.way(), n.key)
}

func joined(way, key string) string {
	if way == "" {
		return tomlKey(key)
	}
	return way + "." + tomlKey(key)
}

// blocks reports whether a new value is written with headers: a table, or a list of tables.
func blocks(value *node) bool {
	return value.kind == object || value.kind == list && len(value.children) > 0 &&
		!slices.ContainsFunc(value.children, func(e *node) bool { return e.kind != object })
}

// tomlTables writes a table, or all of a list: each with what is no table in it, then those in it.
func tomlTables(name string, value *node, element bool, nl string) []string {
	var tables []string
	if value.kind == list {
		for _, e := range value.children {
			tables = append(tables, tomlTables(name, e, true, nl)...)
		}
		return tables
	}
	own := ""
	for _, child := range value.children {
		if blocks(child) {
			tables = append(tables, tomlTables(joined(name, child.key), child, false, nl)...)
		} else {
			own += nl + tomlKey(child.key) + tomlFlow().colon + tomlFlow().write(child, "", true)
		}
	}
	switch {
	case element:
		own = "[[" + name + "]]" + own
	case own == "" && len(tables) > 0:
		return tables // their headers say that it is there
	default:
		own = "[" + name + "]" + own
	}
	return slices.Insert(tables, 0, own)
}
