package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Object returns the only JSON object in an answer, exactly as written: bare, in a fence, before or after
// prose.
//
//   - A leading <think> block is ignored.
//   - The object may be repeated. If two objects differ, nothing is returned, because the intended one is unknown.
//     An empty object counts only if it is the only one.
//   - A part is never returned for the whole: an object that starts as valid JSON and then breaks off or has an
//     error, and a list of objects, are refused. Braces in prose are skipped.
//   - An answer longer than MaxAnswer bytes, or not valid UTF-8, is refused.
//
// The result is syntactically valid JSON; a strict decoder must check depth, duplicate keys and unknown keys.
func Object(text string) (object []byte, ok bool) {
	if len(text) > MaxAnswer || !utf8.ValidString(text) {
		return nil, false
	}
	s := search{text: withoutThoughts(text), work: maxWork}
	if !s.run() {
		return nil, false
	}
	return s.only()
}

// withoutThoughts removes the thoughts that some models write before the answer. Unclosed thoughts mean that
// there was no answer.
func withoutThoughts(text string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "<think>")
	if !ok {
		return text
	}
	_, answer, _ := strings.Cut(rest, "</think>")
	return answer
}

const (
	maxWork = 8 << 20   // bytes examined in the search for an object, over all attempts
	minWork = 512       // least bytes charged for one attempt: the decoder's first buffer
	space   = " \t\r\n" // white space in JSON
)

// keyed matches an object's opening brace, first key and colon, which is JSON and not prose.
var keyed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[ \t\r\n]*"(?:[^"\\]|\\.)*"[ \t\r\n]*:`) })

// search looks for the objects in a text.
type search struct {
	text  string
	at    int
	work  int // bytes that may still be examined
	found [][]byte
}

// run collects every top-level object. It returns false if the text has a list of objects or broken JSON.
func (s *search) run() bool {
	for {
		i := strings.IndexAny(s.text[s.at:], "{[")
		if i < 0 {
			return true
		}
		s.at += i
		length, ok := s.value()
		if !ok {
			return false
		}
		s.at += max(length, 1)
	}
}

// value returns the length of the value at a brace or bracket, or 0 for prose. It returns false if the whole
// text must be refused.
func (s *search) value() (length int, ok bool) {
	rest := s.text[s.at:]
	if !mayBegin(rest) {
		return 0, true
	}
	isObject := rest[0] == '{'
	var value json.RawMessage
	err := json.NewDecoder(strings.NewReader(rest)).Decode(&value)
	looked := len(rest)
	var wrong *json.SyntaxError
	switch {
	case err == nil:
		looked = len(value)
	case errors.As(err, &wrong):
		looked = min(int(wrong.Offset), len(rest))
	}
	if s.work -= looked + minWork; s.work < 0 {
		return 0, false
	}
	switch {
	case err == nil && isObject:
		s.found = append(s.found, value)
		return looked, true
	case err == nil:
		return looked, !keyed().Match(value) // a list of objects
	case wrong != nil:
		return 0, !isObject || !begins(keyed(), rest[:looked]) // invalid JSON
	}
	return 0, !isObject && !keyed().MatchString(rest) // cut short
}

// mayBegin reports whether the brace or bracket at the start of text can open JSON. Most in prose cannot.
func mayBegin(text string) bool {
	rest := strings.TrimLeft(text[1:min(len(text), 1+minWork)], space)
	if rest == "" {
		return true // cut off, or too much space to tell without decoding
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

// only returns the object found, unless there are different ones.
func (s *search) only() (one []byte, ok bool) {
	different := map[string]bool{}
	for _, object := range s.found {
		var compact bytes.Buffer
		if err := json.Compact(&compact, object); err != nil {
			return nil, false
		}
		empty := compact.String() == "{}"
		if one == nil || !empty && len(different) == 0 {
			one = object
		}
		if !empty {
			different[compact.String()] = true
		}
	}
	if len(different) > 1 {
		return nil, false
	}
	return one, one != nil
}
