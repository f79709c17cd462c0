package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

type object []member // to write, with its members in order

type member struct {
	key   string
	value any
}

func (o object) MarshalJSONTo(out *jsontext.Encoder) error {
	err := out.WriteToken(jsontext.BeginObject)
	for _, m := range o {
		err = errors.Join(err, out.WriteToken(jsontext.String(m.key)), json.MarshalEncode(out, m.value))
	}
	return errors.Join(err, out.WriteToken(jsontext.EndObject))
}

// decodedJSON returns a value in the types that document.value returns.
func decodedJSON(value any) any {
	data, _ := json.Marshal(value, jsontext.AllowInvalidUTF8(true)) // the values are our own or were read from JSON
	var out any
	_ = json.Unmarshal(data, &out)
	return out
}

// canonicalJSON returns a value in its canonical spelling, for comparison.
func canonicalJSON(value any) string {
	data, _ := json.Marshal(decodedJSON(value), json.Deterministic(true))
	return string(data)
}

func inlineJSON(value any) string {
	data, _ := json.Marshal(value, jsontext.SpaceAfterComma(true), jsontext.AllowInvalidUTF8(true)) // cannot fail, as in plain
	return string(data)
}

// document is a JSON object with comments and trailing commas. A change keeps the text of everything around it.
type document struct {
	root           hujson.Value
	changed        bool
	newline        string // the one that the text uses
	indent         string // of one level
	mark           string // byte order mark, or ""
	noFinalNewline bool   // the last line has no line break
}

const byteOrderMark = "\ufeff" // some editors on Windows write it

const maxNesting = 1000 // hujson recurses

