package hosts

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// listedHook is the position of a hook: an element of an event's list, or a handler in that element's own list.
type listedHook struct {
	element, index int  // index is -1 if the element is the handler
	isOnly         bool // nothing else is in the element
	handler, group map[string]any
}

// path leads to planloop's part: the whole element if nothing else is in it, else the handler.
func (s listedHook) path(list []string) []string {
	if s.isOnly {
		return subpath(list, strconv.Itoa(s.element))
	}
	return s.handlerPath(list)
}

func (s listedHook) handlerPath(list []string) []string {
	if s.index < 0 {
		return subpath(list, strconv.Itoa(s.element))
	}
	return subpath(list, strconv.Itoa(s.element), "hooks", strconv.Itoa(s.index))
}

// part returns the ledger's name for the hook of an event.
func part(list []string) string { return pointer(subpath(list, hook.OwnServer)) }

// install makes planloop's hooks current, except for changes made by hand, and removes them from events it does not listen to.
func (h *hooks) install(m Machine, on hook.Host, w *draft) (State, error) {
	states := []State{None}
	for _, fixed := range h.fixedMembers {
		if !w.has(fixed.key) {
			w.written[pointer([]string{fixed.key})] = canonicalJSON(fixed.value)
			if err := w.set(fixed.value, fixed.key); err != nil {
				return Unreadable, err
			}
		}
	}
	var listened []string
	for _, e := range hook.Events(on) {
		state, err := h.installEvent(m, on, e, w)
		if err != nil {
			return Unreadable, err
		}
		states, listened = append(states, state), append(listened, e.Native)
	}
	for native, hooks := range h.eventLists(w.document) {
		if !slices.Contains(listened, native) && len(m.findHooks(on, hooks)) > 0 {
			m.removeHooks(w, on, subpath(h.root, native), 0)
			states = append(states, Old)
		}
	}
	return worst(states...), nil
}

func (h *hooks) installEvent(m Machine, on hook.Host, e hook.Event, w *draft) (State, error) {
	list, wanted, state := subpath(h.root, e.Native), h.listElement(m, on, e), Current
	if len(m.findHooks(on, w.value(list...))) == 0 {
		w.recordParents(subpath(list, ""))
		w.written[part(list)] = canonicalJSON(wanted)
		return Missing, w.add(wanted, list...)
	}
	if m.removeHooks(w, on, list, 1) {
		state = Old
	}
	s := m.findHooks(on, w.value(list...))[0]
	if !s.isOnly {
		wanted = h.makeHandler(m, on, e)
	}
	switch canonicalJSON(w.value(s.path(list)...)) {
	case canonicalJSON(wanted):
		return state, nil
	case w.written[part(list)]:
		w.written[part(list)] = canonicalJSON(wanted)
		return Old, w.set(wanted, s.path(list)...)
	}
	w.notes = append(w.notes, "the hook for "+e.Native+" was changed by hand; the change stays")
	return h.repair(m, on, e, w, s.handlerPath(list))
}

func (h *hooks) repair(m Machine, on hook.Host, e hook.Event, w *draft, at []string) (State, error) {
	state := Edited
	for _, member := range h.makeHandler(m, on, e) {
		if !slices.Contains(commandMembers(), member.key) && member.key != "args" {
			continue
		}
		if path := subpath(at, member.key); canonicalJSON(w.value(path...)) != canonicalJSON(member.value) {
			if err := w.set(member.value, path...); err != nil {
				return Unreadable, err
			}
			state = Old
		}
	}
	return state, nil
}

// removeHooks removes planloop's hooks from the list of an event, except for the first few.
func (m Machine) removeHooks(w *draft, on hook.Host, list []string, but int) (removed bool) {
	spots := m.findHooks(on, w.value(list...))
	for _, s := range slices.Backward(spots[min(but, len(spots)):]) {
		w.remove(s.handlerPath(list)...)
		if group := subpath(list, strconv.Itoa(s.element)); s.index >= 0 && w.empty(subpath(group, "hooks")...) {
			w.remove(group...)
		}
	}
	return len(spots) > but
}

