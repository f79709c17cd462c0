package strict

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/spelling"
)

// object decodes a JSON object into a struct.
func (d *decoding) object(v reflect.Value) error {
	if _, err := d.token(); err != nil {
		return err
	}
	fields := d.fieldsOf(v.Type())
	given := make([]string, len(fields)) // the key that gave each field
	for {
		if end, err := d.ended(jsontext.KindEndObject); err != nil {
			return err
		} else if end {
			return d.checkMissing(v, fields, given)
		}
		name, err := d.token()
		if err != nil {
			return err
		}
		if err := d.member(v, fields, given, name.String()); err != nil {
			return err
		}
	}
}

// member decodes the value of one key into the field it names.
func (d *decoding) member(v reflect.Value, fields []field, given []string, key string) error {
	d.enterKey(key)
	i := d.lookup(fields, key)
	if i < 0 {
		return d.unknown(fields, key)
	}
	f := fields[i]
	if given[i] != "" {
		return d.fail("given twice, as "+quoted(given[i])+" and as "+quoted(key), strconv.Quote(f.name)+" alone")
	}
	given[i] = key
	if err := d.fieldValue(v, f); err != nil {
		return err
	}
	d.leave()
	return nil
}

func (d *decoding) fieldValue(v reflect.Value, f field) error {
	if d.in.PeekKind() != jsontext.KindNull {
		return d.value(f.in(v))
	}
	if f.optional {
		_, err := d.token()
		return err
	}
	return d.mismatch(jsontext.KindNull, f.typ)
}

// lookup returns the index of the field a key names, itself or as an alias, or -1.
func (d *decoding) lookup(fields []field, key string) int {
	if i := indexOf(fields, key); i >= 0 || key == "" {
		return i
	}
	if ours, ok := d.opts.Aliases[key]; ok {
		return indexOf(fields, ours)
	}
	return -1
}

func (d *decoding) unknown(fields []field, key string) error {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	e := d.fail("unknown field "+quoted(key), "no fields here")
	if e.Nearest = spelling.Nearest(key, names); e.Nearest != "" {
		e.Want = strconv.Quote(e.Nearest)
	} else if len(names) > 0 {
		e.Want = oneOf(names)
	}
	return e
}

func (d *decoding) checkMissing(v reflect.Value, fields []field, given []string) error {
	for i, f := range fields {
		if f.optional || given[i] != "" || f.absent(v) {
			continue
		}
		d.enterKey(f.name)
		return d.fail("missing required field "+strconv.Quote(f.name), wanted(f.typ))
	}
	return nil
}

// mapping decodes a JSON object into a map.
func (d *decoding) mapping(v reflect.Value) error {
	if _, err := d.token(); err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	for {
		if end, err := d.ended(jsontext.KindEndObject); err != nil || end {
			return err
		}
		if err := d.entry(v); err != nil {
			return err
		}
	}
}

func (d *decoding) entry(v reflect.Value) error {
	name, err := d.token()
	if err != nil {
		return err
	}
	d.enterKey(name.String())
	if err := d.countItem(); err != nil {
		return err
	}
	key := reflect.New(v.Type().Key()).Elem()
	if err := d.text(key, name.String()); err != nil {
		return err
	}
	elem := reflect.New(v.Type().Elem()).Elem()
	if err := d.value(elem); err != nil {
		return err
	}
	v.SetMapIndex(key, elem)
	d.leave()
	return nil
}

// list decodes into a slice: an array, an array in a string, or a single element
// where nothing else can be meant.
func (d *decoding) list(v reflect.Value, kind jsontext.Kind) error {
	if kind == jsontext.KindBeginArray {
		return d.array(v)
	}
	one := reflect.MakeSlice(v.Type(), 1, 1)
	elem := allocated(one.Index(0))
	self := decodesItself(elem) && !isRaw(elem)
	var err error
	switch {
	case kind == jsontext.KindString:
		return d.listText(v, one, self)
	case self, kind == jsontext.KindBeginObject && elem.Kind() == reflect.Struct:
		err = d.value(one.Index(0))
	default:
		return d.mismatch(kind, v.Type())
	}
	if err != nil {
		return err
	}
	v.Set(one)
	return nil
}

// listText decodes a string into a slice; one is a slice with a single element.
// A string that looks like an array is never taken for an element.
func (d *decoding) listText(v, one reflect.Value, self bool) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	text, _ := textOf(raw)
	elem := allocated(one.Index(0))
	takesText := self || elem.Kind() == reflect.String
	trimmed := trimSpace(string(text))
	switch {
	case strings.HasPrefix(trimmed, "["), strings.HasPrefix(trimmed, "{") && !takesText:
		return d.quotedDocument(trimmed, v)
	case !takesText, trimmed == "", trimmed == "null":
		return d.mismatchText(string(text), v.Type())
	case self:
		err = d.selfRaw(elem, raw)
	default:
		err = d.text(elem, string(text))
	}
	if err != nil {
		return err
	}
	v.Set(one)
	return nil
}

func (d *decoding) array(v reflect.Value) error {
	if _, err := d.token(); err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := 0; ; i++ {
		if end, err := d.ended(jsontext.KindEndArray); err != nil || end {
			return err
		}
		d.enterIndex(i)
		if err := d.countItem(); err != nil {
			return err
		}
		v.Grow(1)
		v.SetLen(i + 1)
		if err := d.value(v.Index(i)); err != nil {
			return err
		}
		d.leave()
	}
}

func (d *decoding) countItem() error {
	d.items++
	if d.items <= d.opts.MaxItems {
		return nil
	}
	return d.fail("too many list elements and map entries", fmt.Sprintf("at most %d in all", d.opts.MaxItems))
}
