package hosts

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// blockMark begins the table that init writes into a TOML file. There is no mark at the end, because Codex adds tables directly
// after the last one, which would be before the mark.
const blockMark = "# planloop init wrote this table; planloop init --remove takes it out\n"

// block returns the server's table as TOML.
func (s *server) block() string {
	lines := blockMark + "[" + strings.Join(s.path, ".") + "]\n"
	for _, m := range s.entry {
		lines += m.key + " = " + inlineJSON(m.value) + "\n" // strings and lists of strings are the same in JSON and TOML
	}
	return lines
}

// find returns the position of init's table in a text, nil if it is missing. Lines that init does not write are not part of it.
func (s *server) find(text []byte) []int {
	var keys []string
	for _, m := range s.entry {
		keys = append(keys, m.key)
	}
	lines := regexp.QuoteMeta(blockMark+"["+strings.Join(s.path, ".")+"]") + "\n((" + strings.Join(keys, "|") + ") = .*(\n|$))*"
	return regexp.MustCompile(`(?m:^)` + strings.ReplaceAll(lines, "\n", "\r?\n")).FindIndex(text)
}

// putBlock adds planloop's table to the end of a TOML file, or makes it current.
func (s *server) putBlock(m Machine, e *Edit) error {
	before, err := readTOML(e.Before)
	if err != nil {
		e.Paste = s.block()
		return &Refusal{Problem: "cannot be read as toml: " + err.Error(), Fix: "mend it and run this again, or add the table by hand"}
	}
	command := before.text(under(s.path, s.program)...)
	if m.ours(command) {
		e.Starts = []string{command}
	}
	newline := newlineOf(e.Before)
	block := strings.ReplaceAll(s.block(), "\n", newline)
	others, is := before.others(s.path)
	switch at := s.find(e.Before); {
	case is && at != nil && command == m.Program && string(e.Before[at[0]:at[1]]) == block:
		e.Server = Current
		return nil
	case is && at != nil:
		e.Server, e.After = Old, slices.Concat(e.Before[:at[0]], []byte(block), e.Before[at[1]:])
	case is && command == m.Program && strings.Contains(before[joined(under(s.path, "args")...)], "serve"):
		e.Server, e.Notes = Current, append(e.Notes, "init did not write the server's table, and leaves it as it is")
		return nil
	case is:
		if e.Server = Foreign; len(e.Starts) > 0 {
			e.Server = Old
		}
		return &Refusal{Problem: fmt.Sprintf("has a table %s that init did not write (it starts %s)", strings.Join(s.path, "."),
			cmp.Or(command, "no program")), Fix: "take it out, then run this again"}
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
	after, err := readTOML(e.After)
	rest, is := after.others(s.path)
	if holder := before[joined(s.path[:1]...)]; err != nil || !is || !maps.Equal(others, rest) || holder != "" && holder != "[" {
		e.Paste = s.block()
		return &Refusal{Problem: "has no place for the server's table, or a table that was changed by hand", Fix: "add it by hand"}
	}
	return nil
}

// takeBlock removes the table that init wrote from a TOML file.
func (s *server) takeBlock(e *Edit) error {
	before, err := readTOML(e.Before)
	if err != nil {
		return &Refusal{Problem: "cannot be read as toml: " + err.Error(), Fix: "mend it, then run this again"}
	}
	others, is := before.others(s.path)
	at := s.find(e.Before)
	switch {
	case !is:
		e.Server = Missing
		return nil
	case at == nil:
		e.Server = Kept
		return nil
	}
	e.Server = Current
	above, newline := e.Before[:at[0]], newlineOf(e.Before)
	if bytes.HasSuffix(above, []byte(newline+newline)) {
		above = above[:len(above)-len(newline)]
	}
	e.After = slices.Concat(above, e.Before[at[1]:])
	after, err := readTOML(e.After)
	if rest, is := after.others(s.path); err != nil || is || !maps.Equal(others, rest) {
		return &Refusal{Problem: "has more in the server's table than init wrote", Fix: "take the table out by hand"}
	}
	return nil
}

// others returns the settings outside a table, and whether the file has that table.
func (all settingsTOML) others(path []string) (rest settingsTOML, is bool) {
	rest = maps.Clone(all)
	maps.DeleteFunc(rest, func(key, _ string) bool { return strings.HasPrefix(key+"\x00", joined(path...)+"\x00") })
	return rest, len(rest) < len(all)
}
