package strict

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safetext"
)

// Synonym is another name of a field. It applies in structs that have the field, but neither a field of the other name
// nor any field listed in Unless.
type Synonym struct {
	Key, Field string
	Unless     []string
	True       string // the JSON that true means there; with null, any value is ignored
}

// members holds the members of an object, by field.
type members struct {
	*shape
	given  []given
	order  []int // of the given fields
	strays []stray
}

// given is the input for one field.
type given struct {
	key   string // the key in the input, "" if not given
	value []byte // encoded for the library, nil for null
}

// stray is a member with a key that is not a field's name.
type stray struct {
	key, at  string
	raw      []byte
	meanings []int  // the fields that it may mean
	near     string // else the field with a similar name, or ""
}

// object reads an object as a struct. Members that are not named like a field wait for the end, since their meaning may
// depend on other members.
func (w *walk) object(s *shape) error {
	m := members{shape: s, given: make([]given, len(s.fields))}
	before := len(w.out)
	if err := w.between('{', '}', func() error { return w.member(&m) }); err != nil {
		return err
	}
	if lone, ok := w.packed(&m); ok {
		w.out, w.faults = w.out[:before], nil
		return w.nested(lone.raw, lone.at, false, s.Type)
	}
	for _, s := range m.strays {
		if err := w.place(&m, s); err != nil {
			return err
		}
	}
	w.checkMissing(&m)
	for _, i := range m.order {
		if value := m.given[i].value; value != nil {
			w.name(s.fields[i].name)
			w.out = append(w.out, value...)
		}
	}
	w.end('}')
	return nil
}

// packed reports whether the whole input is inside one unknown field, such as "arguments".
func (w *walk) packed(m *members) (stray, bool) {
	if w.unpacked || w.pointer() != "" || len(m.order) > 0 || len(m.strays) != 1 {
		return stray{}, false
	}
	lone := m.strays[0]
	w.unpacked = jsontext.Value(lone.raw).Kind() == jsontext.KindBeginObject && lone.near == "" &&
		(len(lone.meanings) == 0 || lone.key == "plan")
	return lone, w.unpacked
}

func (w *walk) member(m *members) error {
	if len(w.faults) >= maxFaults { // a null does not reach value, which checks too
		return errEnough
	}
	name, err := w.token()
	if err != nil {
		return err
	}
	key := name.String()
	i := indexOf(m.fields, key)
	if i < 0 {
		if slices.ContainsFunc(m.strays, func(s stray) bool { return s.key == key }) {
			w.fault(duplicate(key))
		}
		s := stray{key: key, at: w.pointer(), meanings: w.meanings(m, key)}
		if len(s.meanings) == 0 {
			s.near = w.unknown(m, key)
		}
		raw, err := w.raw()
		s.raw = bytes.Clone(raw)
		for _, synonym := range w.synonyms {
			if synonym.Key == key && (synonym.True == "null" || synonym.True != "" && string(raw) == "true") {
				s.raw = []byte(synonym.True)
			}
		}
		m.strays = append(m.strays, s)
		return err
	}
	if m.given[i].key != "" {
		w.fault(duplicate(key))
	}
	f, null := m.fields[i], w.in.PeekKind() == jsontext.KindNull
	at := w.pointer()
	value, err := w.kept(f, func() error {
		switch {
		case null && f.optional:
			_, err := w.token()
			return err
		case null:
			return w.mismatch(jsontext.KindNull, f.typ)
		}
		return w.value(f.typ)
	})
	if f.some && strings.TrimSpace(strings.Trim(string(value), `"`)) == "" && value != nil {
		w.blanks = append(w.blanks, at)
	}
	m.give(i, key, value)
	return err
}

func (m *members) give(i int, key string, value []byte) {
	if m.given[i].key == "" {
		m.order = append(m.order, i)
	}
	m.given[i] = given{key, value}
}

// captured returns the output of reading a field's value, and leaves the walk's own output unchanged.
func (w *walk) captured(f field, read func() error) ([]byte, error) {
	out, of := w.out, w.of
	defer func() { w.out, w.of = out, of }()
	w.out, w.of = nil, f
	err := read()
	return w.out, err
}

// kept is captured, but returns nil for a wholly wrong value if faulty parts are left out.
func (w *walk) kept(f field, read func() error) ([]byte, error) {
	faults, s := len(w.faults), w.shape(f.typ)
	value, err := w.captured(f, read)
	byParts := s.Kind() == reflect.Struct || s.Kind() == reflect.Slice && w.shape(s.Elem()).Kind() == reflect.Struct
	if w.partly && len(w.faults) > faults && !byParts {
		value = nil
	}
	return value, err
}

// meanings lists the fields that a key may mean.
func (w *walk) meanings(m *members, key string) []int {
	var all []int
	for _, s := range w.synonyms {
		if s.Key != key || key == "" {
			continue
		}
		has := func(name string) bool { return indexOf(m.fields, name) >= 0 }
		if i := indexOf(m.fields, s.Field); i >= 0 && !slices.ContainsFunc(s.Unless, has) {
			all = append(all, i)
		}
	}
	return all
}

