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

// blockMark begins the table that init writes into a TOML file. It has no counterpart at the end: Codex adds tables right behind
// the last one, which would be in front of such a line.
const blockMark = "# planloop init wrote this table; planloop init --remove takes it out\n"

// block is the server's table as TOML.
func (s *server) block() string {
	lines := blockMark + "[" + strings.Join(s.path, ".") + "]\n"
	for _, m := range s.entry {
		lines += m.key + " = " + inlineJSON(m.value) + "\n" // strings and lists of them are the same in both
	}
	return lines
}

// find returns where init's table is in a text, nil if it is not there. Lines that init does not write are not part of it.
func (s *server) find(text []byte) []int {
	var keys []string
	for _, m := range s.entry {
		keys = append(keys, m.key)
	}
	lines := regexp.QuoteMeta(blockMark+"["+strings.Join(s.path, ".")+"]") + "\n((" + strings.Join(keys, "|") + ") = .*(\n|$))*"
	return regexp.MustCompile(`(?m:^)` + strings.ReplaceAll(lines, "\n", "\r?\n")).FindIndex(text)
}

// editTOML puts planloop's table at the end of a TOML file, or takes it out. It changes nothing else in the file.
func (s *server) editTOML(m Machine, e *Edit, remove bool) error {
	before, err := readTOML(e.Before)
	if err != nil {
		if !remove {
			e.Paste = s.block()
		}
		return &Refusal{Problem: "cannot be read as toml: " + err.Error(), Fix: "mend it, then run this again"}
	}
	others, is := before.others(s.path)
	if remove {
		s.takeBlock(e, is)
	} else {
		err = s.putBlock(m, e, before, is)
	}
	if err != nil || bytes.Equal(e.Before, e.After) {
		return err
	}
	after, err := readTOML(e.After)
	rest, is := after.others(s.path)
	holder := before[joined(s.path[:1]...)]
	switch alone := err == nil && is != remove && maps.Equal(others, rest); {
	case remove && !alone:
		return &Refusal{Problem: "has more in the server's table than init wrote", Fix: "take the table out by hand"}
	case !alone, !remove && holder != "" && holder != "[":
		e.Paste = s.block()
		return &Refusal{Problem: "has no place for the server's table, or a table that was changed by hand", Fix: "add it by hand"}
	}
	return nil
}

// putBlock adds the table to a file, or brings init's table in it up to date.
func (s *server) putBlock(m Machine, e *Edit, before settingsTOML, is bool) error {
	command := before.text(under(s.path, s.program)...)
	if m.ours(command) {
		e.Starts = []string{command}
	}
	newline := newlineOf(e.Before)
	block := strings.ReplaceAll(s.block(), "\n", newline)
	switch at := s.find(e.Before); {
	case is && at != nil && command == m.Program && string(e.Before[at[0]:at[1]]) == block:
		e.Server = Current
	case is && at != nil:
		e.Server, e.After = Old, slices.Concat(e.Before[:at[0]], []byte(block), e.Before[at[1]:])
	case is && command == m.Program && strings.Contains(before[joined(under(s.path, "args")...)], "serve"):
		e.Server, e.Notes = Current, append(e.Notes, "init did not write the server's table, and leaves it as it is")
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
	return nil
}

// takeBlock takes the table that init has written out of a file.
func (s *server) takeBlock(e *Edit, is bool) {
	switch at := s.find(e.Before); {
	case !is:
		e.Server = Missing
	case at == nil:
		e.Server = Kept
	default:
		e.Server = Current
		above, newline := e.Before[:at[0]], newlineOf(e.Before)
		if bytes.HasSuffix(above, []byte(newline+newline)) {
			above = above[:len(above)-len(newline)]
		}
		e.After = slices.Concat(above, e.Before[at[1]:])
	}
}

// others is what a file says outside a table, and whether it has that table.
func (all settingsTOML) others(path []string) (rest settingsTOML, is bool) {
	rest, table := maps.Clone(all), joined(path...)
	maps.DeleteFunc(rest, func(key, _ string) bool { return key == table || strings.HasPrefix(key, table+"\x00") })
	return rest, len(rest) < len(all)
}
