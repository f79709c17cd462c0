package strict

import (
	"encoding"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decodesItself reports whether the type of v has a decoding method of its own.
func decodesItself(v reflect.Value) bool {
	switch v.Addr().Interface().(type) {
	case json.UnmarshalerFrom, json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

// isRaw reports whether v holds JSON as it is, as a jsontext.Value does.
func isRaw(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8
}

// self hands the next value to the type of v.
func (d *decoding) self(v reflect.Value) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	return d.selfRaw(v, raw)
}

func (d *decoding) selfRaw(v reflect.Value, raw jsontext.Value) error {
	var err error
	switch u := v.Addr().Interface().(type) {
	case json.UnmarshalerFrom:
		err = json.Unmarshal(raw, u)
	case json.Unmarshaler:
		err = u.UnmarshalJSON(raw)
	case encoding.TextUnmarshaler:
		text, ok := textOf(raw)
		if !ok {
			return d.mismatch(raw.Kind(), v.Type())
		}
		err = u.UnmarshalText(text)
	}
	if err != nil {
		return d.own(err)
	}
	return nil
}

// textOf returns the content of a string, or an integer as it was written.
func textOf(raw jsontext.Value) ([]byte, bool) {
	if raw.Kind() == jsontext.KindString {
		text, err := jsontext.AppendUnquote(nil, raw)
		return text, err == nil
	}
	return raw, isInteger(string(raw))
}
