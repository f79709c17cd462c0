package hosts

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/safetext"
)

// under returns a path with more elements.
func under(path []string, more ...string) []string { return append(slices.Clone(path), more...) }

// draft is a document to which planloop's parts are added, or from which they are removed.
type draft struct {
	*document
	wrote map[string]string // init's own texts by path; "" for a holder that init created
	notes []string
}

// makes records the missing objects and lists around an entry at a path.
func (w *draft) makes(path []string) {
	for n := 1; n < len(path); n++ {
		if !w.has(path[:n]...) {
			w.wrote[pointer(path[:n])] = ""
		}
	}
}

// dropEmpty removes the objects and lists that init created around an entry, from the inside out, if they are empty.
func (w *draft) dropEmpty(path []string) {
	for ; len(path) > 0 && w.empty(path...); path = path[:len(path)-1] {
		if _, made := w.wrote[pointer(path)]; !made {
			return
		}
		w.remove(path...)
	}
}

// put makes planloop's entry current, and keeps changes made by hand.
func (s *server) put(m Machine, w *draft) (State, error) {
	name := pointer(s.path)
	if !w.has(s.path...) {
		w.makes(s.path)
		w.wrote[name] = text(s.entry)
		return Missing, w.set(s.entry, s.path...)
	}
	value := w.value(s.path...)
	state, entry, notes, err := s.judge(m, value, w.wrote[name])
	w.notes = append(w.notes, notes...)
	if err != nil || text(entry) == text(value) {
		return state, err
	}
	if w.wrote[name] == text(value) {
		w.wrote[name] = text(entry)
	}
	return state, w.update(value, plain(entry), s.path)
}

// update makes what differs in a value as wanted, so that the comments, order and numbers in the rest of it stay.
func (w *draft) update(value, wanted any, path []string) error {
	have, isObject := value.(map[string]any)
	want, wantsObject := wanted.(map[string]any)
	list, isList := value.([]any)
	words, wantsList := wanted.([]any)
	switch {
	case isObject && wantsObject:
		for _, key := range slices.Sorted(maps.Keys(have)) {
			if _, stays := want[key]; !stays {
				w.remove(under(path, key)...)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if err := w.update(have[key], want[key], under(path, key)); err != nil {
				return err
			}
		}
	case isList && wantsList && len(list) == len(words):
		for i, word := range words {
			if err := w.update(list[i], word, under(path, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case text(value) != text(wanted):
		return w.set(wanted, path...)
	}
	return nil
}

// judge returns the state of an entry and its current form. wrote is the text that init wrote there.
func (s *server) judge(m Machine, value any, wrote string) (state State, entry any, notes []string, err error) {
	wanted := plain(s.entry).(map[string]any)
	switch text(value) {
	case text(wanted):
		return Current, value, nil, nil
	case wrote:
		return Old, s.entry, nil, nil
	}
	members, _ := value.(map[string]any)
	command := words(members, s.program)
	if len(command) == 0 || !m.ours(command[0]) {
		return Foreign, value, nil, &Refusal{Problem: fmt.Sprintf("has a server named %s that starts something else (%s)", hook.OwnServer,
			describe(value, command)), Fix: "rename or remove it, then run this again"}
	}
	list, isList := members[s.program].([]any)
	if _, wantsList := wanted[s.program].([]any); isList != wantsList {
		return Old, s.entry, nil, nil // another host's form
	}
	if own := changed(members, wanted, s.program); len(own) > 0 {
		notes = append(notes, "the server has settings of its own there, which stay: "+strings.Join(own, ", "))
	}
	mended := maps.Clone(members)
	switch {
	case !slices.Contains(command, "serve"):
		mended[s.program] = wanted[s.program]
		if args, ok := wanted["args"]; ok {
			mended["args"] = args
		}
	case isList:
		mended[s.program] = append([]any{m.Program}, list[1:]...)
	default:
		mended[s.program] = m.Program
	}
	state = Current
	if text(mended) != text(members) {
		state = Old
	}
	if members["enabled"] == false || members["disabled"] == true {
		notes = append(notes, "the server is turned off there, and stays so")
		state = worst(state, Edited)
	}
	return state, mended, notes, nil
}

// changed lists the members of an entry, except the program, that differ from those that planloop writes.
func changed(members, wanted map[string]any, program string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(members)), func(key string) bool {
		return key == program || text(members[key]) == text(wanted[key])
	})
}

// take removes planloop's entry if init wrote it.
func (s *server) take(m Machine, w *draft) State {
	command := words(w.value(s.path...), s.program)
	_, wrote := w.wrote[pointer(s.path)]
	switch {
	case !w.has(s.path...):
		return Missing
	case len(command) == 0 || !m.ours(command[0]):
		return Foreign
	case !wrote:
		return Kept
	}
	w.remove(s.path...)
	w.dropEmpty(s.path[:len(s.path)-1])
	return Current
}

// starts lists the programs by which an entry and some events' hooks start planloop, without duplicates.
func (m Machine) starts(on hook.Host, command []string, events map[string]any) []string {
	var programs []string
	add := func(program string) {
		if m.ours(program) && !slices.Contains(programs, program) {
			programs = append(programs, program)
		}
	}
	if len(command) > 0 {
		add(command[0])
	}
	for _, native := range slices.Sorted(maps.Keys(events)) {
		for _, spot := range m.spots(on, events[native]) {
			for _, line := range lines(spot.handler) {
				add(safetext.QuoteProgram(line, "hook"))
			}
		}
	}
	return programs
}

// lines lists the commands of a handler.
func lines(handler map[string]any) []string {
	var all []string
	for _, member := range commands() {
		if line, _ := handler[member].(string); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// words returns a program and its arguments, which an entry has as one list or as two members.
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

// base returns the last part of a path of any system.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

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
