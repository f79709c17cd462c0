package strict

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safetext"
)

const (
	missing      = "missing required field "
	shownText    = 40  // runes of a given text or key that a message repeats
	shownPointer = 200 // runes of a pointer that a message repeats
)

// Error is a fault in the input, in words a model can act on.
type Error struct {
	Pointer   string   // JSON pointer to the offending value or key, "" for the root
	Problem   string   // the fault
	Want      string   // the accepted input, "" if only the type itself knows
	Given     string   // the text that does not fit, if the fault is in a text and not in a key; else ""
	Nearest   string   // the accepted name or word that was probably meant, or ""
	Others    []*Error // the other faults, up to a bound
	Corrected []byte   // the corrected input, with placeholders for unknown parts; nil if the input cannot be read
	Lost      []string // unknown keys whose values Corrected does not keep
	cause     error
}

// Error returns this fault, without the others, as one sentence. Parts of the input in it are shortened and free of
// control characters.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pointer != "" {
		b.WriteString(excerpt(e.Pointer, shownPointer) + ": ")
	}
	b.WriteString(e.Problem)
	nearest := strconv.Quote(e.Nearest)
	if e.Want != "" && e.Want != nearest {
		b.WriteString(", want " + e.Want)
	}
	if e.Nearest != "" {
		b.WriteString("; did you mean " + nearest + "?")
	}
	return b.String()
}

// Lacks reports whether a required field is missing.
func (e *Error) Lacks() bool {
	return slices.ContainsFunc(append([]*Error{e}, e.Others...), func(one *Error) bool { return strings.HasPrefix(one.Problem, missing) })
}

// Unwrap returns the error of a type's own decoding, if that was the fault.
func (e *Error) Unwrap() error { return e.cause }

// fault records a fault at the value or key being read.
func (w *walk) fault(problem, want string) *Error {
	e := &Error{Pointer: w.pointer(), Problem: problem, Want: want}
	w.faults = append(w.faults, e)
	return e
}

// mismatch reads a value of a kind and records that it is not a t.
func (w *walk) mismatch(kind jsontext.Kind, t reflect.Type) error {
	raw, err := w.raw()
	if err == nil {
		w.misfit(raw, t)
	}
	return err
}

// misfit records that a value is not a t.
func (w *walk) misfit(raw jsontext.Value, t reflect.Type) {
	want, kind := wanted(t), raw.Kind()
	if want == "" { // only the type knows
		want = "a value"
		if strings.HasPrefix(w.of.label, "such as ") {
			want += ", " + w.of.label
		}
	}
	w.fault("found "+kindName(kind), want)
	if s := w.shape(t); s.Kind() == reflect.String && s.values == nil && (kind == '[' || kind == '{') {
		w.writeText(t, prose(raw))
		return
	}
	w.writePlaceholder(t)
}

// prose writes JSON as text: [{"title":"A","why":"b"}] as "A; why: b".
func prose(raw jsontext.Value) string {
	var parts []string
	in, outer, key := jsontext.NewDecoder(bytes.NewReader(raw)), "", ""
	for {
		token, err := in.ReadToken()
		if err != nil {
			return strings.Join(parts, "; ")
		}
		kind, n := in.StackIndex(in.StackDepth())
		switch {
		case kind == '{' && n%2 == 1 && token.Kind() == '"':
			key = token.String() + ": "
			if slices.Contains([]string{"title", "name", "text", "content", "question", "step", "command", "label"}, token.String()) {
				key = ""
			}
		case token.Kind() == '{', token.Kind() == '[':
			outer, key = outer+key, ""
		case token.Kind() != '}' && token.Kind() != ']':
			parts, outer, key = append(parts, outer+key+token.String()), "", ""
		}
	}
}

func (w *walk) mismatchText(text string, t reflect.Type) {
	w.fault("found the string "+quoted(text), wanted(t)).Given = text
	w.writePlaceholder(t)
}

// syntax records an error of the JSON reader in the value at a pointer.
func (w *walk) syntax(err error, at, where string) {
	problem := &Error{Pointer: at, cause: err}
	w.faults = append(w.faults, problem)
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		problem.Problem = where + ": " + err.Error()
		return
	}
	problem.Pointer += string(syntactic.JSONPointer)
	switch {
	case errors.Is(syntactic.Err, jsontext.ErrDuplicateName):
		problem.Problem, problem.Want = duplicate(syntactic.JSONPointer.LastToken())
	case errors.Is(syntactic.Err, io.ErrUnexpectedEOF):
		problem.Problem = where + ": it ends too early"
	default:
		at := strconv.FormatInt(syntactic.ByteOffset, 10)
		problem.Problem = where + " at byte " + at + ": " + syntactic.Err.Error()
	}
}

func duplicate(key string) (problem, want string) {
	return "duplicate key " + quoted(key), "each key once"
}

// own records the error of a type's own decoding, if there is one. It unpacks only an error that itself has a position:
// a wrapped one has text worth keeping.
func (w *walk) own(err error) {
	if err == nil {
		return
	}
	problem := w.fault("", "")
	problem.cause = err
	if semantic, ok := err.(*json.SemanticError); ok {
		problem.Pointer += string(semantic.JSONPointer)
		problem.Problem = "found " + kindName(semantic.JSONKind) + " that is not accepted here"
		err = semantic.Err
	}
	if inner, ok := err.(*Error); ok {
		root := problem.Pointer
		problem.Pointer += inner.Pointer
		problem.Problem, problem.Want, problem.Nearest = inner.Problem, inner.Want, inner.Nearest
		for _, other := range inner.Others {
			moved := *other
			moved.Pointer = root + other.Pointer
			w.faults = append(w.faults, &moved)
		}
	} else if err != nil {
		problem.Problem = err.Error()
	}
}

// excerpt shortens s and escapes characters that could disturb a terminal or a log.
func excerpt(s string, limit int) string {
	if runes := []rune(s[:min(len(s), 4*limit+4)]); len(runes) > limit {
		s = string(runes[:limit]) + "…"
	}
	q := strconv.Quote(s)
	return safetext.Escape(q[1 : len(q)-1])
}

func quoted(s string) string { return `"` + excerpt(s, shownText) + `"` }

func kindName(k jsontext.Kind) string {
	names := map[jsontext.Kind]string{jsontext.KindNull: "null", jsontext.KindTrue: "a boolean", jsontext.KindFalse: "a boolean",
		jsontext.KindString: "a string", jsontext.KindNumber: "a number", jsontext.KindBeginObject: "an object",
		jsontext.KindBeginArray: "an array"}
	return cmp.Or(names[k], "a value")
}

// wanted describes the values that a type accepts, "" if only the type itself knows.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if values := valuesOf(t); values != nil {
		return oneOf(values)
	}
	switch self, raw := decodesItself(t); self.(type) {
	case json.UnmarshalerFrom, json.Unmarshaler:
		if raw {
			return "a value"
		}
		return ""
	case encoding.TextUnmarshaler:
		return "a string"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return wantedList(t.Elem())
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Interface:
		return "a value"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer of at least 0"
	}
	return "an integer"
}

func wantedList(elem reflect.Type) string {
	for elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	if elem.Kind() == reflect.Slice { // a list type may contain itself
		return "an array"
	}
	switch one := wanted(elem); one {
	case "a string", "an object", "an integer":
		return "an array of " + one[strings.IndexByte(one, ' ')+1:] + "s"
	}
	return "an array"
}

func oneOf(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = strconv.Quote(w)
	}
	if len(list) == 1 {
		return list[0]
	}
	return "one of " + strings.Join(list, ", ")
}
