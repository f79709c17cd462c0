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
	In         string // the member that the value is of, such as add
}

// members holds the members of an object, by field.
type members struct {
	*shape
	given  []given
	order  []int // of the given fields
	strays []stray
	word   stray // the text given for a field that is true or false
	words  int   // number of such texts
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
	if err := w.spread(&m); err != nil {
		return err
	}
	var unknown []stray
	for _, s := range m.strays {
		if len(s.meanings) == 0 && s.near == "" {
			unknown = append(unknown, s)
		} else if err := w.place(&m, s); err != nil {
			return err
		}
	}
	w.refuse(&m, unknown)
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
	if w.unpacked || w.pointer() != "" || len(m.order) > 0 || len(m.strays) != 1 || len(m.fields) == 0 {
		return stray{}, false
	}
	lone := m.strays[0]
	var list []jsontext.Value
	if json.Unmarshal(lone.raw, &list) == nil && len(list) == 1 && !w.mayHold(m, lone) {
		lone.raw = list[0]
	}
	w.unpacked = jsontext.Value(lone.raw).Kind() == jsontext.KindBeginObject && lone.near == "" &&
		(!w.mayHold(m, lone) || lone.key == "plan")
	return lone, w.unpacked
}

// mayHold reports whether a key may mean a field that holds other values.
func (w *walk) mayHold(m *members, s stray) bool {
	return slices.ContainsFunc(s.meanings, func(i int) bool {
		shape := w.shape(m.fields[i].typ)
		return !shape.self && slices.Contains([]reflect.Kind{reflect.Slice, reflect.Struct, reflect.Map}, shape.Kind())
	})
}

// spread reads the members of an object in an unknown field, such as "fields", as members of the object around it, if they
// all have a meaning there.
func (w *walk) spread(m *members) error {
	strays := m.strays
	m.strays = nil
	for _, s := range strays {
		var inside map[string]jsontext.Value
		known := !w.mayHold(m, s) && s.near == "" && json.Unmarshal(s.raw, &inside) == nil && len(inside) > 0
		for key := range inside {
			known = known && (indexOf(m.fields, key) >= 0 || len(w.meanings(m, key)) > 0)
		}
		if !known {
			m.strays = append(m.strays, s)
			continue
		}
		in, outer, depth := w.in, w.outer, w.depth
		w.depth += in.StackDepth()
		w.in, w.outer = jsontext.NewDecoder(bytes.NewReader(s.raw), jsontext.AllowDuplicateNames(true)), s.at
		err := w.between(0, '}', func() error { return w.member(m) })
		if w.in, w.outer, w.depth = in, outer, depth; err != nil {
			return err
		}
	}
	return nil
}

