package hosts

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// settingsTOML has the tables and keys of a TOML file, by joined path, with their values as written. The value of a table is
// its bracket.
type settingsTOML map[string]string

// joinKey returns a path as a key of settingsTOML.
func joinKey(path ...string) string { return strings.Join(path, "\x00") }

// Limits on the paths in a file. Every path is kept whole, so a long header costs memory again for each key below it.
const (
	maxParts = 32
	maxPath  = 4 << 10 // bytes
	maxPaths = 8 << 20 // bytes of all paths
)

var (
	tokenTOML = regexp.MustCompile(`(?s)"""(?:[^\\]|\\.)*?"{3,5}|'''.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[ \t\r]+|[\w-]+|.`)
	bareTOML  = regexp.MustCompile(`^[\w-]+$`)
)

// readerTOML collects the settings of a file.
type readerTOML struct {
	all   settingsTOML
	size  int            // of all paths
	lists map[string]int // the tables so far in each list of tables
}

// readTOML reads the parts of a TOML file that planloop needs, and refuses anything ambiguous.
func readTOML(text []byte) (settingsTOML, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	var tokens []string
	for _, token := range tokenTOML.FindAllString(strings.TrimPrefix(string(text), byteOrderMark), -1) {
		if token == `"` || token == `'` {
			return nil, errors.New("a string does not end")
		}
		if token[0] != '#' && strings.Trim(token, " \t\r") != "" {
			tokens = append(tokens, token)
		}
	}
	lines, err := splitTokens(tokens, "\n")
	in, table := readerTOML{all: settingsTOML{}, lists: map[string]int{}}, []string(nil)
	for _, line := range lines {
		switch {
		case err != nil || len(line) == 0:
		case line[0] != "[":
			err = in.add(table, line)
		default: // a header, of a table or of one of a list
			brackets := 1
			if line[1] == "[" {
				brackets = 2
			}
			if table, err = keyTOML(line[brackets:max(brackets, len(line)-brackets)]); err == nil {
				table = in.element(table, brackets == 2)
				err = in.set(table, strings.Repeat("[", brackets))
			}
		}
	}
	return in.all, err
}

// splitTokens cuts tokens at separators outside brackets.
func splitTokens(tokens []string, separator string) (parts [][]string, err error) {
	const maxOpen = 100
	start, open := 0, ""
	for i, token := range tokens {
		switch {
		case token == "[" || token == "{":
			open += token
		case token == "]" || token == "}":
			if !strings.HasSuffix(open, map[string]string{"]": "[", "}": "{"}[token]) {
				return nil, fmt.Errorf("a %s has no beginning", token)
			}
			open = open[:len(open)-1]
		case token == separator && open == "":
			parts, start = append(parts, tokens[start:i]), i+1
		}
		if len(open) > maxOpen {
			return nil, errors.New("it is nested too deep")
		}
	}
	if open != "" {
		return nil, errors.New("a bracket does not end")
	}
	return append(parts, tokens[start:]), nil
}

// keyTOML returns the path that a key names.
func keyTOML(tokens []string) (path []string, err error) {
	for i, token := range append(slices.Clone(tokens), ".") {
		if i%2 == 1 && token == "." {
			continue
		}
		word, ok := wordTOML(token)
		if i%2 == 1 || !ok {
			return nil, fmt.Errorf("%.40q is not a key", strings.Join(tokens, ""))
		}
		path = append(path, word)
	}
	return path, nil
}

// wordTOML returns a bare word, or the text of a one-line string.
func wordTOML(token string) (text string, ok bool) {
	switch token[0] {
	case '"': // a string of several lines is not ok
		text, err := strconv.Unquote(token)
		return text, err == nil
	case '\'':
		return strings.Trim(token, "'"), !strings.HasPrefix(token, "'''")
	}
	return token, bareTOML.MatchString(token)
}

// text returns the one-line string at a path, "" if the path has none.
func (all settingsTOML) text(path ...string) string {
	if value := all[joinKey(path...)]; value != "" {
		text, _ := wordTOML(value)
		return text
	}
	return ""
}

// element is the path of a table with the number of each list's last table in it. isList begins the next table of a list.
func (r *readerTOML) element(table []string, isList bool) (path []string) {
	for i, name := range table {
		path = append(path, name)
		key := joinKey(path...)
		if isList && i == len(table)-1 {
			r.lists[key]++
		}
		if n := r.lists[key]; n > 0 {
			path = append(path, strconv.Itoa(n))
		}
	}
	return path
}

// set records the value at a path, which no other key may have.
func (r *readerTOML) set(path []string, value string) error {
	key := joinKey(path...)
	if r.size += len(key); len(path) > maxParts || len(key) > maxPath || r.size > maxPaths {
		return fmt.Errorf("its keys are too long, nested too deep, or too many (at %.40q)", path[len(path)-1])
	}
	if _, twice := r.all[key]; twice {
		return fmt.Errorf("it defines %.40q twice", path[len(path)-1])
	}
	r.all[key] = value
	return nil
}

// add reads a key and its value, in a table.
func (r *readerTOML) add(table, tokens []string) error {
	i := slices.Index(tokens, "=")
	if i < 0 || i == len(tokens)-1 {
		return fmt.Errorf("%.40q has no value", strings.Join(tokens, ""))
	}
	key, err := keyTOML(tokens[:i])
	if err != nil {
		return err
	}
	path, value := slices.Concat(table, key), tokens[i+1:]
	if value[0] != "{" {
		return r.set(path, strings.Join(value, ""))
	}
	if err := r.set(path, "{"); err != nil {
		return err
	}
	inner := slices.DeleteFunc(slices.Clone(value[1:len(value)-1]), func(token string) bool { return token == "\n" })
	members, err := splitTokens(inner, ",")
	for _, member := range members {
		if err == nil && len(member) > 0 {
			err = r.add(path, member)
		}
	}
	return err
}
