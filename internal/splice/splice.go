// Package splice changes one entry of a JSON, TOML or YAML document of somebody else's and
// keeps every other byte. A document is parsed for the places of its entries, its text is
// cut and joined there, and what comes of it is parsed again: unless it says what it said,
// but for the change, the change is refused and the document stays as it was. The package
// knows nothing of what the documents are for, and no files.
package splice

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is the language of a document.
type Format string

// The formats. JSON is read with comments, trailing commas and a byte order mark.
const (
	JSON Format = "json"
	TOML Format = "toml"
	YAML Format = "yaml"
)

// Key is one step of a path: the name of a member, a string, or the index of an element, an int.
type Key any

// Member is one entry of an object.
type Member struct {
	Key   string
	Value any
}

// Object is an object to write: its members in order. Values are Objects, []any, string,
// bool, int, float64 and nil, and whatever Document.Value returns.
type Object []Member

// Fault says what keeps a document from being read or changed, and where.
type Fault struct {
	Line, Column int // from 1, in bytes
	Problem      string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Problem)
}

// faultAt returns a fault at an offset of a text.
func faultAt(text []byte, at int, problem string) *Fault {
	before := text[:max(0, min(at, len(text)))]
	return &Fault{Line: 1 + bytes.Count(before, []byte("\n")), Column: len(before) - bytes.LastIndexByte(before, '\n'), Problem: problem}
}

// language reads and writes the texts of one format.
type language interface {
	// parse returns the root: an object, or null for a document without content. The error is a *Fault.
	parse(text []byte) (*node, error)
	// replace writes a value in place of another.
	replace(text []byte, old, value *node) []edit
	// insert writes a value behind the last member of an object, or element of a list.
	insert(text []byte, into, value *node) []edit
	// remove takes out a member or an element.
	remove(text []byte, entry *node) []edit
}

// edit is a part of a text, which may be empty, and what stands in place of it.
type edit struct {
	start, end int
	text       string
}

// Document is a text that was read. It is not safe for concurrent use.
type Document struct {
	language language
	text     []byte
	root     *node
}

// Parse reads a text. What cannot be read, or holds something else than an object, is a *Fault.
func Parse(format Format, text []byte) (*Document, error) {
	l, err := languageOf(format)
	if err != nil {
		return nil, err
	}
	if at := validUpTo(text); at < len(text) {
		return nil, faultAt(text, at, "the text is not UTF-8")
	}
	root, err := l.parse(text)
	if err != nil {
		return nil, err
	}
	return &Document{l, bytes.Clone(text), root}, nil
}

func languageOf(format Format) (language, error) {
	switch format {
	case JSON:
		return jsonText{}, nil
	case TOML:
		return tomlText{}, nil
	case YAML:
		return yamlText{}, nil
	}
	return nil, fmt.Errorf("the format %q is not known", string(format))
}

// Bytes returns the text as it is now.
func (d *Document) Bytes() []byte { return bytes.Clone(d.text) }

// Value returns what stands at a path: map[string]any, []any, string, bool, int64, float64
// or nil. It is not ok where nothing stands there, or a name on the way stands there twice.
func (d *Document) Value(path ...Key) (value any, ok bool) {
	n, rest, err := d.find(d.root, path)
	if err != nil || len(rest) > 0 || n == d.root && n.kind == null {
		return nil, false
	}
	return n.plain(), true
}

// Set writes a value at a path, in place of what stands there, and makes the objects that
// are missing on the way. The index behind the last element of a list appends. Nothing
// changes where the value stands there already, however it is written.
func (d *Document) Set(value any, path ...Key) error {
	n, rest, err := d.find(d.root, path)
	if err != nil {
		return err
	}
	if len(path) == 0 {
		return errors.New("the whole document cannot be set")
	}
	fresh, err := build(wrap(value, rest[min(1, len(rest)):]))
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		if n.equal(fresh) {
			return nil
		}
		fresh.key = n.key
		return d.change(d.language.replace(d.text, n, fresh), path, func(n *node) { n.become(fresh) })
	case n.kind == null:
		if fresh, err = build(wrap(value, rest)); err != nil {
			return err
		}
		return d.change(d.language.replace(d.text, n, fresh), path[:len(path)-len(rest)], func(n *node) { n.become(fresh) })
	}
	name, isName := rest[0].(string)
	if isName != (n.kind == object) || n.kind != object && (n.kind != list || rest[0] != Key(len(n.children))) {
		return faultAt(d.text, n.start, fmt.Sprintf("%s is %s, which has no place for %#v", n.name(), n.kind, rest[0]))
	}
	fresh.key = name
	return d.change(d.language.insert(d.text, n, fresh), path[:len(path)-len(rest)], func(n *node) { n.add(fresh) })
}

