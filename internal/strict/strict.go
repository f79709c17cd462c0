// Package strict decodes planloop's own JSON inputs: the arguments of MCP tools
// and the payloads of the command line. It refuses what could be understood in
// two ways (unknown, duplicate or differently cased keys, missing fields, wrong
// types) and forgives what a model often gets wrong and what can mean one thing
// only: a number in a string, a list in a string, one object for a list of one.
//
// One walk over the tokens writes the input anew as the JSON that the type has
// for it, and collects every problem on the way. The JSON library then decodes
// that, with its own strict checks, so that what the walk lets through by mistake
// is still refused.
//
// It must know nothing of verbs or transports, and of plans only how a refusal is worded: what
// is accepted stands in the Go type decoded into and in the synonyms of field names. A problem comes with the
// input as it would be right, with placeholders for what cannot be known: they say what
// the tags hint or jsonschema say, else the field's name.
//
// A field is named by its json tag, in exact case. It is required unless the tag
// has omitempty or omitzero or the field is a pointer. A struct's method Alone() string names the field
// that a string in its place stands for; Needed() []string names those that a placeholder for it shows beside
// the required ones. A field with the tag text:"some" is told to be blank beside other problems; whether
// it may be is for others to say. A text that is nothing but a placeholder is refused, but with the tag text:"any".
// With the tag text:"list" a list is taken for the text that it is written as. Null for an optional field
// is absence. Structs may be embedded by value. A type with an UnmarshalJSONFrom, UnmarshalJSON or UnmarshalText
// method gets the JSON value as it was written, twice, and decides alone;
// UnmarshalText also gets integers. A string type with a method Values() []string accepts those only, in any
// case and spelling, and what its method Read(string) string makes a word of.
// Numbers within an any become float64; where that loses digits that matter, use
// a jsontext.Value.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
)

// What of an input is read.
const (
	maxDepth  = 32      // levels of objects and arrays
	maxBytes  = 4 << 20 // of the whole input
	maxItems  = 100_000 // elements and entries of all typed lists and maps together: one of two bytes may become a struct of hundreds
	jsonSpace = " \t\r\n"
)

// Decode replaces the struct that into points to by what data says; fields that
// data leaves out are zero. No input, blank input and null count as {}.
//
// A name that is no field's is looked up in the synonyms. Of several fields that it may
// stand for it is the first that is not given by its own name and can take the value.
//
// A problem of the input is an [*Error] and leaves the struct as it was. It is the
// first that was found and holds the others; length and depth are judged
// beforehand. Any other error means that into is not a pointer to a struct or holds
// a type that Decode does not support.
func Decode(data []byte, into any, synonyms []Synonym) error {
	w, fresh, err := read(data, into, synonyms, false)
	if err != nil {
		return err
	}
	if len(w.faults) > 0 {
		w.tellOfBlanks(fresh.Type().Elem())
		first := w.faults[0]
		first.Others, first.Mended = w.faults[1:], w.mended()
		return first
	}
	reflect.ValueOf(into).Elem().Set(fresh.Elem())
	return nil
}

// Partly replaces the struct that into points to by what can be read of data, without what
// Decode refuses, so that the rest can be judged as well. It reports false, and leaves the
// struct as it was, where nothing can be made of data.
func Partly(data []byte, into any, synonyms []Synonym) bool {
	w, fresh, err := read(data, into, synonyms, true)
	if err != nil || w.torn || json.Unmarshal(w.out, fresh.Interface(), json.RejectUnknownMembers(true)) != nil {
		return false
	}
	reflect.ValueOf(into).Elem().Set(fresh.Elem())
	return true
}

// read walks over data and, where nothing is wrong with it, decodes it into a fresh value
// of what into points to.
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
		w.torn = true
	} else if err != nil {
		return w, fresh, err
	}
	if len(w.faults) == 0 {
		w.own(json.Unmarshal(w.out, fresh.Interface(), json.RejectUnknownMembers(true)))
	}
	return w, fresh, nil
}
