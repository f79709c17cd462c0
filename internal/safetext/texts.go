package safetext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Escape for values with many texts: Go values of ours, and untrusted JSON documents.

// EscapeTexts escapes all texts in the value that pointer points to. Pointers and string slices in it may be shared, so
// they are copied before a change.
func EscapeTexts(pointer any) { escapeTexts(reflect.ValueOf(pointer).Elem()) }

func escapeTexts(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); !Printable(text) {
			v.SetString(Escape(text))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				escapeTexts(v.Field(i))
			}
		}
	case reflect.Slice:
		if texts, of := v.Interface().([]string); of {
			if !slices.ContainsFunc(texts, func(text string) bool { return !Printable(text) }) {
				return
			}
			v.Set(reflect.ValueOf(slices.Clone(texts)))
		}
		for i := range v.Len() {
			escapeTexts(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			escapeTexts(own.Elem())
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
