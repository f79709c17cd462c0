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

func subpath(path []string, more ...string) []string { return append(slices.Clone(path), more...) }

// draft is a document to which planloop's parts are added, or from which they are removed.
type draft struct {
	*document
	written map[string]string // init's own texts by path; "" for a holder that init created
	notes   []string
}

// recordParents records the missing objects and lists around an entry at a path.
func (w *draft) recordParents(path []string) {
	for n := 1; n < len(path); n++ {
		if !w.has(path[:n]...) {
			w.written[pointer(path[:n])] = ""
		}
	}
}

// dropEmpty removes the objects and lists that init created around an entry, from the inside out, if they are empty.
func (w *draft) dropEmpty(path []string) {
	for ; len(path) > 0 && w.empty(path...); path = path[:len(path)-1] {
		if _, made := w.written[pointer(path)]; !made {
			return
		}
		w.remove(path...)
	}
}

// install makes planloop's entry current, and keeps changes made by hand.
func (s *server) install(m Machine, w *draft) (State, error) {
	name := pointer(s.path)
	if !w.has(s.path...) {
		w.recordParents(s.path)
		w.written[name] = canonicalJSON(s.entry)
		return Missing, w.set(s.entry, s.path...)
	}
	value := w.value(s.path...)
	state, entry, notes, err := s.assess(m, value, w.written[name])
	w.notes = append(w.notes, notes...)
	if err != nil || canonicalJSON(entry) == canonicalJSON(value) {
		return state, err
	}
	if w.written[name] == canonicalJSON(value) {
		w.written[name] = canonicalJSON(entry)
	}
	return state, w.update(value, decodedJSON(entry), s.path)
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
				w.remove(subpath(path, key)...)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if err := w.update(have[key], want[key], subpath(path, key)); err != nil {
				return err
			}
		}
	case isList && wantsList && len(list) == len(words):
		for i, word := range words {
			if err := w.update(list[i], word, subpath(path, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case canonicalJSON(value) != canonicalJSON(wanted):
		return w.set(wanted, path...)
	}
	return nil
}

// assess returns the state of an entry and its current form. wrote is the text that init wrote there.
func (s *server) assess(m Machine, value any, wrote string) (state State, entry any, notes []string, err error) {
	wanted := decodedJSON(s.entry).(map[string]any)
	switch canonicalJSON(value) {
	case canonicalJSON(wanted):
		return Current, value, nil, nil
	case wrote:
		return Old, s.entry, nil, nil
	}
	members, _ := value.(map[string]any)
	command := commandWords(members, s.program)
	if len(command) == 0 || !m.isOwn(command[0]) {
		return Foreign, value, nil, &Refusal{Problem: fmt.Sprintf("has a server named %s that starts another program (%s)", hook.OwnServer,
			describe(value, command)), Fix: "rename or remove it, then run this again"}
	}
	list, isList := members[s.program].([]any)
	if _, wantsList := wanted[s.program].([]any); isList != wantsList {
		return Old, s.entry, nil, nil // another host's form
	}
	own := slices.DeleteFunc(slices.Sorted(maps.Keys(members)), func(key string) bool {
		return key == s.program || canonicalJSON(members[key]) == canonicalJSON(wanted[key])
	})
	if len(own) > 0 {
		notes = append(notes, "the server's other settings stay: "+strings.Join(own, ", "))
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
	if canonicalJSON(mended) != canonicalJSON(members) {
		state = Old
	}
	if members["enabled"] == false || members["disabled"] == true {
		notes = append(notes, "the server is turned off in this file and stays off")
		state = worst(state, Edited)
	}
	return state, mended, notes, nil
}

func (s *server) remove(m Machine, w *draft) State {
	command := commandWords(w.value(s.path...), s.program)
	_, wrote := w.written[pointer(s.path)]
	switch {
	case !w.has(s.path...):
		return Missing
	case len(command) == 0 || !m.isOwn(command[0]):
		return Foreign
	case !wrote:
		return Kept
	}
	w.remove(s.path...)
	w.dropEmpty(s.path[:len(s.path)-1])
	return Current
}

// programs lists the programs by which an entry and some events' hooks start planloop, without duplicates.
func (m Machine) programs(on hook.Host, command []string, events map[string]any) []string {
	var programs []string
	add := func(program string) {
		if m.isOwn(program) {
			programs = appendNew(programs, program)
		}
	}
	if len(command) > 0 {
		add(command[0])
	}
	for _, native := range slices.Sorted(maps.Keys(events)) {
		for _, found := range m.findHooks(on, events[native]) {
			for _, line := range commandLines(found.handler) {
				add(safetext.QuoteProgram(line, "hook"))
			}
		}
	}
	return programs
}

// appendNew appends the items that a list lacks.
func appendNew[T comparable](list []T, items ...T) []T {
	for _, item := range items {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

func commandLines(handler map[string]any) []string {
	var all []string
	for _, member := range commandMembers() {
		if line, _ := handler[member].(string); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// commandWords returns a program and its arguments, which an entry has as one list or as two members.
func commandWords(entry any, program string) []string {
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

// isOwn reports whether a program is planloop, whatever its folder and version. A program that comes with the project is another one.
func (m Machine) isOwn(program string) bool {
	name, at := base(program), program
	if name == program && m.LookPath != nil {
		at, _ = m.LookPath(program)
	}
	switch {
	case program == m.Program:
		return true
	case name != program && !m.isAbs(program), at != "" && m.inProject(at):
		return false
	}
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
