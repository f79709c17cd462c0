package hosts

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// inline is an inline table, which TOML lets no header or dotted key extend.
type inline map[string]any

// readTOML reads a TOML document: tables, lists, strings and booleans. Numbers and dates are kept as their text, and so are
// strings of several lines. It is for judging what a file has, and refuses what it is not sure of.
func readTOML(text []byte) (map[string]any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	tokens := regexp.MustCompile(`(?s)"""(?:[^\\]|\\.)*?"{3,5}|'''.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[ \t\r]+|[\w-]+|.`)
	root := map[string]any{}
	r, table := &tomlReader{}, root
	for _, token := range tokens.FindAllString(strings.TrimPrefix(string(text), mark), -1) {
		if token[0] != '#' && strings.Trim(token, " \t\r") != "" {
			r.tokens = append(r.tokens, token)
		}
	}
	for r.skipLines(); r.next() != ""; r.skipLines() {
		err := r.statement(root, &table)
		if err == nil && r.next() != "\n" && r.next() != "" {
			err = fmt.Errorf("%.20q does not belong there", r.next())
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+strings.Count(strings.Join(r.tokens[:r.at], ""), "\n"), err)
		}
	}
	return root, nil
}

type tomlReader struct {
	tokens []string // without blanks and comments
	at     int
}

// next is the next token, "" at the end.
func (r *tomlReader) next() string {
	if r.at == len(r.tokens) {
		return ""
	}
	return r.tokens[r.at]
}

// take passes over a token, if it comes next.
func (r *tomlReader) take(token string) bool {
	ok := r.next() == token
	if ok {
		r.at++
	}
	return ok
}

func (r *tomlReader) skipLines() {
	for r.take("\n") {
	}
}

// statement reads a header, which moves table, or a key with its value.
func (r *tomlReader) statement(root map[string]any, table *map[string]any) error {
	if !r.take("[") {
		return r.member(*table, 0)
	}
	list := r.take("[")
	path, err := r.key()
	if err != nil {
		return err
	}
	if !r.take("]") || list && !r.take("]") {
		return errors.New("the header of a table does not end")
	}
	if !list {
		*table, err = descend(root, path)
		return err
	}
	above, err := descend(root, path[:len(path)-1])
	if err != nil {
		return err
	}
	name := path[len(path)-1]
	tables, ok := above[name].([]map[string]any)
	if above[name] != nil && !ok {
		return fmt.Errorf("%q is not a list of tables", name)
	}
	*table = map[string]any{}
	above[name] = append(tables, *table)
	return nil
}

// descend returns the table at a path, and makes those that are missing. Of a list of tables it is the last.
func descend(table map[string]any, path []string) (map[string]any, error) {
	for _, name := range path {
		switch next := table[name].(type) {
		case nil:
			made := map[string]any{}
			table[name], table = made, made
		case map[string]any:
			table = next
		case []map[string]any:
			table = next[len(next)-1]
		default:
			return nil, fmt.Errorf("%q is not a table that can have more", name)
		}
	}
	return table, nil
}

// member reads a key and its value into a table.
func (r *tomlReader) member(table map[string]any, depth int) error {
	path, err := r.key()
	if err != nil {
		return err
	}
	if !r.take("=") {
		return errors.New("a key has no value")
	}
	value, err := r.value(depth)
	if err != nil {
		return err
	}
	if table, err = descend(table, path[:len(path)-1]); err != nil {
		return err
	}
	name := path[len(path)-1]
	if table[name] != nil {
		return fmt.Errorf("%q is there twice", name)
	}
	table[name] = value
	return nil
}

// bare are the characters of words.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// key reads the parts of a key.
func (r *tomlReader) key() (path []string, err error) {
	for {
		word, ok := r.word()
		if !ok {
			return nil, fmt.Errorf("%.20q is not a key", r.next())
		}
		if path = append(path, word); !r.take(".") {
			return path, nil
		}
	}
}

// word reads a bare word, or a string of one line.
func (r *tomlReader) word() (text string, ok bool) {
	switch text = r.next(); {
	case text == "":
		return "", false
	case text[0] == '"': // fails for several lines as well
		var err error
		text, err = strconv.Unquote(text)
		ok = err == nil
	case text[0] == '\'':
		ok = len(text) > 1 && !strings.HasPrefix(text, `'''`)
		text = strings.Trim(text, "'")
	default:
		ok = strings.ContainsAny(text[:1], bare)
	}
	if ok {
		r.at++
	}
	return text, ok
}

// value reads a value.
func (r *tomlReader) value(depth int) (any, error) {
	switch token := r.next(); {
	case depth > deepest:
		return nil, fmt.Errorf("it is nested deeper than %d levels", deepest)
	case strings.HasPrefix(token, `"""`), strings.HasPrefix(token, `'''`):
		r.at++
		return token[3 : len(token)-3], nil
	case token != "" && strings.Contains(`"'`, token[:1]):
		if text, ok := r.word(); ok {
			return text, nil
		}
	case r.take("["):
		list := []any{}
		err := r.entries("]", func() error {
			value, err := r.value(depth + 1)
			list = append(list, value)
			return err
		})
		return list, err
	case r.take("{"):
		table := inline{}
		return table, r.entries("}", func() error { return r.member(table, depth+1) })
	}
	text := ""
	for ; r.next() != "" && strings.ContainsAny(r.next()[:1], bare+".:+"); r.at++ {
		text += r.next()
	}
	switch text {
	case "":
		return nil, fmt.Errorf("%.20q is not a value", r.next())
	case "true", "false":
		return text == "true", nil
	}
	return text, nil
}

// entries reads what is in a list or an inline table, up to its end.
func (r *tomlReader) entries(end string, entry func() error) error {
	for r.skipLines(); !r.take(end); r.skipLines() {
		if err := entry(); err != nil {
			return err
		}
		if r.skipLines(); !r.take(",") && r.next() != end {
			return fmt.Errorf("%.20q is there instead of %s", r.next(), end)
		}
	}
	return nil
}