// refuse records the keys without a meaning. The corrected input has a value among theirs for a missing field that takes only
// certain words or decides itself, such as an id, and keeps the others as text.
func (w *walk) refuse(m *members, unknown []stray) {
	if len(unknown) == 0 {
		return
	}
	e, names, keys := w.fault("", "no fields here"), m.names(), make([]string, len(unknown))
	e.Pointer = unknown[0].at
	for i, s := range unknown {
		keys[i] = quoted(s.key)
	}
	if e.Problem = "unknown field " + keys[0]; len(keys) > 1 {
		e.Problem = "unknown fields " + strings.Join(keys[:min(len(keys), listedNames)], ", ")
	}
	if len(names) > listedNames {
		e.Want = "a known field"
		if near := safetext.Related(unknown[0].key, names); near != "" {
			e.Want += ", such as " + strconv.Quote(near)
		}
	} else if len(names) > 0 {
		e.Want = oneOf(names)
	}
	for i, f := range m.fields {
		if s := w.shape(f.typ); m.given[i].key != "" || f.optional && !f.needed || s.values == nil && !s.self {
			continue
		}
		fits := func(s stray) bool {
			_, ok := w.reads(f, s)
			named := s.raw[0] == '"' || strings.HasSuffix(s.key, "number") || strings.HasSuffix(strings.ToLower(s.key), "id")
			return ok && named && string(s.raw) != "null"
		}
		at := slices.IndexFunc(unknown, fits)
		if at < 0 || slices.ContainsFunc(unknown[at+1:], fits) {
			continue
		}
		value, _ := w.reads(f, unknown[at])
		if word, isText := textOf(value); !isText || w.shape(f.typ).values != nil && !slices.Contains(w.shape(f.typ).values, string(word)) {
			continue
		}
		m.give(i, unknown[at].key, value)
		unknown = slices.Delete(slices.Clone(unknown), at, at+1)
	}
	for _, s := range unknown {
		if !w.keep(m, s) {
			w.lost = append(w.lost, s.key)
		}
	}
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
			if s.near = safetext.Nearest(key, m.names()); s.near != "" {
				w.fault("unknown field "+quoted(key), strconv.Quote(s.near)).Nearest = s.near
			}
		}
		kind := w.in.PeekKind()
		raw, err := w.raw()
		s.raw = bytes.Clone(raw)
		for _, synonym := range w.synonyms {
			switch {
			case synonym.Key != snakeCase(key):
			case synonym.True == "null", synonym.True != "" && string(raw) == "true":
				s.raw = []byte(synonym.True)
			case synonym.In != "" && kind != jsontext.KindBeginObject:
				s.raw = slices.Concat([]byte("{"), quote(synonym.In), []byte(":"), raw, []byte("}"))
			}
		}
		m.strays = append(m.strays, s)
		return err
	}
	if m.given[i].key != "" {
		w.fault(duplicate(key))
	}
	f, null := m.fields[i], w.in.PeekKind() == jsontext.KindNull
	at, faults := w.pointer(), len(w.faults)
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
	if len(w.faults) == faults+1 && w.faults[faults].Given != "" && w.shape(f.typ).Kind() == reflect.Bool {
		m.word, m.words = stray{key: key, at: at, raw: quote(w.faults[faults].Given)}, m.words+1
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
	snake := snakeCase(key)
	if i := indexOf(m.fields, snake); i >= 0 && snake != key && w.synonyms != nil {
		return []int{i}
	}
	for _, s := range w.synonyms {
		if s.Key != snake || key == "" {
			continue
		}
		has := func(name string) bool { return indexOf(m.fields, name) >= 0 }
		if i := indexOf(m.fields, s.Field); i >= 0 && !slices.ContainsFunc(s.Unless, has) {
			all = append(all, i)
		}
	}
	return all
}

// snakeCase returns a key in the spelling of our fields: stepId as step_id.
func snakeCase(key string) string {
	var b strings.Builder
	for i, r := range key {
		if i > 0 && r >= 'A' && r <= 'Z' && key[i-1] >= 'a' && key[i-1] <= 'z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
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
	var inside map[string]jsontext.Value
	_ = json.Unmarshal(s.raw, &inside) // an object or none
	for key := range inside {
		if indexOf(m.fields, key) >= 0 || len(w.meanings(m, key)) > 0 {
			return false
		}
	}
	if kind == 'n' || s.key == "status" && indexOf(m.fields, "title") >= 0 { // a new step has none
		return true
	}
	i := slices.IndexFunc(m.fields, func(f field) bool { return f.rest })
	if i < 0 || w.partly || kind == 't' || kind == 'f' {
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
		case w.complete && m.asks && f.needed:
		case f.optional:
			continue
		case m.words == 1 && w.shape(f.typ).Kind() == reflect.String && w.shape(f.typ).values == nil: // {"clear":"ci"}
			w.faults = slices.DeleteFunc(w.faults, func(e *Error) bool { return e.Pointer == m.word.at })
			m.given[indexOf(m.fields, m.word.key)].value, m.words = []byte("true"), 0
			m.give(i, m.word.key, m.word.raw)
			continue
		default:
			w.fault(missing+strconv.Quote(f.name), wanted(f.typ)).Pointer = at
		}
		if !w.partly {
			m.give(i, f.name, w.blank(f.typ, f.label))
		}
	}
}
