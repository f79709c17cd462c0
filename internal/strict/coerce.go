package strict

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safetext"
)

// maxFaults bounds the faults collected from one input.
const maxFaults = 20

var (
	errBroken = errors.New("the document cannot be read further") // its fault is recorded
	errEnough = errors.New("too many faults to go on")
)

// walk is the state of one call of Decode: its position in the input, and the output so far.
type walk struct {
	synonyms   []Synonym
	in         *jsontext.Decoder
	out        []byte // the input rewritten for the library, with placeholders for faulty parts
	faults     []*Error
	shapes     map[reflect.Type]*shape
	items      int               // elements and entries so far
	of         field             // field of the value being read
	open       map[string]string // pointers to values to replace, with their texts; "" for a placeholder
	opened     int               // number of values replaced
	lost       []string          // unknown keys whose values are left out
	blanks     []string          // pointers to texts that are blank and must not be
	incomplete bool              // out is not a complete document
	unpacked   bool              // the whole input was inside one unknown field
	complete   bool              // fields that are asked for get placeholders if missing
	partly     bool              // faulty parts are left out, without placeholders

	// A document within a string has its own reader.
	quoted bool
	outer  string // JSON pointer to that string
	depth  int    // levels around it
}

// pointer returns the JSON pointer to the value or name that was read last.
func (w *walk) pointer() string {
	if w.in == nil {
		return ""
	}
	return w.outer + string(w.in.StackPointer())
}

// upcoming returns the JSON pointer to the value that is read next.
func (w *walk) upcoming() string {
	at := w.in.StackPointer()
	if kind, n := w.in.StackIndex(w.in.StackDepth()); kind == jsontext.KindBeginArray {
		if n > 0 {
			at = at.Parent()
		}
		at = at.AppendToken(strconv.FormatInt(n, 10))
	}
	return w.outer + string(at)
}

// document reads text, which must be one JSON value, as a t: the input, or a document found in a string.
func (w *walk) document(text []byte, t reflect.Type) error {
	return w.nested(text, w.pointer(), w.in != nil, t)
}

// nested is document for a text at a pointer, in a string or not.
func (w *walk) nested(text []byte, at string, inString bool, t reflect.Type) error {
	in, quoted, outer, depth := w.in, w.quoted, w.outer, w.depth
	defer func() { w.in, w.quoted, w.outer, w.depth = in, quoted, outer, depth }()
	w.quoted = quoted || inString
	if in != nil {
		w.depth += in.StackDepth()
	}
	if w.depth+nesting(text) > maxDepth {
		w.fault("nested too deep", fmt.Sprintf("at most %d levels", maxDepth))
		w.writePlaceholder(t)
		return nil
	}
	w.in, w.outer = jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true)), at
	before := len(w.out)
	if err := w.value(t); errors.Is(err, errBroken) {
		w.out, w.incomplete = w.out[:before], w.incomplete || in == nil
		w.writePlaceholder(t)
		return nil
	} else if err != nil {
		return err
	}
	if _, err := w.in.ReadToken(); !errors.Is(err, io.EOF) {
		w.fault("found more data after the JSON value", "a single value")
	}
	return nil
}

// value reads the next JSON value as a t. Unless it returns an error, it has consumed the whole value, even a faulty
// one.
func (w *walk) value(t reflect.Type) error {
	if len(w.faults) >= maxFaults {
		return errEnough
	}
	s, kind := w.shape(t), w.in.PeekKind()
	if len(w.open) > 0 {
		if text, open := w.open[w.upcoming()]; open {
			w.opened++
			w.writeText(t, text)
			_, err := w.raw()
			return err
		}
	}
	switch {
	case kind == jsontext.KindInvalid, kind == jsontext.KindEndObject, kind == jsontext.KindEndArray:
		_, err := w.token()
		return err
	case kind == jsontext.KindNull && !s.nullable:
		return w.mismatch(kind, s.Type)
	case kind == jsontext.KindNull:
		raw, err := w.raw()
		w.emit(raw)
		return err
	case !s.supported:
		return fmt.Errorf("strict: %s: cannot decode into a %s", w.pointer(), s.Type)
	case s.self, s.Kind() == reflect.Interface:
		raw, err := w.raw()
		if err != nil {
			return err
		}
		w.decided(s, raw)
		return nil
	case s.Kind() == reflect.Slice:
		return w.list(s, kind)
	case s.Kind() == reflect.Struct && kind == jsontext.KindBeginObject:
		return w.object(s)
	case s.Kind() == reflect.Map && kind == jsontext.KindBeginObject:
		return w.mapping(s)
	}
	return w.scalar(s, kind)
}

