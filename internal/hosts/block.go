package hosts

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/hook"
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

// putBlock says what a TOML file is with planloop's table at its end.
func (s *server) putBlock(m Machine, e *Edit) error {
	before, err := readTOML(e.Before)
	if err != nil {
		e.Paste = s.block()
		return &Refusal{Problem: "cannot be read as toml: " + err.Error(), Fix: "mend it and run this again, or add the table by hand"}
	}
	entry, is := lookUp(before, s.path...)
	command := words(entry, s.program)
	if len(command) > 0 && m.ours(command[0]) {
		e.Starts = command[:1]
	}
	newline := newlineOf(e.Before)
	block := strings.ReplaceAll(s.block(), "\n", newline)
	at := s.find(e.Before)
	switch {
	case at != nil && string(e.Before[at[0]:at[1]]) == block:
		e.Server = Current
		return nil
	case at != nil:
		e.Server, e.After = Old, slices.Concat(e.Before[:at[0]], []byte(block), e.Before[at[1]:])
	case !is:
		e.Server, e.After = Missing, bytes.Clone(e.Before)
		if len(e.After) > 0 {
			if !bytes.HasSuffix(e.After, []byte("\n")) {
				e.After = append(e.After, newline...)
			}
			e.After = append(e.After, newline...)
		}
		e.After = append(e.After, block...)
	case len(command) > 0 && command[0] == m.Program && slices.Contains(command, "serve"):
		e.Server, e.Notes = Current, append(e.Notes, "the server's table is not init's, and stays as it is")
		return nil
	default:
		if e.Server = Foreign; len(e.Starts) > 0 {
			e.Server = Old
		}
		return &Refusal{Problem: fmt.Sprintf("has a table %s that init did not write (it starts %s)", strings.Join(s.path, "."),
			describe(entry, command)), Fix: "take it out, then run this again"}
	}
	after, err := readTOML(e.After)
	if _, is := lookUp(after, s.path...); err == nil && is && reflect.DeepEqual(s.others(before), s.others(after)) {
		return nil
	}
	e.Paste = s.block()
	return &Refusal{Problem: "has no place for the table of the server, or one that was changed by hand", Fix: "add it by hand"}
}

// takeBlock says what a TOML file is without the table that init has written.
func (s *server) takeBlock(e *Edit) error {
	before, err := readTOML(e.Before)
	if err != nil {
		return &Refusal{Problem: "cannot be read as toml: " + err.Error(), Fix: "mend it, then run this again"}
	}
	at := s.find(e.Before)
	if at == nil {
		e.Server = Missing
		if _, is := lookUp(before, s.path...); is {
			e.Server = Kept
		}
		return nil
	}
	e.Server = Current
	above, newline := e.Before[:at[0]], newlineOf(e.Before)
	if bytes.HasSuffix(above, []byte(newline+newline)) {
		above = above[:len(above)-len(newline)]
	}
	e.After = slices.Concat(above, e.Before[at[1]:])
	after, err := readTOML(e.After)
	if _, is := lookUp(after, s.path...); err != nil || is || !reflect.DeepEqual(s.others(before), s.others(after)) {
		return &Refusal{Problem: "has more in the table of the server than init wrote", Fix: "take the table out by hand"}
	}
	return nil
}

// others is a document without the server's table, which is gone then.
func (s *server) others(document map[string]any) map[string]any {
	if servers, ok := document[s.path[0]].(map[string]any); ok {
		if delete(servers, hook.OwnServer); len(servers) == 0 {
			delete(document, s.path[0])
		}
	}
	return document
}
