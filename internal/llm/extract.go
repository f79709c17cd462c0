package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep objects and lists may stand in each other.
const maxDepth = 32

// maxWork bounds the bytes looked at in search of an object, over all attempts.
const maxWork = 8 << 20

// ExtractJSON returns the one JSON object of an answer, as it is written there:
// bare, in a fence, before or after prose. The rule:
//
//   - Thoughts in front, in <think>, do not count.
//   - There is one object, however often it is repeated. Several that differ are
//     refused: nobody here can know which was meant. An empty object counts only
//     when there is no other.
//   - A part is never taken for the whole. An object that begins as JSON and then
//     breaks off or goes wrong is refused, and so is a list of objects: what
//     stands inside is not searched. Braces of prose are passed over.
//   - At most MaxAnswer bytes, 32 levels.
//
// What is returned is valid JSON by its form; duplicate and unknown keys are for
// a strict decoder to judge. The error is an *Error of kind ErrMalformed or
// ErrTooLong.
func ExtractJSON(text string) ([]byte, error) {
	if len(text) > MaxAnswer {
		return nil, &Error{Kind: ErrTooLong, Problem: fmt.Sprintf("more than %d KiB", MaxAnswer>>10), Want: "ask for less"}
	}
	if !utf8.ValidString(text) {
		return nil, unusable("it is not UTF-8")
	}
	s := search{text: withoutThoughts(text), work: maxWork}
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.only()
}

func unusable(problem string) *Error {
	return &Error{Kind: ErrMalformed, Problem: problem, Want: "ask again for one JSON object and nothing else"}
}

// search looks for the objects in a text.
type search struct {
	text  string
	at    int
	work  int // bytes that may still be looked at
	found [][]byte
}

// run collects every object that stands on its own.
func (s *search) run() error {
	for {
		i := strings.IndexAny(s.text[s.at:], "{[")
		if i < 0 {
			return nil
		}
		s.at += i
		length, err := s.value()
		if err != nil {
			return err
		}
		s.at += max(length, 1)
	}
}

// value judges what begins at a brace or bracket. It returns its length, or 0
// when it is prose.
func (s *search) value() (int, error) {
	if !s.begins() {
		return 0, nil
	}
	r := read(s.text[s.at:])
	if s.work -= r.length + minWork; s.work < 0 {
		return 0, unusable("it has too many beginnings of objects")
	}
	object := s.text[s.at] == '{'
	switch {
	case r.state == deep:
		return 0, unusable(fmt.Sprintf("its JSON is more than %d levels deep", maxDepth))
	case r.state == cutOff && (r.keyed || object):
		return 0, unusable("its JSON breaks off")
	case r.state == wrong && r.keyed && object:
		return 0, unusable(fmt.Sprintf("its JSON goes wrong after %d bytes", s.at+r.length))
	case r.state == whole && r.keyed && !object:
		return 0, unusable("it holds a list of objects where one object is wanted")
	case r.state != whole:
		return 0, nil
	}
	if object {
		s.found = append(s.found, []byte(s.text[s.at:s.at+r.length]))
	}
	return r.length, nil
}

// begins reports whether the brace or bracket may open JSON: most of those in
// prose do not.
func (s *search) begins() bool {
	rest := strings.TrimLeft(s.text[s.at+1:min(len(s.text), s.at+1+minWork)], space)
	if rest == "" {
		return true // cut off, or so much space that only reading tells
	}
	if s.text[s.at] == '{' {
		return rest[0] == '"' || rest[0] == '}'
	}
	return strings.IndexByte(`{["]-0123456789tfn`, rest[0]) >= 0
}

// only returns the one object that was found.
func (s *search) only() ([]byte, error) {
	var one []byte
	empty := []byte("{}")
	different := map[string]bool{}
	for _, object := range s.found {
		var compact bytes.Buffer
		if err := json.Compact(&compact, object); err != nil {
			return nil, unusable("its JSON goes wrong")
		}
		if one == nil {
			one = object
		}
		if bytes.Equal(compact.Bytes(), empty) {
			continue
		}
		if len(different) == 0 {
			one = object
		}
		different[compact.String()] = true
	}
	switch {
	case one == nil:
		return nil, unusable("it holds no JSON object")
	case len(different) > 1:
		return nil, unusable(fmt.Sprintf("it holds %d JSON objects that differ", len(different)))
	}
	return one, nil
}

// space is what JSON allows between its parts.
const space = " \t\r\n"

// minWork is what one attempt costs at least: the reader's first buffer.
const minWork = 512

type state int

const (
	whole  state = iota
	cutOff       // valid as far as the text goes
	wrong
	deep
)

// reading is what came of reading a value: how far it went, and whether an
// object in it had at least one key with its colon.
type reading struct {
	state  state
	length int
	keyed  bool
}

// read reads the value that text begins with.
func read(text string) reading {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var r reading
	var open []json.Delim
	for {
		token, err := decoder.Token()
		r.length = int(decoder.InputOffset())
		if err != nil {
			r.state = broken(err)
			return r
		}
		switch token := token.(type) {
		case json.Delim:
			open = balanced(open, token)
		case string:
			r.keyed = r.keyed || open[len(open)-1] == '{' && colonFollows(text[r.length:])
		}
		if len(open) == 0 {
			return r
		}
		if len(open) > maxDepth {
			r.state = deep
			return r
		}
	}
}

// broken tells text that ends too early from text that is no JSON.
func broken(err error) state {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return cutOff
	}
	return wrong
}

// balanced returns what is open after a delimiter. The decoder has seen to it
// that they match.
func balanced(open []json.Delim, delimiter json.Delim) []json.Delim {
	if delimiter == '{' || delimiter == '[' {
		return append(open, delimiter)
	}
	return open[:len(open)-1]
}

func colonFollows(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, space), ":")
}
