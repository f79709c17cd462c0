package safetext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// What holds many texts is made fit to be shown as each of them is by Escape: a value of ours, and a JSON document of
// unknown origin.

// EscapeTexts escapes the texts of the value that a pointer leads to. What its pointers and its lists of texts hold may
// be others' as well: it gets copies of them.
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

// EscapeStrings escapes all strings of a JSON document, names too, and writes every kind of line end in them as a
// newline. Unlike EscapeJSON it changes what the document says.
func EscapeStrings(raw json.RawMessage) json.RawMessage {
	if plain(raw) {
		return raw
	}
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(raw))
	to := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true)) // two names may come to be written alike
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

// plain reports whether the strings of a JSON document hold nothing but what it shows itself.
func plain(raw json.RawMessage) bool {
	return !bytes.Contains(raw, []byte(`\u`)) && !bytes.Contains(raw, []byte(`\b`)) && !bytes.Contains(raw, []byte(`\f`)) &&
		!bytes.Contains(raw, []byte(`\r`)) && Printable(string(raw))
}
