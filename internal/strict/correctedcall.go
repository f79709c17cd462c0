package strict

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/planloop/planloop/internal/safetext"
)

// Corrected returns the JSON of an input, which is a pointer to a struct, with the values at some JSON pointers replaced,
// or added if missing: by the text given for the pointer, or by a placeholder such as <title> if the text is empty. It
// returns nil if no pointer names a value.
func Corrected(input any, texts map[string]string) []byte {
	data, err := json.Marshal(input, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))
	if err != nil {
		return nil
	}
	return CorrectedAgain(data, input, texts)
}

// CorrectedAgain is Corrected for the JSON of an input of this type, which may already contain placeholders.
func CorrectedAgain(data []byte, of any, texts map[string]string) []byte {
	return corrected(data, of, texts, false)
}

// Completed is CorrectedAgain, also with placeholders for the missing fields that Asked names. It returns the JSON as it is
// if nothing is missing.
func Completed(data []byte, of any, texts map[string]string) []byte {
	return corrected(data, of, texts, true)
}

func corrected(data []byte, of any, texts map[string]string, complete bool) []byte {
	w := walk{shapes: map[reflect.Type]*shape{}, open: maps.Clone(texts), complete: complete}
	delete(w.open, "")
	if err := w.document(data, reflect.TypeOf(of).Elem()); err != nil || w.opened == 0 && !complete {
		return nil
	}
	return w.corrected()
}

// ShownInput is the most of a call's arguments that a reply repeats.
const ShownInput = 1_200 // bytes

// Brief shortens arguments for a reply: long texts become placeholders; if the rest is still too long, a sentence
// replaces it.
func Brief(arguments []byte) string {
	if len(arguments) > ShownInput/2 {
		long := regexp.MustCompile(`:"(?:[^"\\]|\\.){80,}"`)
		arguments = long.ReplaceAll(arguments, []byte(`:"<as before>"`))
	}
	if len(arguments) > ShownInput {
		return "with that corrected and the rest unchanged"
	}
	return safetext.Escape(string(arguments))
}

// corrected returns the output with its placeholders, nil if it is incomplete.
func (w *walk) corrected() []byte {
	if w.incomplete || !jsontext.Value(w.out).IsValid(jsontext.AllowDuplicateNames(true)) {
		return nil
	}
	return w.out
}

// addBlankFaults adds the blank texts to the faults, so that one answer reports both.
func (w *walk) addBlankFaults(t reflect.Type) {
	again := walk{shapes: w.shapes, open: map[string]string{}}
	for _, at := range w.blanks {
		w.faults = append(w.faults, &Error{Pointer: at, Problem: "is blank", Want: "some text"})
		again.open[at] = ""
	}
	if len(w.blanks) > 0 && w.corrected() != nil && again.document(w.out, t) == nil {
		w.out = again.out
	}
}

// writePlaceholder writes a placeholder for the value being read.
func (w *walk) writePlaceholder(t reflect.Type) {
	if w.partly && w.shape(t).Kind() == reflect.Struct {
		w.emit([]byte("{}"))
		return
	}
	w.emit(w.blank(t, w.of.label))
}

// writeText writes a text for the value being read, or a placeholder if the text is empty.
func (w *walk) writeText(t reflect.Type, text string) {
	if text == "" {
		w.writePlaceholder(t)
		return
	}
	w.emit(quote(text))
}

// Placeholder reports whether text is only a placeholder for a field of that name.
func Placeholder(text, name string) bool { return placeholder(text, field{name: name, label: name}) }

// placeholder reports whether text is only a placeholder for a field: one of ours that a model has copied, or dots.
func placeholder(text string, of field) bool {
	text = strings.TrimSpace(text)
	if inner := strings.TrimSuffix(strings.TrimPrefix(text, "<"), ">"); len(inner) == len(text)-2 && !strings.ContainsAny(inner, "<>") {
		return inner == of.label || inner == of.name || strings.ContainsAny(inner, " |") || placeholder(inner, of)
	}
	return strings.Trim(text, ".\u2026") == "" && (strings.Contains(text, "...") || strings.Contains(text, "\u2026"))
}

// blank returns a placeholder for a value of a type: its accepted words, or its label. A struct has one for each
// required field.
func (w *walk) blank(t reflect.Type, label string) []byte {
	s := w.shape(t)
	switch {
	case s.values != nil:
		return quote("<" + strings.Join(s.values, "|") + ">")
	case s.self:
	case s.Kind() == reflect.Bool:
		return quote("<true|false>")
	case s.Kind() == reflect.Slice:
		return slices.Concat([]byte("["), w.blank(s.Elem(), label), []byte("]"))
	case s.Kind() == reflect.Struct:
		out := []byte("{")
		for _, f := range s.fields {
			if f.optional && !f.needed || f.typ == t {
				continue
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = slices.Concat(out, quote(f.name), []byte(":"), w.blank(f.typ, f.label))
		}
		return append(out, '}')
	case s.Kind() == reflect.Map:
		return []byte("{}")
	}
	return quote("<" + label + ">")
}