// scalar reads a value for a type that is neither a list nor decodes itself.
func (w *walk) scalar(s *shape, kind jsontext.Kind) error {
	isBool := kind == jsontext.KindTrue || kind == jsontext.KindFalse
	fits := kind == jsontext.KindString || isBool && s.Kind() == reflect.Bool || kind == jsontext.KindNumber && s.number()
	listed := kind == jsontext.KindBeginArray && s.Kind() == reflect.String && (w.of.listed || w.of.commands || s.values != nil) ||
		kind == jsontext.KindBeginObject && s.values != nil // {"name":"Done"}
	if !fits && !listed && kind != jsontext.KindBeginArray {
		return w.mismatch(kind, s.Type)
	}
	raw, err := w.raw()
	var one []string
	switch {
	case err != nil:
		return err
	case !fits && !listed && s.Kind() == reflect.String && json.Unmarshal(raw, &one) == nil && len(one) == 1:
		return w.text(s, quote(one[0]))
	case !fits && !listed:
		w.misfit(raw, s.Type)
	case listed && w.of.commands:
		var all []string
		if json.Unmarshal(raw, &all) != nil {
			w.fault("found an array", "a command")
			w.writePlaceholder(s.Type)
			return nil
		}
		w.emit(quote(strings.Join(all, " && ")))
	case listed && s.values != nil:
		return w.text(s, quote(strings.ReplaceAll(prose(raw), "; ", ", ")))
	case listed:
		w.emit(quote(string(raw)))
	case kind == jsontext.KindString:
		return w.text(s, raw)
	case kind == jsontext.KindNumber:
		w.number(s, string(raw))
	default:
		w.emit(raw)
	}
	return nil
}

// text reads a string if it has only one meaning for the type.
func (w *walk) text(s *shape, raw jsontext.Value) error {
	content, _ := textOf(raw)
	text := string(content)
	if s.Kind() == reflect.String && s.values == nil {
		if w.of.verbatim || !placeholder(text, w.of) {
			w.emit(raw)
			return nil
		}
		w.fault(quoted(text)+" is a placeholder", "the text itself: "+w.of.label).Given = text
		w.writePlaceholder(s.Type)
		return nil
	}
	trimmed := strings.Trim(text, jsonSpace)
	switch {
	case s.Kind() == reflect.String:
		if word, ok := w.word(s, text); ok {
			w.emit(quote(word))
		} else {
			w.writePlaceholder(s.Type)
		}
		return nil
	case s.Kind() == reflect.Bool && (trimmed == "true" || trimmed == "false"):
		w.emit([]byte(trimmed))
		return nil
	case s.Kind() == reflect.Bool && slices.Contains(w.of.yes, strings.ToLower(trimmed)):
		w.emit([]byte("true"))
		return nil
	case s.float() && isNumber(trimmed), s.number() && !s.float() && isInteger(trimmed):
		w.number(s, trimmed)
		return nil
	case s.Kind() == reflect.Struct || s.Kind() == reflect.Map:
		if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
			return w.document([]byte(trimmed), s.Type)
		}
		if s.alone != "" {
			return w.standIn(s, raw)
		}
	}
	w.mismatchText(text, s.Type)
	return nil
}

