package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decoding is the state of one call of Decode.
type decoding struct {
	opts    Options
	in      *jsontext.Decoder
	path    []segment      // from the root of the document to the value at hand
	structs []structFields // so that a list of structs reflects on its type once
	items   int            // elements and entries so far

	// A document within a string has a reader of its own.
	origin   int  // length of path where the document of in starts
	depth    int  // levels around that document
	inString bool // whether it stood in a string
}

// segment is one part of a path: a key, or an index when that is not negative.
type segment struct {
	key   string
	index int
}

func (d *decoding) pointer(length int) string {
	var p jsontext.Pointer
	for _, s := range d.path[:length] {
		if s.index >= 0 {
			s.key = strconv.Itoa(s.index)
		}
		p = p.AppendToken(s.key)
	}
	return string(p)
}

func (d *decoding) enterKey(key string) { d.path = append(d.path, segment{key: key, index: -1}) }
func (d *decoding) enterIndex(i int)    { d.path = append(d.path, segment{index: i}) }
func (d *decoding) leave()              { d.path = d.path[:len(d.path)-1] }

// document decodes text, which must be one JSON value, into v.
func (d *decoding) document(text []byte, v reflect.Value) error {
	if d.depth+nesting(text) > d.opts.MaxDepth {
		return d.fail("nested too deep", fmt.Sprintf("at most %d levels", d.opts.MaxDepth))
	}
	d.in = jsontext.NewDecoder(bytes.NewBuffer(text))
	if err := d.value(v); err != nil {
		return err
	}
	if _, err := d.in.ReadToken(); !errors.Is(err, io.EOF) {
		return d.fail("found more data after the JSON value", "one value alone")
	}
	return nil
}

// quotedDocument decodes a document that stood in a string.
func (d *decoding) quotedDocument(text string, v reflect.Value) error {
	outer := *d
	d.depth += d.in.StackDepth()
	d.origin, d.inString = len(d.path), true
	if err := d.document([]byte(text), v); err != nil {
		return err
	}
	d.in, d.depth, d.origin, d.inString = outer.in, outer.depth, outer.origin, outer.inString
	return nil
}

// value decodes the next JSON value into v, which is zero and addressable.
func (d *decoding) value(v reflect.Value) error {
	kind := d.in.PeekKind()
	switch kind {
	case jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
		_, err := d.token()
		return err
	case jsontext.KindNull:
		return d.null(v)
	}
	v = allocated(v)
	if decodesItself(v) {
		return d.self(v)
	}
	if !supported(v.Type()) {
		return fmt.Errorf("strict: %s: cannot decode into a %s", d.pointer(len(d.path)), v.Type())
	}
	switch {
	case v.Kind() == reflect.Interface:
		return d.anything(v)
	case v.Kind() == reflect.Slice:
		return d.list(v, kind)
	case v.Kind() == reflect.Struct && kind == jsontext.KindBeginObject:
		return d.object(v)
	case v.Kind() == reflect.Map && kind == jsontext.KindBeginObject:
		return d.mapping(v)
	}
	return d.scalar(v, kind)
}

// null decodes a null that is not a struct field's.
func (d *decoding) null(v reflect.Value) error {
	switch {
	case v.Kind() == reflect.Pointer, v.Kind() == reflect.Interface:
		_, err := d.token()
		return err
	case isRaw(v) && decodesItself(v):
		return d.self(v)
	}
	return d.mismatch(jsontext.KindNull, v.Type())
}

// anything decodes any JSON into an empty interface.
func (d *decoding) anything(v reflect.Value) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		return d.own(err)
	}
	return nil
}

// ended reports whether the object or array at hand ends here, and reads its end.
func (d *decoding) ended(end jsontext.Kind) (bool, error) {
	if d.in.PeekKind() != end {
		return false, nil
	}
	_, err := d.token()
	return err == nil, err
}

// token reads the next token. It is valid until the next read.
func (d *decoding) token() (jsontext.Token, error) {
	tok, err := d.in.ReadToken()
	if err != nil {
		return tok, d.syntax(err)
	}
	return tok, nil
}

// raw reads the next value whole. It is valid until the next read.
func (d *decoding) raw() (jsontext.Value, error) {
	raw, err := d.in.ReadValue()
	if err != nil {
		return nil, d.syntax(err)
	}
	return raw, nil
}

// nesting returns how deep objects and arrays nest in a JSON text. Up to the
// first error of its syntax, beyond which nobody reads, the count is exact.
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

// allocated follows v through pointers to what is to be filled, making it.
func allocated(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	return v
}

func supported(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Int64:
		return t != reflect.TypeFor[time.Duration]() // a bare number would not say its unit
	case reflect.Slice:
		return t.Elem().Kind() != reflect.Uint8 // bytes would need an encoding
	case reflect.Map:
		return t.Key().Kind() == reflect.String && !decodesItself(reflect.New(t.Key()).Elem())
	case reflect.Interface:
		return t.NumMethod() == 0
	}
	return false
}