func (h *hooks) remove(m Machine, on hook.Host, w *draft) State {
	state, events := Missing, h.eventLists(w.document)
	for _, native := range slices.Sorted(maps.Keys(events)) {
		list := subpath(h.root, native)
		_, wrote := w.written[part(list)]
		switch {
		case len(m.findHooks(on, events[native])) == 0:
		case wrote:
			m.removeHooks(w, on, list, 0)
			w.dropEmpty(list)
			state = Current
		default:
			w.notes = append(w.notes, "the hook for "+native+" stays, because init did not write it")
			if state == Missing {
				state = Kept
			}
		}
	}
	_, made := w.written[pointer(h.root)]
	for _, fixed := range h.fixedMembers { // hooks added by others since may need it
		if _, wrote := w.written[pointer([]string{fixed.key})]; wrote && !(made && w.has(h.root...)) {
			w.remove(fixed.key)
		}
	}
	return state
}

func (h *hooks) listElement(m Machine, on hook.Host, e hook.Event) object {
	handler := h.makeHandler(m, on, e)
	if h.isGrouped == nil || !h.isGrouped(e) {
		return handler
	}
	var group object
	if matcher := cmp.Or(e.Matcher, h.matchAll); matcher != "" {
		group = object{{"matcher", matcher}}
	}
	return append(group, member{"hooks", []any{handler}})
}

func (h *hooks) makeHandler(m Machine, on hook.Host, e hook.Event) object {
	handler := h.handler(e, h.commandLine(m, on, e), e.Limit(on))
	if m.GOOS == "windows" && h.shell == runDirect {
		handler = append(handler, member{"args", []any{"hook", string(on), e.Name}})
	}
	return handler
}

func (h *hooks) eventLists(d *document) map[string]any {
	events, _ := d.value(h.root...).(map[string]any)
	return events
}

func listHooks(list any) []listedHook {
	var found []listedHook
	elements, _ := list.([]any)
	for i, element := range elements {
		members, _ := element.(map[string]any)
		handlers, grouped := members["hooks"].([]any)
		if !grouped {
			found = append(found, listedHook{i, -1, true, members, members})
		}
		for j, handler := range handlers {
			handler, _ := handler.(map[string]any)
			found = append(found, listedHook{i, j, len(handlers) == 1, handler, members})
		}
	}
	return found
}

func (m Machine) findHooks(on hook.Host, list any) []listedHook {
	return slices.DeleteFunc(listHooks(list), func(h listedHook) bool {
		return !slices.ContainsFunc(m.hookCalls(h.handler), func(one hookCall) bool { // for this host, or for an unknown one
			return one.host == string(on) || !slices.Contains(hook.Hosts(), hook.Host(one.host))
		})
	})
}

// commandMembers lists the members that contain a command, in any host.
func commandMembers() []string { return []string{"command", "powershell", "bash"} }

type hookCall struct{ host, event string } // what a handler passes to planloop

func (m Machine) hookCalls(handler map[string]any) []hookCall {
	program := "(?i:planloop)|" + regexp.QuoteMeta(strings.TrimSuffix(base(m.Program), ".exe"))
	known, err := regexp.Compile(`(?:` + program + `)[^/\\\s]*\s+hook\s+(\S+)\s+(\S*)`)
	if err != nil { // the path is not UTF-8
		return nil
	}
	var all []hookCall
	for _, line := range commandLines(handler) {
		args, _ := handler["args"].([]any)
		for _, arg := range args {
			arg, _ := arg.(string)
			line += " " + arg
		}
		for _, found := range known.FindAllStringSubmatch(line+" ", -1) {
			all = appendNew(all, hookCall{found[1], found[2]})
		}
	}
	return all
}

