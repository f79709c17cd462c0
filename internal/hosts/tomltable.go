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

// tableMark begins the table that init writes into a TOML file. The end has no mark, because Codex adds tables directly
// after the last one, which would be before the mark.
const tableMark = "# planloop init wrote this table; planloop init --remove takes it out\n"

// tomlTable returns the server's table as TOML.
func (s *server) tomlTable() string {
	lines := tableMark + "[" + strings.Join(s.path, ".") + "]\n"
	for _, m := range s.entry {
		lines += m.key + " = " + inlineJSON(m.value) + "\n" // strings and lists of strings are the same in JSON and TOML
	}
	return lines
}

// tablePart is the name under which the ledger has the table in a TOML file.
const tablePart = "the table"

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