// place assigns a stray to the field that it means, or records why it cannot.
func (w *walk) place(m *members, s stray) error {
	all := s.meanings
	free := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return m.given[i].key != "" })
	switch {
	case len(all) == 0:
		if !w.useNearest(m, s) && !w.keep(m, s) {
			w.lost = append(w.lost, s.key)
		}
		return nil
	case len(free) == 0 && w.shape(m.fields[all[0]].typ).Kind() == reflect.Slice && w.append(m, s, all[0]):
		return nil
	case len(free) == 0:
		w.twice(m, s, all[len(all)-1])
		return nil
	}
	if fits := slices.IndexFunc(free, func(i int) bool { _, ok := w.reads(m.fields[i], s); return ok }); fits > 0 {
		free = free[fits:]
	}
	f := m.fields[free[0]]
	if string(s.raw) == "null" {
		return nil
	}
	value, err := w.kept(f, func() error { return w.nested(s.raw, s.at, false, f.typ) })
	m.give(free[0], s.key, value)
	return err
}

// reads reports whether a stray can be read as the value of a field, and returns it with placeholders for its faults;
// nil if unreadable.
func (w *walk) reads(f field, s stray) ([]byte, bool) {
	if string(s.raw) == "null" {
		return nil, f.optional
	}
	faults, items := len(w.faults), w.items
	value, err := w.captured(f, func() error { return w.nested(s.raw, s.at, false, f.typ) })
	fits := err == nil && len(w.faults) == faults
	w.faults, w.items = w.faults[:faults], items
	if err != nil {
		return nil, false
	}
	return value, fits
}

// twice refuses a stray for a field that is already given, unless both values are equal.
func (w *walk) twice(m *members, s stray, i int) {
	f, g := m.fields[i], m.given[i]
	value, fits := w.reads(f, s)
	if string(s.raw) == "null" || fits && same(f.typ, value, g.value) {
		return
	}
	e := w.fault("given twice, as "+quoted(g.key)+" and as "+quoted(s.key), strconv.Quote(f.name)+" alone")
	if e.Pointer = s.at; !w.partly {
		m.given[i].value = w.blank(f.typ, f.label)
	}
}

func same(t reflect.Type, a, b []byte) bool {
	one, other := reflect.New(t), reflect.New(t)
	return json.Unmarshal(a, one.Interface()) == nil && json.Unmarshal(b, other.Interface()) == nil &&
		reflect.DeepEqual(one.Interface(), other.Interface())
}

// listedNames bounds the fields listed for an unknown key; with more fields, only the nearest is named.
const listedNames = 8

// unknown refuses a key that means no field, and returns the field with a similar name, or "".
func (w *walk) unknown(m *members, key string) (near string) {
	e := w.fault("unknown field "+quoted(key), "no fields here")
	names := m.names()
	if e.Nearest = safetext.Nearest(key, names); e.Nearest != "" {
		e.Want = strconv.Quote(e.Nearest)
	} else if len(names) > listedNames {
		e.Want = "a known field"
		if near := safetext.Related(key, names); near != "" {
			e.Want += ", such as " + strconv.Quote(near)
		}
	} else if len(names) > 0 {
		e.Want = oneOf(names)
	}
	return e.Nearest
}

// append adds a stray to the list of texts that its field has been given under another name of it.
func (w *walk) append(m *members, s stray, i int) bool {
	f := m.fields[i]
	value, fits := w.reads(f, s)
	if !fits || w.shape(f.typ).Elem() != reflect.TypeFor[string]() || m.given[i].key == f.name || value == nil {
		return false
	}
	value = slices.Concat(bytes.TrimSuffix(m.given[i].value, []byte("]")), []byte(","), value[1:])
	m.given[i].value = value
	return true
}

// keep adds the text of an unknown key to the field for the rest, for the corrected input. It reports whether nothing is
// lost.
func (w *walk) keep(m *members, s stray) bool {
	kind := jsontext.Value(s.raw).Kind()
	if kind == 'n' || s.key == "status" && indexOf(m.fields, "title") >= 0 { // a new step has none
		return true
	}
	i := slices.IndexFunc(m.fields, func(f field) bool { return f.rest })
	if i < 0 || w.partly || kind == 't' || kind == 'f' || kind == '{' {
		return false
	}
	text := excerpt(s.key, shownText) + ": " + prose(s.raw)
	var before string
	if json.Unmarshal(m.given[i].value, &before) == nil && before != "" {
		text = before + "; " + text
	}
	m.give(i, m.fields[i].name, quote(text))
	return true
}

// useNearest uses the value of an unknown key for the field with a similar name, for the corrected input. It reports whether
// there is one.
func (w *walk) useNearest(m *members, s stray) bool {
	i := indexOf(m.fields, s.near)
	if i < 0 || m.given[i].key != "" {
		return false
	}
	switch value, fits := w.reads(m.fields[i], s); {
	case fits || value != nil && !w.partly:
		m.give(i, s.key, value)
	case !w.partly:
		m.give(i, s.key, w.blank(m.fields[i].typ, m.fields[i].label))
	}
	return true
}

func (m *members) names() (names []string) {
	for _, f := range m.fields {
		if !f.unlisted {
			names = append(names, f.name)
		}
	}
	return names
}

func (w *walk) checkMissing(m *members) {
	for i, f := range m.fields {
		if m.given[i].key != "" {
			continue
		}
		at := string(jsontext.Pointer(w.pointer()).AppendToken(f.name))
		_, open := w.open[at]
		switch {
		case open:
			w.opened++
		case f.optional:
			continue
		default:
			w.fault("missing required field "+strconv.Quote(f.name), wanted(f.typ)).Pointer = at
		}
		if !w.partly {
			m.give(i, f.name, w.blank(f.typ, f.label))
		}
	}
}