// parseJSON reads a document. A blank text counts as an empty object.
func parseJSON(text []byte) (*document, error) {
	d := &document{newline: newlineOf(text), indent: "  "}
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		d.mark, text = byteOrderMark, text[len(byteOrderMark):]
	}
	switch {
	case bytes.Count(text, []byte("\r")) != bytes.Count(text, []byte("\r\n")):
		return nil, errors.New("it has carriage returns without line feeds, which end a comment for some programs only")
	case nesting(text) > maxNesting:
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxNesting)
	case len(bytes.TrimSpace(text)) == 0:
		text = []byte("{}" + d.newline)
	case !bytes.HasSuffix(text, []byte("\n")): // hujson refuses a comment without one
		d.noFinalNewline, text = true, append(bytes.Clone(text), '\n')
	}
	var err error
	if d.root, err = hujson.Parse(text); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	holder, ok := d.root.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	if err := json.Unmarshal(standardJSON(d.root), new(any)); err != nil { // a name twice, text that is not UTF-8
		return nil, errors.New(strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	if len(holder.Members) > 0 {
		before := string(holder.Members[0].Name.BeforeExtra)
		if _, indent, ok := strings.Cut(before, "\n"); ok && indent != "" && strings.Trim(indent, " \t") == "" {
			d.indent = indent
		}
	}
	return d, nil
}

func newlineOf(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// nesting returns how deep objects and lists are nested, up to where the text stops being JSON with comments.
func nesting(text []byte) int {
	depth, deepest := 0, 0
	skip := func(i int, end string) int {
		if n := bytes.Index(text[i:], []byte(end)); n >= 0 {
			return i + n + len(end) - 1
		}
		return len(text)
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(text[i:], []byte("//")):
			i = skip(i, "\n")
		case bytes.HasPrefix(text[i:], []byte("/*")):
			i = skip(i+2, "*/")
		}
	}
	return deepest
}

// standardJSON returns a value as JSON without comments and trailing commas.
func standardJSON(v hujson.Value) []byte {
	v = v.Clone()
	v.Standardize()
	return v.Pack()
}

func (d *document) bytes() []byte {
	text := d.root.Pack()
	if d.noFinalNewline {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	return append([]byte(d.mark), text...)
}

// pointer returns a path in hujson's form. A path consists of names of members and indexes of elements.
func pointer(path []string) string {
	at := ""
	for _, name := range path {
		at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return at
}

func (d *document) has(path ...string) bool { return d.root.Find(pointer(path)) != nil }

// value returns the value at a path in encoding/json's types, nil if the path does not exist.
func (d *document) value(path ...string) any {
	var value any
	if at := d.root.Find(pointer(path)); at != nil {
		_ = json.Unmarshal(standardJSON(*at), &value) // cannot fail: parseJSON has read it
	}
	return value
}

// empty reports whether the value at a path is an empty object or list.
func (d *document) empty(path ...string) bool {
	switch value := d.value(path...).(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

// set writes a value at a path, and creates missing objects on the way.
func (d *document) set(value any, path ...string) error {
	n := len(path)
	for !d.has(path[:n]...) {
		n--
	}
	at := d.root.Find(pointer(path[:n]))
	if n == len(path) {
		fresh, err := d.format(value, n)
		at.Value, d.changed = fresh, true
		return err
	}
	holder, ok := at.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf("%q is not an object", strings.Join(path[:n], "."))
	}
	for _, name := range slices.Backward(path[n+1:]) {
		value = object{{name, value}}
	}
	fresh, err := d.format(value, n+1)
	before := d.makeRoom(&holder.AfterExtra, n+1)
	holder.Members = append(holder.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before, Value: hujson.String(path[n])},
		Value: hujson.Value{BeforeExtra: []byte(" "), Value: fresh}})
	d.changed = true
	return err
}

// add appends a value to the list at a path, and creates the list if it is missing.
func (d *document) add(value any, path ...string) error {
	at := d.root.Find(pointer(path))
	if at == nil {
		return d.set([]any{value}, path...)
	}
	list, ok := at.Value.(*hujson.Array)
	if !ok {
		return fmt.Errorf("%q is not a list", strings.Join(path, "."))
	}
	fresh, err := d.format(value, len(path)+1)
	list.Elements = append(list.Elements, hujson.Value{BeforeExtra: d.makeRoom(&list.AfterExtra, len(path)+1), Value: fresh})
	d.changed = true
	return err
}

func (d *document) format(value any, depth int) (hujson.ValueTrimmed, error) {
	text, err := json.Marshal(value, jsontext.AllowInvalidUTF8(true), jsontext.WithIndentPrefix(strings.Repeat(d.indent, depth)),
		jsontext.WithIndent(d.indent))
	if err != nil {
		return hujson.Literal("null"), err
	}
	parsed, err := hujson.Parse(bytes.ReplaceAll(text, []byte("\n"), []byte(d.newline)))
	for v := range parsed.All() {
		list, ok := v.Value.(*hujson.Array)
		if !ok || slices.ContainsFunc(list.Elements, func(e hujson.Value) bool { return e.Value.Kind() == '{' || e.Value.Kind() == '[' }) {
			continue
		}
		list.AfterExtra = nil // a list of words is written in one line
		for i := range list.Elements {
			list.Elements[i].BeforeExtra = hujson.Extra(" "[:min(i, 1)])
		}
	}
	return parsed.Value, err
}

// makeRoom returns the text before a new last entry: the comments before the closing bracket, and a line break.
func (d *document) makeRoom(closing *hujson.Extra, depth int) hujson.Extra {
	before := string(bytes.TrimRight(*closing, " \t\r\n"))
	*closing = hujson.Extra(d.newline + strings.Repeat(d.indent, depth-1))
	return hujson.Extra(before + d.newline + strings.Repeat(d.indent, depth))
}

// remove deletes the value at a path. Comments around it stay.
func (d *document) remove(path ...string) {
	if !d.has(path...) {
		return
	}
	d.changed = true
	above, name := path[:len(path)-1], path[len(path)-1]
	switch holder := d.root.Find(pointer(above)).Value.(type) {
	case *hujson.Object:
		m := holder.Members
		i := slices.IndexFunc(m, func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == name })
		d.closeGap(i, len(m), func(i int) *hujson.Extra { return &m[i].Name.BeforeExtra },
			func(i int) *hujson.Extra { return &m[i].Value.AfterExtra }, &holder.AfterExtra)
		holder.Members = slices.Delete(m, i, i+1)
	case *hujson.Array:
		e := holder.Elements
		i, _ := strconv.Atoi(name) // cannot fail: has found it by this index
		d.closeGap(i, len(e), func(i int) *hujson.Extra { return &e[i].BeforeExtra },
			func(i int) *hujson.Extra { return &e[i].AfterExtra }, &holder.AfterExtra)
		holder.Elements = slices.Delete(e, i, i+1)
	}
}

// closeGap keeps the comments around entry i of n before it is deleted, and adds no comma after the last entry that had none.
func (d *document) closeGap(i, n int, before, after func(int) *hujson.Extra, closing *hujson.Extra) {
	last, next := i == n-1, closing
	if !last {
		next = before(i + 1)
	}
	if comments := bytes.TrimRight(slices.Concat(*before(i), *after(i)), " \t\r\n"); len(comments) > 0 {
		if follows := bytes.TrimLeft(*next, " \t\r"); !bytes.HasPrefix(follows, []byte("\n")) {
			comments = append(comments, d.newline...)
		}
		*next = append(comments, *next...)
	}
	if last && i > 0 && *after(i) == nil && *after(i - 1) != nil { // hujson writes a comma where this is not nil
		*closing = slices.Concat(*after(i - 1), *closing)
		*after(i - 1) = nil
	}
	if n == 1 && len(bytes.TrimSpace(*closing)) == 0 {
		*closing = nil
	}
}
