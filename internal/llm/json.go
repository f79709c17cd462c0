package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

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
//   - At most MaxAnswer bytes.
//
// What is returned is valid JSON by its form; its depth, duplicate and unknown keys
// are for a strict decoder to judge. The error is an *Error of kind ErrMalformed.
func ExtractJSON(text string) ([]byte, error) {
	if len(text) > MaxAnswer {
		return nil, notOneObject(fmt.Sprintf("it has more than %d KiB", MaxAnswer>>10))
	}
	if !utf8.ValidString(text) {
		return nil, notOneObject("it is not UTF-8")
	}
	s := search{text: withoutThoughts(text), work: maxWork}
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.only()
}

func notOneObject(problem string) *Error {
	return &Error{Kind: ErrMalformed, Problem: problem, Want: "ask again for one JSON object and nothing else"}
}

const (
	// maxWork bounds the bytes looked at in search of an object, over all attempts.
	maxWork = 8 << 20
	// minWork is what one attempt costs at least: the decoder's first buffer.
	minWork = 512
	// space is what JSON allows between its parts.
	space = " \t\r\n"
)

// keyed matches where an object has a key with its colon: there it is no prose.
var keyed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[ \t\r\n]*"(?:[^"\\]|\\.)*"[ \t\r\n]*:`) })

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
	rest := s.text[s.at:]
	if !mayBegin(rest) {
		return 0, nil
	}
	object := rest[0] == '{'
	decoder := json.NewDecoder(strings.NewReader(rest))
	var value json.RawMessage
	err := decoder.Decode(&value)
	looked := len(rest)
	var wrong *json.SyntaxError
	switch {
	case err == nil:
		looked = len(value)
	case errors.As(err, &wrong):
		looked = min(int(wrong.Offset), len(rest))
	}
	if s.work -= looked + minWork; s.work < 0 {
		return 0, notOneObject("too many objects begin in it")
	}
	switch {
	case err == nil && object:
		s.found = append(s.found, value)
	case err == nil && keyed().Match(value):
		return 0, notOneObject("it holds a list of objects where one object is expected")
	case err == nil:
	case wrong != nil && object && begins(keyed(), rest[:looked]):
		return 0, notOneObject(fmt.Sprintf("its JSON is invalid after %d bytes", s.at+looked))
	case wrong == nil && (object || keyed().MatchString(rest)):
		return 0, notOneObject("its JSON is cut short")
	default:
		return 0, nil
	}
	return looked, nil
}

// mayBegin reports whether the brace or bracket that text begins with may open
// JSON: most of those in prose do not.
func mayBegin(text string) bool {
	rest := strings.TrimLeft(text[1:min(len(text), 1+minWork)], space)
	if rest == "" {
		return true // cut off, or so much space that only reading tells
	}
	if text[0] == '{' {
		return rest[0] == '"' || rest[0] == '}'
	}
	return strings.IndexByte(`{["]-0123456789tfn`, rest[0]) >= 0
}

func begins(pattern *regexp.Regexp, text string) bool {
	at := pattern.FindStringIndex(text)
	return at != nil && at[0] == 0
}

// only returns the one object that was found.
func (s *search) only() ([]byte, error) {
	var one []byte
	different := map[string]bool{}
	for _, object := range s.found {
		var compact bytes.Buffer
		if err := json.Compact(&compact, object); err != nil {
			return nil, notOneObject("its JSON is invalid")
		}
		empty := compact.String() == "{}"
		if one == nil || !empty && len(different) == 0 {
			one = object
		}
		if !empty {
			different[compact.String()] = true
		}
	}
	switch {
	case one == nil:
		return nil, notOneObject("it holds no JSON object")
	case len(different) > 1:
		return nil, notOneObject(fmt.Sprintf("it holds %d JSON objects that differ", len(different)))
	}
	return one, nil
}