// standIn reads a string as the single field that it sets in a struct.
func (w *walk) standIn(s *shape, raw jsontext.Value) error {
	f := s.fields[indexOf(s.fields, s.alone)]
	value, err := w.captured(f, func() error { return w.text(w.shape(f.typ), raw) })
	w.emit(slices.Concat([]byte("{"), quote(s.alone), []byte(":"), value, []byte("}")))
	return err
}

func (w *walk) number(s *shape, given string) {
	text := given
	var err error
	switch {
	case s.float():
		_, err = strconv.ParseFloat(text, s.Bits())
	case s.Kind() >= reflect.Uint:
		text = whole(given)
		_, err = strconv.ParseUint(text, 10, s.Bits())
	default:
		text = whole(given)
		_, err = strconv.ParseInt(text, 10, s.Bits())
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		w.fault("the number "+excerpt(given, shownText)+" is out of range", wanted(s.Type))
	case err != nil:
		w.fault("found the number "+excerpt(given, shownText), wanted(s.Type))
	default:
		w.emit([]byte(text))
		return
	}
	w.writePlaceholder(s.Type)
}

func (s *shape) float() bool { return s.Kind() == reflect.Float32 || s.Kind() == reflect.Float64 }

func (s *shape) number() bool { return s.Kind() >= reflect.Int && s.Kind() <= reflect.Float64 }

// whole drops a fraction of zeros: in JSON 5.0 is an integer too.
func whole(number string) string {
	integer, fraction, _ := strings.Cut(number, ".")
	if strings.Trim(fraction, "0") == "" {
		return integer
	}
	return number
}

func isNumber(text string) bool {
	v := jsontext.Value(text)
	return v.Kind() == jsontext.KindNumber && v.IsValid()
}

func isInteger(text string) bool { return isNumber(text) && !strings.ContainsAny(text, ".eE") }

// word returns the listed word that a string means, and records a fault if it means none.
func (w *walk) word(s *shape, given string) (string, bool) {
	if s.values == nil || slices.Contains(s.values, given) {
		return given, true
	}
	means := func(value string) bool { return safetext.FoldWord(value) == safetext.FoldWord(given) }
	if i := slices.IndexFunc(s.values, means); i >= 0 {
		return s.values[i], true
	}
	if reader, ok := reflect.Zero(s.Type).Interface().(interface{ Read(word string) string }); ok {
		if word := reader.Read(given); word != "" {
			return word, true
		}
	}
	w.fault("found "+quoted(given), oneOf(s.values)).Given = given
	return given, false
}

// decided asks the type itself whether a value fits.
func (w *walk) decided(s *shape, raw jsontext.Value) {
	if kind := raw.Kind(); kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray {
		if _, err := jsontext.NewDecoder(bytes.NewReader(raw)).ReadValue(); err != nil { // a duplicate key
			w.syntax(err, w.pointer(), "invalid JSON")
			w.writePlaceholder(s.Type)
			return
		}
	}
	if raw.Kind() == jsontext.KindNumber && !s.raw && s.Kind() != reflect.Interface {
		raw = jsontext.Value(whole(string(raw)))
	}
	var err error
	switch u := reflect.New(s.Type).Interface().(type) {
	case json.UnmarshalerFrom:
		err = json.Unmarshal(raw, u)
	case json.Unmarshaler:
		err = u.UnmarshalJSON(raw)
	case encoding.TextUnmarshaler:
		text, ok := textOf(raw)
		if !ok {
			w.fault("found "+kindName(raw.Kind()), wanted(s.Type))
			w.writePlaceholder(s.Type)
			return
		}
		if err = u.UnmarshalText(text); raw.Kind() == jsontext.KindNumber {
			raw = jsontext.Value(strconv.Quote(string(text)))
		}
	default:
		err = json.Unmarshal(raw, u)
	}
	if err != nil {
		w.own(err)
		w.writePlaceholder(s.Type)
		return
	}
	w.emit(raw)
}

