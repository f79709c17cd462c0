package hosts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/shellquote"
	"github.com/planloop/planloop/internal/splice"
)

// under is a path with more steps.
func under(path []splice.Key, more ...splice.Key) []splice.Key {
	return append(slices.Clone(path), more...)
}

// writing is a document that planloop's part is written into, or taken out of.
type writing struct {
	*splice.Document
	was   map[string]string // what was last written, by the name of the part
	now   map[string]string
	notes []string
}

// keep notes what was written as a whole, to be known again: what was changed by hand is not.
func (w *writing) keep(name string, wanted any, path ...splice.Key) {
	value, ok := w.Value(path...)
	switch {
	case ok && text(value) == text(wanted):
		w.now[name] = text(wanted)
	case w.was[name] != "":
		w.now[name] = w.was[name]
	}
}

// put makes planloop's entry current. What was changed by hand in it stays.
func (s *server) put(m Machine, w *writing) (State, error) {
	state, err := s.write(m, w)
	if err != nil {
		return state, err
	}
	w.keep("server", s.entry, s.path...)
	if value, _ := w.Value(s.path...); off(value) {
		w.notes = append(w.notes, "the server is turned off there, and stays so")
		return worst(state, Edited), nil
	}
	return state, nil
}

func (s *server) write(m Machine, w *writing) (State, error) {
	value, ok := w.Value(s.path...)
	switch {
	case !ok:
		return Missing, w.Set(s.entry, s.path...)
	case text(value) == text(s.entry):
		return Current, nil
	case text(value) == w.was["server"]:
		return Old, w.Set(s.entry, s.path...)
	}
	command := words(value, s.program)
	if len(command) == 0 || !m.ours(command[0]) {
		return Foreign, &Refusal{Problem: fmt.Sprintf("has a server named %s that starts something else (%s)", hook.OwnServer,
			describe(value, command)), Fix: "rename or remove it, then run this again"}
	}
	state, wanted := Current, plain(s.entry).(map[string]any)
	if own := more(value, wanted, s.program); len(own) > 0 {
		w.notes = append(w.notes, "the server has settings of its own there, which stay: "+strings.Join(own, ", "))
	}
	set := func(value any, path ...splice.Key) error {
		state = Old
		return w.Set(value, under(s.path, path...)...)
	}
	list, isList := wanted[s.program].([]any)
	if members, _ := value.(map[string]any); isList != isA[[]any](members[s.program]) {
		return Old, w.Set(s.entry, s.path...) // as another host has it
	}
	switch {
	case !slices.Contains(command, "serve") && isList:
		return Old, set(list, s.program)
	case !slices.Contains(command, "serve"):
		if err := set(wanted["args"], "args"); err != nil {
			return state, err
		}
	}
	if command[0] != m.Program && isList {
		return Old, set(m.Program, s.program, 0)
	} else if command[0] != m.Program {
		return Old, set(m.Program, s.program)
	}
	return state, nil
}

// more are the members of an entry that are not as planloop writes them, but for its program.
func more(value any, wanted map[string]any, program string) []string {
	members, _ := value.(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(members)), func(key string) bool {
		return key == program || text(members[key]) == text(wanted[key])
	})
}

func isA[T any](value any) bool {
	_, is := value.(T)
	return is
}

// take takes planloop's entry out, and returns what held it. Another's stays.
func (s *server) take(m Machine, d *splice.Document) ([][]splice.Key, error) {
	value, ok := d.Value(s.path...)
	if command := words(value, s.program); !ok || len(command) == 0 || !m.ours(command[0]) {
		return nil, nil
	}
	var held [][]splice.Key
	for n := len(s.path) - 1; n > 0; n-- {
		held = append(held, s.path[:n])
	}
	return held, d.Remove(s.path...)
}

// starts are the programs by which a document starts planloop: the server's and the hooks'.
func (m Machine) starts(h host, t target, d *splice.Document) []string {
	var programs []string
	add := func(program string) {
		if m.ours(program) && !slices.Contains(programs, program) {
			programs = append(programs, program)
		}
	}
	if t.server != nil {
		value, _ := d.Value(t.server.path...)
		if command := words(value, t.server.program); len(command) > 0 {
			add(command[0])
		}
	}
	if t.hooks == nil {
		return programs
	}
	for _, native := range t.hooks.events(d) {
		list := under(t.hooks.root, native)
		for _, spot := range m.spots(d, hook.Host(h.name), list) {
			handler, _ := d.Value(spot.command(list)...)
			for _, line := range lines(handler) {
				add(shellquote.Program(line, "hook"))
			}
		}
	}
	return programs
}

// lines are the commands of a handler.
func lines(handler any) []string {
	members, _ := handler.(map[string]any)
	var all []string
	for _, member := range commands() {
		if line, _ := members[member].(string); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// words are a program and its arguments, which stand in one list or in two members.
func words(entry any, program string) []string {
	members, _ := entry.(map[string]any)
	list, isList := members[program].([]any)
	if !isList {
		args, _ := members["args"].([]any)
		list = append([]any{members[program]}, args...)
	}
	var all []string
	for _, word := range list {
		word, _ := word.(string)
		all = append(all, word)
	}
	return all
}

// ours reports whether a program is planloop, whatever its folder and version.
func (m Machine) ours(program string) bool {
	name := base(program)
	return strings.HasPrefix(strings.ToLower(name), "planloop") || name == base(m.Program)
}

// base is the last part of a path of any system.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// off reports whether a host is told not to start the server.
func off(entry any) bool {
	members, _ := entry.(map[string]any)
	return members["enabled"] == false || members["disabled"] == true
}

func describe(value any, command []string) string {
	if len(command) > 0 && command[0] != "" {
		return command[0]
	}
	if members, ok := value.(map[string]any); ok {
		for _, key := range []string{"url", "httpUrl", "serverUrl", "uri"} {
			if url, ok := members[key].(string); ok {
				return url
			}
		}
	}
	return "no program"
}
