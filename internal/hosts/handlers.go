package hosts

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/spelling"
	"github.com/planloop/planloop/internal/splice"
	"github.com/planloop/planloop/plan"
)

// spot is where a hook of planloop's stands: an element of an event's list, or a handler of
// that element's own list.
type spot struct {
	element int
	handler int  // -1: the element is the handler
	alone   bool // nothing else stands in the element
}

// path leads to what is planloop's: the element where nothing else stands in it.
func (s spot) path(list []splice.Key) []splice.Key {
	if s.handler < 0 || s.alone {
		return under(list, s.element)
	}
	return s.command(list)
}

// command leads to the object that has the command.
func (s spot) command(list []splice.Key) []splice.Key {
	if s.handler < 0 {
		return under(list, s.element)
	}
	return under(list, s.element, "hooks", s.handler)
}

// put makes planloop's hooks current. What was changed by hand in them stays, but for the
// command. Hooks of events that planloop does not listen to any more go.
func (h *hooks) put(m Machine, on hook.Host, w *writing) (State, error) {
	states := []State{None}
	for _, member := range h.fixed {
		if _, ok := w.Value(member.Key); !ok {
			if err := w.Set(member.Value, member.Key); err != nil {
				return Unreadable, err
			}
		}
	}
	var listened []string
	for _, e := range hook.Events(on) {
		state, err := h.putEvent(m, on, e, w)
		if err != nil {
			return state, err
		}
		states, listened = append(states, state), append(listened, e.Native)
	}
	for _, native := range h.events(w.Document) {
		if list := under(h.root, native); !slices.Contains(listened, native) {
			removed, err := m.clear(w.Document, on, list, 0)
			if err != nil {
				return Unreadable, err
			}
			if removed {
				states = append(states, Old)
			}
		}
	}
	return worst(states...), nil
}

func (h *hooks) putEvent(m Machine, on hook.Host, e hook.Event, w *writing) (State, error) {
	list, wanted, state := under(h.root, e.Native), h.element(m, on, e), Current
	spots := m.spots(w.Document, on, list)
	if len(spots) == 0 {
		if err := w.Append(wanted, list...); err != nil {
			return Unreadable, err
		}
		spots, state = m.spots(w.Document, on, list), Missing
	}
	removed, err := m.clear(w.Document, on, list, 1)
	if err != nil || len(spots) == 0 {
		return Unreadable, err
	}
	if removed {
		spots, state = m.spots(w.Document, on, list), Old
	}
	s, name := spots[0], "hooks/"+e.Native
	if s.handler >= 0 && !s.alone {
		wanted = h.command(m, on, e)
	}
	defer func() { w.keep(name, wanted, s.path(list)...) }()
	switch value, _ := w.Value(s.path(list)...); text(value) {
	case text(wanted):
		return state, nil
	case w.was[name]:
		return Old, w.Set(wanted, s.path(list)...)
	}
	w.notes = append(w.notes, "the hook for "+e.Native+" was changed by hand, which stays")
	return h.mend(m, on, e, w, s.command(list))
}

// mend makes the command of a hook current that was changed by hand.
func (h *hooks) mend(m Machine, on hook.Host, e hook.Event, w *writing, at []splice.Key) (State, error) {
	state := Edited
	for _, member := range h.command(m, on, e) {
		if !slices.Contains(commands(), member.Key) && member.Key != "args" {
			continue
		}
		if value, _ := w.Value(under(at, member.Key)...); text(value) != text(member.Value) {
			if err := w.Set(member.Value, under(at, member.Key)...); err != nil {
				return Unreadable, err
			}
			state = Old
		}
	}
	return state, nil
}

// clear removes planloop's hooks from the list of an event, but for the first few.
func (m Machine) clear(d *splice.Document, on hook.Host, list []splice.Key, but int) (removed bool, err error) {
	for spots := m.spots(d, on, list); len(spots) > but; spots = m.spots(d, on, list) {
		if err := d.Remove(spots[len(spots)-1].path(list)...); err != nil {
			return removed, err
		}
		removed = true
	}
	return removed, nil
}

// take takes planloop's hooks out, and returns what held them.
func (h *hooks) take(m Machine, on hook.Host, d *splice.Document) ([][]splice.Key, error) {
	var held [][]splice.Key
	for _, native := range h.events(d) {
		list := under(h.root, native)
		if _, err := m.clear(d, on, list, 0); err != nil {
			return nil, err
		}
		held = append(held, list)
	}
	held = append(held, h.root)
	for _, member := range h.fixed {
		held = append(held, []splice.Key{member.Key})
	}
	return held, nil
}

// element is what an event's list holds for planloop.
func (h *hooks) element(m Machine, on hook.Host, e hook.Event) splice.Object {
	handler := h.command(m, on, e)
	if h.grouped == nil || !h.grouped(e) {
		return handler
	}
	var group splice.Object
	if matcher := e.Matcher; matcher != "" || h.all != "" {
		if matcher == "" {
			matcher = h.all
		}
		group = splice.Object{{Key: "matcher", Value: matcher}}
	}
	return append(group, splice.Member{Key: "hooks", Value: []any{handler}})
}

// command is the handler that runs planloop.
func (h *hooks) command(m Machine, on hook.Host, e hook.Event) splice.Object {
	handler := h.handler(e, h.commandLine(m, on, e))
	if m.GOOS == "windows" && h.shell == direct {
		handler = append(handler, splice.Member{Key: "args", Value: []any{"hook", string(on), e.Name}})
	}
	return handler
}