// textOf returns the content of a string, or an integer as it was written.
func textOf(raw jsontext.Value) ([]byte, bool) {
	if raw.Kind() == jsontext.KindString {
		text, err := jsontext.AppendUnquote(nil, raw)
		return text, err == nil
	}
	return raw, isInteger(string(raw))
}

// list reads an array, an array in a string, or a single element if it cannot mean anything else.
func (w *walk) list(s *shape, kind jsontext.Kind) error {
	elem := w.shape(s.Elem())
	decides := elem.self && !elem.raw
	switch {
	case kind == jsontext.KindBeginArray:
		return w.array(s)
	case kind == jsontext.KindString:
		return w.listText(s, elem, decides)
	case kind == jsontext.KindBeginObject:
		return w.byName(s, elem)
	case decides:
		w.begin('[')
		err := w.value(s.Elem())
		w.end(']')
		return err
	}
	return w.mismatch(kind, s.Type)
}

// byName reads an object as a list: of its values if their names are numbers, or of an element for each member, or as the
// only element if one of the members is none.
func (w *walk) byName(s, elem *shape) error {
	at := w.upcoming()
	raw, err := w.raw()
	if err != nil {
		return err
	}
	element := func(string, []byte) []byte { return nil }
	if named, ok := reflect.Zero(elem.Type).Interface().(interface{ Member(string, []byte) []byte }); ok {
		element = named.Member
	}
	var members map[string]jsontext.Value
	var list [][]byte
	numbers := json.Unmarshal(raw, &members) == nil && len(members) > 0 // not with a duplicate key, which the only element reports
	for name := range members {
		numbers = numbers && isInteger(name)
	}
	byNumber := func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(members), byNumber) {
		one := element(name, members[name])
		if numbers && one == nil {
			one = members[name]
		}
		if one != nil {
			list = append(list, one)
		}
	}
	if len(list) == 0 || len(list) < len(members) {
		list = [][]byte{raw}
	}
	return w.nested(slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]")), at, false, s.Type)
}

// listText reads a string as a list. A string that looks like an array is never read as an element.
func (w *walk) listText(s, elem *shape, decides bool) error {
	raw, err := w.raw()
	if err != nil {
		return err
	}
	text, _ := textOf(raw)
	takesText := decides || elem.Kind() == reflect.String
	trimmed := strings.Trim(string(text), jsonSpace)
	switch {
	case strings.HasPrefix(trimmed, "["), strings.HasPrefix(trimmed, "{") && !takesText:
		return w.document([]byte(trimmed), s.Type)
	case elem.alone != "" && trimmed != "" && trimmed != "null":
		if !w.of.lines {
			w.fault("found the string "+quoted(string(text)), wanted(s.Type)).Given = string(text)
		}
		return w.lines(elem, trimmed)
	case !takesText, trimmed == "", trimmed == "null":
		w.mismatchText(string(text), s.Type)
		return nil
	case isMarkdownList(trimmed):
		return w.lines(elem, trimmed)
	}
	w.begin('[')
	err = w.element(elem, raw)
	w.end(']')
	return err
}

// element reads a string as an element of a list.
func (w *walk) element(elem *shape, raw jsontext.Value) error {
	switch {
	case elem.self && !elem.raw:
		w.decided(elem, raw)
		return nil
	case elem.alone != "":
		return w.standIn(elem, raw)
	}
	return w.text(elem, raw)
}

// lines writes each line of a text as an element, without its bullet or number.
func (w *walk) lines(elem *shape, text string) error {
	w.begin('[')
	for line := range strings.Lines(text) {
		line, _ := point(line)
		if line == "" || strings.HasPrefix(line, "#") { // a heading
			continue
		}
		if err := w.element(elem, quote(line)); err != nil {
			return err
		}
	}
	w.end(']')
	return nil
}

