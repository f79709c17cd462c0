package strict

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a boolean"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "an array"
	}
	return "a value"
}

// wanted says what a type accepts, "" when only the type itself knows.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if values := valuesOf(t); values != nil {
		return oneOf(values)
	}
	if v := reflect.New(t).Elem(); decodesItself(v) {
		return wantedBySelf(v)
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

func wantedBySelf(v reflect.Value) string {
	switch v.Addr().Interface().(type) {
	case json.UnmarshalerFrom, json.Unmarshaler:
		if isRaw(v) {
			return "a value"
		}
		return ""
	}
	return "a string"
}

func wantedList(elem reflect.Type) string {
	for elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	if elem.Kind() == reflect.Slice { // a list type may hold itself
		return "an array"
	}
	switch wanted(elem) {
	case "a string":
		return "an array of strings"
	case "an object":
		return "an array of objects"
	case "an integer":
		return "an array of integers"
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
