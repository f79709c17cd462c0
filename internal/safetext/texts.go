package safetext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Escape for values with many texts: Go values of ours, and untrusted JSON documents.

// EscapeTexts escapes all texts in the value that pointer points to.
func EscapeTexts(pointer any) { MapTexts(pointer, Escape) }

// MapTexts replaces all texts in the value that pointer points to. Pointers and string slices in it may be shared, so
// they are copied before a change.
func MapTexts(pointer any, change func(string) string) {
	mapTexts(reflect.ValueOf(pointer).Elem(), change)
}

func mapTexts(v reflect.Value, change func(string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(change(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				mapTexts(v.Field(i), change)
			}
		}
	case reflect.Slice:
		if texts, of := v.Interface().([]string); of {
			if !slices.ContainsFunc(texts, func(text string) bool { return change(text) != text }) {
				return
			}
			v.Set(reflect.ValueOf(slices.Clone(texts)))
		}
		for i := range v.Len() {
			mapTexts(v.Index(i), change)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			mapTexts(own.Elem(), change)
			v.Set(own)
		}
	}
}

// EscapeStrings escapes all strings and names in a JSON document, and converts their line ends to newlines. Unlike
// EscapeJSON it changes the meaning of the document.
func EscapeStrings(raw json.RawMessage) json.RawMessage {
	if isPlainJSON(raw) {
		return raw
	}
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(raw))
	to := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true)) // two names may become equal
	for {
		token, err := in.ReadToken()
		if err != nil {
			return bytes.TrimSpace(out.Bytes())
		}
		if token.Kind() == '"' {
			token = jsontext.String(Escape(Newlines(token.String())))
		}
		if to.WriteToken(token) != nil {
			return json.RawMessage("null")
		}
	}
}

// isPlainJSON reports whether all strings of a JSON document are printable and without escapes.
func isPlainJSON(raw json.RawMessage) bool {
	return !bytes.Contains(raw, []byte(`\u`)) && !bytes.Contains(raw, []byte(`\b`)) && !bytes.Contains(raw, []byte(`\f`)) &&
		!bytes.Contains(raw, []byte(`\r`)) && Printable(string(raw))
}