// Append writes an element at the end of the list at a path, which is made where it is missing.
func (d *Document) Append(value any, path ...Key) error {
	n, rest, err := d.find(d.root, path)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 || n.kind == null:
		return d.Set([]any{value}, path...)
	}
	return d.Set(value, append(slices.Clone(path), len(n.children))...)
}

// Remove takes out the entry at a path, with its comma and the lines that it alone has.
// Nothing changes where there is none. What holds it stays, empty or not; an object or list
// that becomes empty is written without the blanks it may have had before. In TOML a table
// that no header of its own names goes with the last that is in it, and so does the
// whole of a YAML document.
func (d *Document) Remove(path ...Key) error {
	n, rest, err := d.find(d.root, path)
	switch {
	case err != nil:
		return err
	case len(path) == 0:
		return errors.New("the whole document cannot be removed")
	case len(rest) > 0:
		return nil
	}
	return d.change(d.language.remove(d.text, n), path, (*node).leave)
}

// change applies edits, if the document then says what it should: what it said, with expected
// having been done to the entry at a path.
func (d *Document) change(edits []edit, path []Key, expected func(*node)) error {
	want := d.root.clone()
	n, _, err := d.find(want, path)
	if err != nil {
		return err
	}
	expected(n)
	text := apply(d.text, edits)
	root, err := d.language.parse(text)
	if err != nil || !root.equal(want) {
		return faultAt(d.text, n.start, "the change cannot be made here without touching something else; make it by hand")
	}
	d.text, d.root = text, root
	return nil
}

// apply makes edits. Of parts that overlap, what is to stand in their place stands there once each.
func apply(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:max(at, e.start)]...), e.text...)
		at = max(at, e.end)
	}
	return append(out, text[at:]...)
}

// find returns the innermost entry on the way of a path that is there, and the rest of the way.
func (d *Document) find(n *node, path []Key) (*node, []Key, error) {
	for i, key := range path {
		var found []*node
		switch key := key.(type) {
		case string:
			found = n.named(key)
		case int:
			if n.kind == list && key >= 0 && key < len(n.children) {
				found = n.children[key : key+1]
			}
		default:
			return nil, nil, fmt.Errorf("%v is neither the name of a member nor an index", key)
		}
		switch len(found) {
		case 0:
			return n, path[i:], nil
		case 1:
			n = found[0]
		default:
			return nil, nil, faultAt(d.text, found[1].begin, fmt.Sprintf("%q stands twice in %s; keep one of them", key, n.name()))
		}
	}
	return n, nil, nil
}

// wrap returns a value inside the objects and lists that a path leads through.
func wrap(value any, path []Key) any {
	for _, key := range slices.Backward(path) {
		switch key := key.(type) {
		case string:
			value = Object{{key, value}}
		default:
			if key != Key(0) {
				return errors.New("a list that is not there has no place for an element but its first")
			}
			value = []any{value}
		}
	}
	return value
}

// Of a text, whatever its format.

const mark = "\ufeff" // byte order mark

func hasMark(text []byte) bool { return bytes.HasPrefix(text, []byte(mark)) }

// validUpTo returns the offset of the first byte that is not UTF-8.
func validUpTo(text []byte) int {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// newline returns the line break that a text has, by its first.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// belowAll writes lines at the end of a text that holds blanks and comments at most.
func belowAll(text []byte, lines string) []edit {
	if above := bytes.TrimPrefix(text, []byte(mark)); len(above) > 0 && !bytes.HasSuffix(above, []byte("\n")) {
		lines = newline(text) + lines
	}
	return []edit{{len(text), len(text), lines + newline(text)}}
}

// lineStart returns where the line begins in which an offset is.
func lineStart(text []byte, at int) int {
	start := 1 + bytes.LastIndexByte(text[:at], '\n')
	if start == 0 && hasMark(text) && at >= len(mark) {
		return len(mark)
	}
	return start
}

// lineEnd returns where the line ends in which an offset is, before its line break.
func lineEnd(text []byte, at int) int {
	end := len(text)
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		end = at + i
		if end > at && text[end-1] == '\r' {
			end--
		}
	}
	return end
}

// indent returns the blanks at the beginning of the line in which an offset is, up to it.
func indent(text []byte, at int) string {
	line := string(text[lineStart(text, at):at])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// beginsLine reports whether nothing but blanks stands before an offset in its line.
func beginsLine(text []byte, at int) bool {
	for at--; at >= 0 && (text[at] == ' ' || text[at] == '\t'); at-- {
	}
	return at < 0 || text[at] == '\n'
}

// afterBreak returns the beginning of the line behind the one that ends at an offset.
func afterBreak(text []byte, end int) int {
	if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
		return end + i + 1
	}
	return len(text)
}

// beforeBreak returns the end of the line above the one that begins at an offset.
func beforeBreak(text []byte, start int) int {
	if start > 0 && text[start-1] == '\n' {
		start--
		if start > 0 && text[start-1] == '\r' {
			start--
		}
	}
	return start
}
