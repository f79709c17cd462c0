package splice

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"
)

// kind is what a value is.
type kind string

const (
	null   kind = "nothing"
	scalar kind = "a single value"
	list   kind = "a list"
	object kind = "an object"
)

// node is a value of a document, and where it stands; or one that is to be written.
type node struct {
	kind       kind
	key        string // its name in the object that it is a member of
	begin      int    // of its name, or of the value in a list
	start, end int    // of the value
	value      any    // of a scalar: string, bool, int64, float64 or literal
	raw        string // a scalar as the document writes it; "" if it is to be written
	parent     *node
	children   []*node // members of an object, elements of a list
	implied    bool    // no text of its own says that it is there, but what is in it does
	form       form    // in TOML and YAML
	lines      []span  // in TOML: the statements that say something of it itself; in YAML: the lines of an entry
	colon      int     // in YAML: behind the colon or dash of an entry; -1
}

// form is how a value of TOML or YAML is written.
type form int

const (
	inline  form = iota // behind its key, in brackets or single
	table               // TOML: by headers, its own or of what is in it
	dotted              // TOML: by the dotted keys of what is in it
	entries             // TOML: a list of tables with double brackets
	block               // YAML: by indentation
)

// span is a part of a text: whole lines, without the indentation of the first and the last line break.
type span struct{ start, end int }

// literal is a scalar that no type of JSON holds, as it is written: a date.
type literal string

// build returns a value as it is to be written.
func build(value any) (*node, error) {
	n := &node{kind: scalar, value: value}
	switch v := value.(type) {
	case nil:
		n.kind = null
	case bool, int64:
	case error:
		return nil, v
	case int:
		n.value = int64(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is no number that every format writes", v)
		}
	case string:
		return n, wellFormed(v)
	case []any:
		n.kind, n.value = list, nil
		return n, n.build(len(v), func(i int) Member { return Member{"", v[i]} })
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		n.kind, n.value = object, nil
		return n, n.build(len(v), func(i int) Member { return Member{names[i], v[names[i]]} })
	case Object:
		n.kind, n.value = object, nil
		return n, n.build(len(v), func(i int) Member { return v[i] })
	default:
		return nil, fmt.Errorf("a value of type %T cannot be written", value)
	}
	return n, nil
}

func (n *node) build(count int, member func(int) Member) error {
	for i := range count {
		m := member(i)
		child, err := build(m.Value)
		if err = errors.Join(err, wellFormed(m.Key)); err != nil {
			return err
		}
		if n.kind == object && len(n.named(m.Key)) > 0 {
			return fmt.Errorf("%q is to be written twice", m.Key)
		}
		child.key = m.Key
		n.add(child)
	}
	return nil
}

func wellFormed(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%q is not UTF-8", text)
	}
	return nil
}

// plain returns a value as Go has it. Of members of one name the last counts.
func (n *node) plain() any {
	switch n.kind {
	case null:
		return nil
	case object:
		members := map[string]any{}
		for _, m := range n.children {
			members[m.key] = m.plain()
		}
		return members
	case list:
		elements := []any{}
		for _, e := range n.children {
			elements = append(elements, e.plain())
		}
		return elements
	}
	if l, ok := n.value.(literal); ok {
		return string(l)
	}
	return n.value
}

// equal reports whether two values say the same. Two that were read are written alike as
// well, so that numbers keep their digits. The order of members says nothing.
func (n *node) equal(other *node) bool {
	if n.kind != other.kind || len(n.children) != len(other.children) {
		return false
	}
	if n.kind == scalar {
		if n.raw != "" && other.raw != "" {
			return n.raw == other.raw && reflect.TypeOf(n.value) == reflect.TypeOf(other.value)
		}
		return n.value == other.value
	}
	if n.raw != other.raw && n.kind != null { // anchors and tags
		return false
	}
	if n.kind != object {
		return slices.EqualFunc(n.children, other.children, (*node).equal)
	}
	others := map[string][]*node{}
	for _, m := range other.children {
		others[m.key] = append(others[m.key], m)
	}
	for _, m := range n.children {
		same := others[m.key]
		if len(same) == 0 || !m.equal(same[0]) {
			return false
		}
		others[m.key] = same[1:]
	}
	return true
}

func (n *node) clone() *node {
	twin := *n
	twin.children = nil
	for _, child := range n.children {
		twin.add(child.clone())
	}
	return &twin
}

func (n *node) add(child *node) {
	child.parent = n
	n.children = append(n.children, child)
}

// leave takes a value out of what holds it, and that too if nothing says any more that it is there.
func (n *node) leave() {
	at := slices.Index(n.parent.children, n)
	n.parent.children = slices.Delete(n.parent.children, at, at+1)
	switch {
	case !n.parent.implied || len(n.parent.children) > 0:
	case n.parent.parent == nil:
		n.parent.kind = null
	default:
		n.parent.leave()
	}
}

// become takes over what another says, and stays where it is.
func (n *node) become(other *node) {
	n.kind, n.value, n.raw, n.children = other.kind, other.value, other.raw, other.children
}

// named returns the members of an object with a name.
func (n *node) named(key string) []*node {
	var found []*node
	if n.kind != object {
		return nil
	}
	for _, m := range n.children {
		if m.key == key {
			found = append(found, m)
		}
	}
	return found
}

// name returns what a value is called in messages.
func (n *node) name() string {
	switch {
	case n.parent == nil:
		return "the document"
	case n.parent.kind == list:
		return "an element of " + n.parent.name()
	}
	return fmt.Sprintf("%q", n.key)
}

func (n *node) root() *node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}
