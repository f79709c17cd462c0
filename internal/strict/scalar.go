package strict

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/spelling"
)

// enumerated is a string type that accepts certain values only.
type enumerated interface{ Values() []string }

// scalar decodes a value into a type that is neither a list nor self-decoding.
func (d *decoding) scalar(v reflect.Value, kind jsontext.Kind) error {
	wantsNumber := v.CanInt() || v.CanUint() || v.CanFloat()
	wantsBool := v.Kind() == reflect.Bool
	isBool := kind == jsontext.KindTrue || kind == jsontext.KindFalse
	fits := kind == jsontext.KindString || isBool && wantsBool || kind == jsontext.KindNumber && wantsNumber
	if !fits {
		return d.mismatch(kind, v.Type())
	}
	tok, err := d.token()
	if err != nil {
		return err
	}
	switch kind {
	case jsontext.KindString:
		return d.text(v, tok.String())
	case jsontext.KindNumber:
		return d.number(v, tok.String())
	}
	v.SetBool(kind == jsontext.KindTrue)
	return nil
}

// text decodes the content of a string.
func (d *decoding) text(v reflect.Value, text string) error {
	trimmed := trimSpace(text)
	switch {
	case v.Kind() == reflect.String:
		v.SetString(text)
		return d.checkValues(v)
	case v.Kind() == reflect.Bool && (trimmed == "true" || trimmed == "false"):
		v.SetBool(trimmed == "true")
		return nil
	case (v.CanInt() || v.CanUint()) && isInteger(trimmed), v.CanFloat() && isNumber(trimmed):
		return d.number(v, trimmed)
	case v.Kind() == reflect.Struct || v.Kind() == reflect.Map:
		if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
			return d.quotedDocument(trimmed, v)
		}
	}
	return d.mismatchText(text, v.Type())
}

// number decodes the text of a JSON number.
func (d *decoding) number(v reflect.Value, text string) error {
	var err error
	switch {
	case v.CanFloat():
		var f float64
		f, err = strconv.ParseFloat(text, v.Type().Bits())
		v.SetFloat(f)
	case v.CanInt():
		var n int64
		n, err = strconv.ParseInt(whole(text), 10, v.Type().Bits())
		v.SetInt(n)
	default:
		var n uint64
		n, err = strconv.ParseUint(whole(text), 10, v.Type().Bits())
		v.SetUint(n)
	}
	if errors.Is(err, strconv.ErrRange) {
		return d.fail("the number "+printable(text, shownText)+" is out of range", wanted(v.Type()))
	}
	if err != nil {
		return d.fail("found the number "+printable(text, shownText), wanted(v.Type()))
	}
	return nil
}

// whole drops a fraction of nothing but zeros: in JSON 5.0 is an integer too.
func whole(number string) string {
	integer, fraction, _ := strings.Cut(number, ".")
	if strings.Trim(fraction, "0") == "" {
		return integer
	}
	return number
}

func isNumber(text string) bool {
	v := jsontext.Value(text)
	return v.Kind() == jsontext.KindNumber && v.IsValid()
}

func isInteger(text string) bool {
	return isNumber(text) && !strings.ContainsAny(text, ".eE")
}

// checkValues refuses a string that its type does not list.
func (d *decoding) checkValues(v reflect.Value) error {
	values := valuesOf(v.Type())
	given := v.String()
	if values == nil || slices.Contains(values, given) {
		return nil
	}
	e := d.fail("found "+quoted(given), oneOf(values))
	for _, value := range values {
		if spelling.Folded(value) == spelling.Folded(given) {
			e.Nearest = value
			break
		}
	}
	return e
}

// valuesOf returns what a string type accepts, nil when that is everything.
func valuesOf(t reflect.Type) []string {
	if t.PkgPath() == "" || t.Kind() != reflect.String { // only a defined type has methods
		return nil
	}
	if e, ok := reflect.Zero(t).Interface().(enumerated); ok {
		return e.Values()
	}
	return nil
}