// point returns a line without its bullet or number and its box, and whether it has a bullet or number.
func point(line string) (text string, marked bool) {
	line = strings.TrimSpace(line)
	if sign, rest, _ := strings.Cut(line, " "); slices.Contains([]string{"-", "*", "•", ".", ")"}, strings.TrimLeft(sign, "0123456789")) {
		line, marked = strings.TrimSpace(rest), true
	}
	if box, rest, _ := strings.Cut(line, "]"); slices.Contains([]string{"[", "[ ", "[x", "[X"}, box) {
		line = strings.TrimSpace(rest)
	}
	return line, marked
}

// isMarkdownList reports whether a text has several lines, each with a bullet or a number.
func isMarkdownList(text string) bool {
	for line := range strings.Lines(text) {
		if text, marked := point(line); text != "" && !marked {
			return false
		}
	}
	return strings.Contains(text, "\n")
}

// between reads the elements or members of an array or object. It does not write the end, and no begin if that is 0.
func (w *walk) between(begin, end byte, each func() error) error {
	if _, err := w.token(); err != nil {
		return err
	}
	if begin != 0 {
		w.begin(begin)
	}
	for w.in.PeekKind() != jsontext.Kind(end) {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := w.token()
	return err
}

func (w *walk) array(s *shape) error {
	defer w.end(']')
	return w.between('[', ']', func() error {
		if err := w.value(s.Elem()); err != nil {
			return err
		}
		return w.countItem()
	})
}

func (w *walk) countItem() error {
	w.items++
	if w.items <= maxItems {
		return nil
	}
	w.fault("too many list elements and map entries", fmt.Sprintf("at most %d in all", maxItems))
	return errEnough
}

func (w *walk) mapping(s *shape) error {
	keys, seen := w.shape(s.Key()), map[string]bool{}
	defer w.end('}')
	return w.between('{', '}', func() error {
		name, err := w.token()
		if err != nil {
			return err
		}
		key := name.String()
		if err := w.countItem(); err != nil {
			return err
		}
		if seen[key] {
			w.fault(duplicate(key))
		}
		seen[key] = true
		key, _ = w.word(keys, key)
		w.name(key)
		return w.value(s.Elem())
	})
}

func (w *walk) begin(bracket byte) {
	w.comma()
	w.out = append(w.out, bracket)
}

func (w *walk) end(bracket byte) { w.out = append(w.out, bracket) }

func (w *walk) name(name string) {
	w.emit(quote(name))
	w.out = append(w.out, ':')
}

// quote returns a text as JSON. The text comes from a reader that refuses invalid UTF-8.
func quote(text string) []byte {
	quoted, _ := jsontext.AppendQuote(nil, text)
	return quoted
}

func (w *walk) emit(raw []byte) {
	w.comma()
	w.out = append(w.out, raw...)
}

// comma writes a comma if a value precedes in the array or object. No value ends with one of the characters it checks.
func (w *walk) comma() {
	if len(w.out) > 0 && !strings.ContainsRune("[{:", rune(w.out[len(w.out)-1])) {
		w.out = append(w.out, ',')
	}
}

// token reads the next token. It is valid until the next read.
func (w *walk) token() (jsontext.Token, error) {
	tok, err := w.in.ReadToken()
	return tok, w.broken(err)
}

// raw reads the next value whole. It is valid until the next read.
func (w *walk) raw() (jsontext.Value, error) {
	raw, err := w.in.ReadValue()
	return raw, w.broken(err)
}

// broken records an error of the reader.
func (w *walk) broken(err error) error {
	if err == nil {
		return nil
	}
	where := "invalid JSON"
	if w.quoted {
		where = "invalid JSON in a string"
	}
	w.syntax(err, w.outer, where)
	return errBroken
}

// nesting returns how deep objects and arrays nest in a JSON text. It is exact up to the first syntax error, where
// reading stops.
func nesting(text []byte) (deepest int) {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return deepest
}
