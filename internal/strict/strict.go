// Package strict decodes planloop's own JSON inputs: the arguments of MCP tools and the payloads of the command line.
// It refuses ambiguous input (unknown, duplicate or differently cased keys, missing fields, wrong types) and forgives
// frequent mistakes of models that have only one meaning: a number in a string, a list in a string, one object for a
// list of one.
//
// One walk over the tokens rewrites the input as the JSON that the type expects, and collects every fault on the way.
// The JSON library then decodes the result with its own strict checks, so that mistakes of the walk are still refused.
//
// It must know nothing of verbs or transports, and of plans only the form of a refusal: the Go type and the synonyms of
// field names define the accepted input. Faults come with the corrected input, with placeholders for unknown parts,
// which show the tags hint or jsonschema, else the field's name.
//
// A field is named by its json tag, in exact case. It is required unless the tag has omitempty or omitzero or the field
// is a pointer. A struct's method Alone() string names the field that is set by a string in place of the struct;
// Needed() []string, or Asked() []string, names the optional fields that its placeholder also shows, and the second
// those that a completed input has a placeholder for; Member(name string, value []byte) []byte returns the element that
// a member of an object gives in place of a list, or nil. A field with the tag text:"some" is reported as blank
// together with other faults; callers decide whether it may be blank. A text that is only a placeholder is refused,
// except with the tag text:"any". With the tag text:"list" a list is accepted as the text it is written as, with the
// tag text:"lines" the lines of a text as a list, and with the tag text:"commands" a list of commands as one that needs
// all of them. The tag yes lists words that mean true. Null for an optional field means absence.
//
// A corrected input keeps the text of an unknown field in the field with the tag text:"rest". What it cannot keep is in Lost.
//
// Structs may be embedded by value. A type with an UnmarshalJSONFrom, UnmarshalJSON or UnmarshalText method gets the
// original JSON value, twice, and decides alone; UnmarshalText also gets integers. A string type with a method Values()
// []string accepts only those, in any case and spelling, and the texts that its method Read(string) string turns into a
// word. Numbers within an any become float64; if digits must be preserved, use a jsontext.Value.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Bounds of the input.
const (
	maxDepth  = 32      // levels of objects and arrays
	maxBytes  = 4 << 20 // of the whole input
	maxItems  = 100_000 // elements and entries of all typed lists and maps: one of two bytes may become a struct of hundreds
	jsonSpace = " \t\r\n"
)

// Decode replaces the struct that into points to by data; fields missing in data are zero. No input, blank input and
// null count as {}.
//
// A name that is not a field's is looked up in the synonyms, if there are any, also in camel case.
// If it may mean several fields, it is the first that
// is not given by its own name and can take the value.
//
// A fault in the input is an [*Error] and leaves the struct unchanged. It is the first fault found and holds the
// others; length and depth are checked first. Any other error means that into is not a pointer to a struct or holds a
// type that Decode does not support.
func Decode(data []byte, into any, synonyms []Synonym) error {
	w, fresh, err := read(data, into, synonyms, false)
	if err != nil {
		return err
	}
	if len(w.faults) > 0 {
		w.addBlankFaults(fresh.Type().Elem())
		first := w.faults[0]
		first.Others, first.Corrected, first.Lost = w.faults[1:], w.corrected(), w.lost
		return first
	}
	reflect.ValueOf(into).Elem().Set(fresh.Elem())
	return nil
}

// Partly replaces the struct that into points to by the readable part of data, without the parts that Decode refuses,
// so that the rest can be checked too. If nothing is readable, it returns false and leaves the struct unchanged.
func Partly(data []byte, into any, synonyms []Synonym) bool {
	w, fresh, err := read(data, into, synonyms, true)
	if err != nil || w.incomplete || json.Unmarshal(w.out, fresh.Interface(), json.RejectUnknownMembers(true)) != nil {
		return false
	}
	reflect.ValueOf(into).Elem().Set(fresh.Elem())
	return true
}

// read walks over data and, if it finds no fault, decodes it into a new value of the type that into points to.
func read(data []byte, into any, synonyms []Synonym, partly bool) (w walk, fresh reflect.Value, err error) {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		return w, fresh, fmt.Errorf("strict: cannot decode into %T: a non-nil pointer to a struct is needed", into)
	}
	if len(data) > maxBytes {
		return w, fresh, &Error{Problem: fmt.Sprintf("the input has %d bytes", len(data)), Want: fmt.Sprintf("at most %d bytes", maxBytes)}
	}
	if text := bytes.Trim(data, jsonSpace); len(text) == 0 || string(text) == "null" {
		data = []byte("{}")
	}
	w = walk{synonyms: synonyms, out: make([]byte, 0, len(data)), shapes: map[reflect.Type]*shape{}, partly: partly}
	fresh = reflect.New(target.Type().Elem())
	if err := w.document(data, target.Type().Elem()); errors.Is(err, errEnough) {
		w.incomplete = true
	} else if err != nil {
		return w, fresh, err
	}
	if len(w.faults) == 0 {
		w.own(json.Unmarshal(w.out, fresh.Interface(), json.RejectUnknownMembers(true)))
	}
	return w, fresh, nil
}

// Refusal returns all faults of the input as a *plan.ValidationError. A type's own refusal, such as that of a step id,
// keeps its words.
func (e *Error) Refusal() *plan.ValidationError {
	var all plan.Faults
	for _, one := range append([]*Error{e}, e.Others...) {
		refused := &plan.ValidationError{Kind: plan.InvalidInput, Field: ShownPointer(one.Pointer), Problem: one.Problem}
		if own, ok := errors.AsType[*plan.ValidationError](one); ok {
			refused.Problem, refused.Fix = own.Problem, own.Fix
		} else if one.Nearest != "" {
			refused.Fix = "did you mean " + strconv.Quote(one.Nearest) + "?"
		} else if one.Want != "" {
			refused.Fix = "give " + one.Want
		}
		all.Add(refused)
	}
	refused, _ := errors.AsType[*plan.ValidationError](all.Err())
	return refused
}

// ShownPointer returns a JSON pointer, which repeats keys of the input, in printable form.
func ShownPointer(pointer string) string {
	quoted := strconv.QuoteToGraphic(plan.Shorten(pointer, 120))
	return safetext.Escape(quoted[1 : len(quoted)-1])
}
