package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// CheckJSON checks that data is one JSON value in valid UTF-8, without duplicate
// keys or halves of surrogate pairs, nested at most deepest levels. It returns what is
// wrong with it and the JSON pointer of where, both "" when nothing is.
func CheckJSON(data []byte, deepest int) (pointer, problem string) {
	if !utf8.Valid(data) {
		return "", "is not valid UTF-8"
	}
	var value json.RawMessage
	if err := json.Unmarshal(data, &value); err != nil {
		var syntax *json.SyntaxError
		at := len(data)
		if errors.As(err, &syntax) {
			at = min(max(int(syntax.Offset)-1, 0), len(data))
		}
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return "", fmt.Sprintf("is not valid JSON in line %d: %s", line, Shorten(err.Error(), 120))
	}
	if halfSurrogate(data) {
		return "", `has half of a surrogate pair, such as \ud800`
	}
	w := jsonWalk{in: json.NewDecoder(bytes.NewReader(data)), deepest: deepest}
	w.value()
	return Shorten(strings.Join(w.path, ""), 200), w.problem
}

// jsonWalk visits a valid JSON value until it finds a problem.
type jsonWalk struct {
	in      *json.Decoder
	deepest int
	path    []string // "/name" of each value around the current one
	problem string
}

func (w *jsonWalk) value() {
	token, err := w.in.Token()
	delimiter, nested := token.(json.Delim)
	if err != nil || !nested {
		return
	}
	if len(w.path) >= w.deepest {
		w.problem = fmt.Sprintf("is nested more than %d levels deep", w.deepest)
		return
	}
	var keys map[string]bool
	if delimiter == '{' {
		keys = map[string]bool{}
	}
	for i := 0; w.in.More(); i++ {
		name := strconv.Itoa(i)
		if keys != nil {
			key, _ := w.in.Token()
			name, _ = key.(string)
			if keys[name] {
				w.problem = "is a duplicate key"
			}
			keys[name] = true
			name = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
		}
		w.path = append(w.path, "/"+name)
		if w.problem == "" {
			w.value()
		}
		if w.problem != "" {
			return
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, _ = w.in.Token() // the closing bracket; the value is known to be valid
}

// halfSurrogate reports whether a valid JSON value escapes half of a surrogate pair,
// which is no character and is lost by whoever reads it.
func halfSurrogate(data []byte) bool {
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		first := escapedRune(data[i:])
		if utf16.IsSurrogate(first) {
			i += len(`\u0000`)
			if utf16.DecodeRune(first, escapedRune(data[min(i, len(data)):])) == utf8.RuneError {
				return true
			}
			i += len(`u0000`)
			continue
		}
		i++
	}
	return false
}

// escapedRune returns the code unit of the \uXXXX that text begins with, 0 for none.
func escapedRune(text []byte) rune {
	if len(text) < len(`\u0000`) || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	code, _ := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(code)
}
