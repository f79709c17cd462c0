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

// joined returns a path as a key of settingsTOML.
func joined(path ...string) string { return strings.Join(path, "\x00") }

// readTOML reads a TOML file as far as planloop needs it, and refuses text that it cannot read with certainty.
func readTOML(text []byte) (settingsTOML, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	pattern := regexp.MustCompile(`(?s)"""(?:[^\\]|\\.)*?"{3,5}|'''.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[ \t\r]+|[\w-]+|.`)
	var tokens []string
	for _, token := range pattern.FindAllString(strings.TrimPrefix(string(text), mark), -1) {
		if token == `"` || token == `'` {
			return nil, errors.New("a string does not end")
		}
		if token[0] != '#' && strings.Trim(token, " \t\r") != "" {
			tokens = append(tokens, token)
		}
	}
	lines, err := split(tokens, "\n")
	all, table := settingsTOML{}, []string(nil)
	for _, line := range lines {
		switch {
		case err != nil || len(line) == 0:
		case line[0] != "[":
			err = all.add(table, line)
		default: // the header of a table, or of one in a list
			brackets := 1
			if line[1] == "[" {
				brackets = 2
			}
			if table, err = keyTOML(line[brackets:max(brackets, len(line)-brackets)]); err == nil {
				all[joined(table...)] = strings.Repeat("[", brackets)
			}
		}
	}
	return all, err
}

// split cuts tokens at separators outside brackets.
func split(tokens []string, separator string) (parts [][]string, err error) {
	const deepest = 100
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
		if len(open) > deepest {
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
	return token, regexp.MustCompile(`^[\w-]+$`).MatchString(token)
}

// text returns the one-line string at a path, "" if the path has none.
func (all settingsTOML) text(path ...string) string {
	if value := all[joined(path...)]; value != "" {
		text, _ := wordTOML(value)
		return text
	}
	return ""
}

// add reads a key and its value in a table.
func (all settingsTOML) add(table, tokens []string) error {
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
		all[joined(path...)] = strings.Join(value, "")
		return nil
	}
	all[joined(path...)] = "{"
	members, err := split(slices.DeleteFunc(slices.Clone(value[1:len(value)-1]), func(token string) bool { return token == "\n" }), ",")
	for _, member := range members {
		if err == nil && len(member) > 0 {
			err = all.add(path, member)
		}
	}
	return err
}