// misspelledHooks lists hooks that call planloop with a wrong host or event. Such a hook would let every tool pass.
func (m Machine) misspelledHooks(on hook.Host, events map[string]any) []string {
	var names, wrong []string
	for _, e := range hook.Events(on) {
		names = append(names, e.Name)
	}
	for _, native := range slices.Sorted(maps.Keys(events)) {
		for _, h := range listHooks(events[native]) {
			for _, one := range m.hookCalls(h.handler) {
				problem, meant := "", one
				if one.host != string(on) {
					meant.host, problem = string(on), "which is not this host's name"
				}
				if i := slices.IndexFunc(hook.Events(on), func(e hook.Event) bool { return e.Native == native }); i >= 0 {
					meant.event = names[i]
				} else if near := safetext.Nearest(one.event, names); near != "" {
					meant.event = near
				}
				if meant.event != one.event {
					problem = "which is not the event for " + native
					if !slices.Contains(names, one.event) {
						problem = "which is not a known event"
					}
				}
				if problem != "" {
					wrong = append(wrong, fmt.Sprintf("its hook for %s runs planloop hook %s %s, %s; use planloop hook %s %s",
						native, one.host, one.event, problem, meant.host, meant.event))
				}
			}
		}
	}
	return wrong
}

// uncoveredTools lists the tools for which planloop's hooks are not called, or not waited for.
func (m Machine) uncoveredTools(on hook.Host, events map[string]any) []string {
	var wrong []string
	for _, e := range hook.Events(on) {
		spots := m.findHooks(on, events[e.Native])
		if e.Moment != hook.BeforeTool || len(spots) == 0 {
			continue
		}
		var matchers, weak []string
		for _, s := range spots {
			matcher, isText := s.group["matcher"].(string)
			switch why := weakness(on, s); {
			case why != "":
				weak = append(weak, fmt.Sprintf("its hook for %s %s", e.Native, why))
			case s.group["matcher"] == nil || isText:
				matchers = append(matchers, matcher)
			}
		}
		missed, unread := hook.UncoveredTools(on, e.Native, matchers)
		switch {
		case len(missed) == 0 && len(matchers) > 0:
		case len(weak) > 0:
			wrong = append(wrong, weak...)
		case unread != "":
			wrong = append(wrong, fmt.Sprintf("its hook for %s has the matcher %s, which planloop cannot read; "+
				"remove it to cover every tool", e.Native, plan.Quote(plan.Shorten(unread, plan.MaxName))))
		default:
			wrong = append(wrong, fmt.Sprintf("its hook for %s is not called for %s; remove its \"matcher\"",
				e.Native, cmp.Or(strings.Join(missed, ", "), "every tool")))
		}
	}
	return wrong
}

var (
	errorOutput = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`2>>?\s*(?:&1|[^\s;|&>]+)`) })
	redirected  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`hook\s+\S+\s+[\w-]+[^;|&>\n]*(?:>|\|[^|]|\|$|&[^&]|&$)`)
	})
)

// losesAnswer reports whether a command gives planloop's answer to a file or another program, or does not wait for it.
func losesAnswer(line string) bool {
	return redirected().MatchString(errorOutput().ReplaceAllString(line, ""))
}

// weakness returns why a hook does not check all calls that its matcher covers, with the fix; "" if it does.
func weakness(on hook.Host, s listedHook) string {
	for _, of := range []map[string]any{s.handler, s.group} {
		switch {
		case of["if"] != nil:
			return `is not called for every tool; remove its "if"`
		case of["async"] == true || of["asyncRewake"] == true:
			return `is asynchronous, so tools do not wait for it; remove its "async"`
		case of["enabled"] == false || of["disabled"] == true:
			return "is disabled; enable it"
		}
	}
	if kind, isText := s.handler["type"].(string); isText && kind != "command" {
		return `runs no command; set its "type" to "command"`
	}
	if slices.ContainsFunc(commandLines(s.handler), losesAnswer) {
		return "sends its answer elsewhere or does not wait for it; remove the >, | or & after its command"
	}
	limit := hook.TimeLimit.Seconds()
	if on == hook.Gemini {
		limit *= 1000
	}
	if given, isSet := s.handler["timeout"].(float64); isSet && given < limit/2 {
		return fmt.Sprintf("has the time-out %v, after which its host runs the tool without an answer; set it to %v", given, limit)
	}
	return ""
}