// events are the names under the root, in order.
func (h *hooks) events(d *splice.Document) []string {
	value, _ := d.Value(h.root...)
	members, _ := value.(map[string]any)
	return slices.Sorted(maps.Keys(members))
}

// spots finds planloop's hooks in the list of an event.
func (m Machine) spots(d *splice.Document, on hook.Host, list []splice.Key) []spot {
	var found []spot
	value, _ := d.Value(list...)
	elements, _ := value.([]any)
	for i, element := range elements {
		members, _ := element.(map[string]any)
		handlers, grouped := members["hooks"].([]any)
		if !grouped && m.calls(on, members) {
			found = append(found, spot{i, -1, true})
		}
		for j, handler := range handlers {
			if handler, _ := handler.(map[string]any); m.calls(on, handler) {
				found = append(found, spot{i, j, len(handlers) == 1})
			}
		}
	}
	return found
}

// commands are the members that hold a command, in any host.
func commands() []string { return []string{"command", "powershell", "bash"} }

// asked is what a handler asks planloop: which host's, and which of its events.
type asked struct{ host, event string }

// asks finds what a handler asks planloop.
func (m Machine) asks(handler map[string]any) []asked {
	program := "(?i:planloop)|" + regexp.QuoteMeta(strings.TrimSuffix(base(m.Program), ".exe"))
	known, err := regexp.Compile(`(?:` + program + `)[^/\\\s]*\s+hook\s+(\S+)\s+(\S*)`)
	if err != nil {
		return nil
	}
	var all []asked
	for _, line := range lines(handler) {
		args, _ := handler["args"].([]any)
		for _, arg := range args {
			arg, _ := arg.(string)
			line += " " + arg
		}
		for _, found := range known.FindAllStringSubmatch(line+" ", -1) {
			if one := (asked{found[1], found[2]}); !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// calls reports whether a handler runs planloop for a host, or for one that does not exist.
func (m Machine) calls(on hook.Host, handler map[string]any) bool {
	return slices.ContainsFunc(m.asks(handler), func(one asked) bool {
		return one.host == string(on) || !slices.Contains(hook.Hosts(), hook.Host(one.host))
	})
}

// misspelt says which hooks in a document ask planloop what it does not answer: it would let every tool pass.
func (h *hooks) misspelt(m Machine, on hook.Host, d *splice.Document) []string {
	var names, wrong []string
	for _, e := range hook.Events(on) {
		names = append(names, e.Name)
	}
	for _, native := range h.events(d) {
		value, _ := d.Value(under(h.root, native)...)
		for _, handler := range handlersIn(value) {
			for _, one := range m.asks(handler) {
				problem, meant := "", one
				if one.host != string(on) {
					meant.host, problem = string(on), "which is not how this host is called"
				}
				if i := slices.IndexFunc(hook.Events(on), func(e hook.Event) bool { return e.Native == native }); i >= 0 {
					meant.event = names[i]
				} else if near := spelling.Nearest(one.event, names); near != "" {
					meant.event = near
				}
				if meant.event != one.event {
					problem = "which is no event of " + native
					if !slices.Contains(names, one.event) {
						problem = "which is no event that planloop knows"
					}
				}
				if problem != "" {
					wrong = append(wrong, fmt.Sprintf("its hook for %s runs planloop hook %s %s, %s; %s %s is meant", native, one.host,
						one.event, problem, meant.host, meant.event))
				}
			}
		}
	}
	return wrong
}

// unasked says which tools planloop is not asked about, since its hooks in a document are not called for them.
func (m Machine) unasked(on hook.Host, root []splice.Key, d *splice.Document) []string {
	var wrong []string
	for _, e := range hook.Events(on) {
		list := under(root, e.Native)
		spots := m.spots(d, on, list)
		if e.Moment != hook.BeforeTool || len(spots) == 0 {
			continue
		}
		var matchers []string
		for _, s := range spots {
			group, _ := d.Value(under(list, s.element)...)
			matcher, _ := group.(map[string]any)["matcher"].(string)
			if handler, _ := d.Value(s.command(list)...); handler.(map[string]any)["if"] == nil { // which narrows it further
				matchers = append(matchers, matcher)
			}
		}
		missed, unread := hook.Unmatched(on, e.Native, matchers)
		switch {
		case unread != "" && len(missed) > 0:
			wrong = append(wrong, fmt.Sprintf("its hook for %s has the matcher %s, which planloop cannot judge; "+
				"without it every tool is seen", e.Native, plan.Quote(plan.Shorten(unread, plan.MaxName))))
		case len(missed) > 0:
			wrong = append(wrong, fmt.Sprintf("its hook for %s is not called for %s; take \"matcher\" and \"if\" out of it",
				e.Native, strings.Join(missed, ", ")))
		}
	}
	return wrong
}

// handlersIn are the handlers in an event's list, whether they stand in groups or not.
func handlersIn(list any) []map[string]any {
	var all []map[string]any
	elements, _ := list.([]any)
	for _, element := range elements {
		members, _ := element.(map[string]any)
		if grouped, is := members["hooks"]; is {
			all = append(all, handlersIn(grouped)...)
		} else if members != nil {
			all = append(all, members)
		}
	}
	return all
}
