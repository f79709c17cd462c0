package hosts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// settingsTOML has the tables and keys of a TOML file by joined path, with the values as written: of a table its bracket.
type settingsTOML map[string]string

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

// tableMark begins init's table in a TOML file. The end has no mark: Codex adds tables directly after the last one.
const tableMark = "# planloop init wrote this table; planloop init --remove takes it out\n"

func (s *server) tomlTable() string {
	lines := tableMark + "[" + strings.Join(s.path, ".") + "]\n"
	for _, m := range s.entry {
		lines += m.key + " = " + inlineJSON(m.value) + "\n" // strings and lists of strings are the same in JSON and TOML
	}
	return lines
}

const tablePart = "the table" // the ledger's name for the table

// findTable returns where the lines of a table marked as init's are in a text, nil if it has none, and whether they are as init wrote
// them: as recorded, or as it would write them for a program of any path. A comment or another key in the table makes it the user's.
func (s *server) findTable(text []byte, recorded string) (at []int, isOurs bool) {
	head := regexp.QuoteMeta(tableMark + "[" + strings.Join(s.path, ".") + "]\n")
	lines := regexp.MustCompile(`(?m:^)` + strings.ReplaceAll(head, "\n", `\r?\n`) + `([\w-]+ = .*(\n|$))*`)
	if at = lines.FindIndex(text); at == nil {
		return nil, false
	}
	normal := func(text string) string { // without the program and the kind of line break
		return regexp.MustCompile(`(?m)^`+s.program+` = "[^"\n]*"`).ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")
	}
	written := strings.TrimSuffix(normal(string(text[at[0]:at[1]])), "\n") + "\n"
	tableEnds := regexp.MustCompile(`^(\s|#[^\n]*(\n|$))*(\[|$)`).Match(text[at[1]:])
	return at, tableEnds && (written == normal(s.tomlTable()) || recorded != "" && written == normal(recorded))
}

// editTOML puts planloop's table at the end of a TOML file, or takes it out. It changes nothing else in the file.
func (s *server) editTOML(m Machine, e *Edit, remove bool) error {
	before, err := readTOML(e.Before)
	if err != nil {
		if !remove {
			e.Paste = s.tomlTable()
		}
		return &Refusal{Problem: "cannot be read as TOML: " + err.Error(), Fix: "correct it, then run this again"}
	}
	others, hasTable := before.withoutTable(s.path)
	if remove {
		err = s.removeTable(e, hasTable)
	} else {
		err = s.installTable(m, e, before, hasTable)
	}
	if err != nil || bytes.Equal(e.Before, e.After) {
		return err
	}
	after, err := readTOML(e.After)
	rest, hasTable := after.withoutTable(s.path)
	holder := before[joinKey(s.path[:1]...)]
	switch isUnchanged := err == nil && hasTable != remove && maps.Equal(others, rest); {
	case remove && !isUnchanged:
		return &Refusal{Problem: "has more in the server's table than init wrote", Fix: "remove the table by hand"}
	case !isUnchanged, !remove && holder != "" && holder != "[":
		e.Paste = s.tomlTable()
		return &Refusal{Problem: "has no place for the server's table, or one that was changed by hand", Fix: "add it by hand"}
	}
	return nil
}

// installTable adds the table to a file, or brings init's table in it up to date.
func (s *server) installTable(m Machine, e *Edit, before settingsTOML, hasTable bool) error {
	command := before.text(subpath(s.path, s.program)...)
	if m.isOwn(command) {
		e.Programs = []string{command}
	}
	newline := newlineOf(e.Before)
	block := strings.ReplaceAll(s.tomlTable(), "\n", newline)
	switch at, isOurs := s.findTable(e.Before, e.record.Parts[tablePart]); {
	case hasTable && isOurs && len(e.Programs) > 0:
		e.Server, e.After = Old, slices.Concat(e.Before[:at[0]], []byte(block), e.Before[at[1]:])
		if strings.TrimSuffix(string(e.Before[at[0]:at[1]]), newline) == strings.TrimSuffix(block, newline) {
			e.Server, e.After = Current, e.Before
		}
	case hasTable && at != nil && len(e.Programs) > 0 && command != m.Program:
		e.Server, e.Notes = Old, append(e.Notes, "changes made by hand in the server's table stay")
		return s.putProgram(m, e, before, at[0])
	case hasTable && command == m.Program && strings.Contains(before[joinKey(subpath(s.path, "args")...)], "serve"):
		e.Server, e.Notes = Current, append(e.Notes, "the server's table differs from init's and stays unchanged")
	case hasTable:
		if e.Server = Foreign; len(e.Programs) > 0 {
			e.Server = Old
		}
		return &Refusal{Problem: fmt.Sprintf("has a table %s that init did not write (it starts %s)", strings.Join(s.path, "."),
			cmp.Or(command, "no program")), Fix: "remove it, then run this again"}
	default:
		e.Server, e.After = Missing, bytes.Clone(e.Before)
		if len(e.After) > 0 && !bytes.HasSuffix(e.After, []byte("\n")) {
			e.After = append(e.After, newline...)
		}
		if len(e.After) > 0 {
			e.After = append(e.After, newline...)
		}
		e.After = append(e.After, block...)
	}
	if e.Server != Current {
		e.record.Parts[tablePart] = s.tomlTable()
	}
	return nil
}

// putProgram changes the program alone in a table that begins at an offset.
func (s *server) putProgram(m Machine, e *Edit, before settingsTOML, begins int) error {
	line := regexp.MustCompile(`(?m)^[ \t]*` + s.program + `[ \t]*=[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*')`)
	if at := line.FindSubmatchIndex(e.Before[begins:]); at != nil {
		e.After = slices.Concat(e.Before[:begins+at[2]], []byte(inlineJSON(m.Program)), e.Before[begins+at[3]:])
	}
	after, err := readTOML(e.After)
	program := joinKey(subpath(s.path, s.program)...)
	now := maps.Clone(after)
	if now[program] = before[program]; err != nil || after.text(subpath(s.path, s.program)...) != m.Program || !maps.Equal(now, before) {
		e.After = e.Before
		return &Refusal{Problem: "has a table that was changed by hand", Fix: "set its " + s.program + " to " + m.Program + " by hand"}
	}
	return nil
}

// removeTable takes the table that init has written out of a file.
func (s *server) removeTable(e *Edit, hasTable bool) error {
	switch at, isOurs := s.findTable(e.Before, e.record.Parts[tablePart]); {
	case !hasTable:
		e.Server = Missing
	case at == nil:
		e.Server = Kept
	case !isOurs:
		e.Server = Kept
		return &Refusal{Problem: "has more in the server's table than init wrote, or other values", Fix: "remove the table by hand"}
	default:
		e.Server = Current
		above, newline := e.Before[:at[0]], newlineOf(e.Before)
		if bytes.HasSuffix(above, []byte(newline+newline)) {
			above = above[:len(above)-len(newline)]
		}
		e.After = slices.Concat(above, e.Before[at[1]:])
	}
	return nil
}

// withoutTable returns the settings outside a table, and whether the file has that table.
func (all settingsTOML) withoutTable(path []string) (rest settingsTOML, hasTable bool) {
	rest, table := maps.Clone(all), joinKey(path...)
	maps.DeleteFunc(rest, func(key, _ string) bool { return key == table || strings.HasPrefix(key, table+"\x00") })
	return rest, len(rest) < len(all)
}
