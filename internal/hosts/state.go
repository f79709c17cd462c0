package hosts

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/splice"
)

// State is how much of planloop a host knows, as its files say.
type State string

// The states. A host that has no place for something has no state for it: None.
const (
	None       State = ""
	Current    State = "current"
	Edited     State = "edited"        // planloop's, and current but for what was changed by hand, which stays
	Old        State = "old"           // planloop's, but of another version or at another path, or not all of it
	Missing    State = "missing"       // not there
	Foreign    State = "foreign"       // something else goes by planloop's name
	Unreadable State = "unreadable"    // nobody can say
	ByPlugin   State = "by the plugin" // it stands in no file that init writes, and need not
)

// Stands reports whether something of planloop's own stands in a file, be it current or not.
func (s State) Stands() bool { return s == Current || s == Edited || s == Old }

// Known reports whether the host has it, by a file or by a plugin.
func (s State) Known() bool { return s.Stands() || s == ByPlugin }

// worst joins the states of parts. Where some are there and some are missing, it is old.
func worst(states ...State) State {
	states = slices.DeleteFunc(slices.Clone(states), func(s State) bool { return s == None })
	some := slices.ContainsFunc(states, State.Stands)
	for _, state := range []State{Unreadable, Foreign, Missing, Old, Edited, Current, ByPlugin} {
		switch {
		case !slices.Contains(states, state):
		case state == Missing && some:
			return Old
		default:
			return state
		}
	}
	return None
}

// text is a value of a document in one spelling, to be compared and remembered.
func text(value any) string {
	data, _ := json.Marshal(plain(value), json.Deterministic(true), jsontext.AllowInvalidUTF8(true)) // it came out of a document
	return string(data)
}

// plain is a value as a document returns it.
func plain(value any) any {
	switch value := value.(type) {
	case splice.Object:
		members := map[string]any{}
		for _, m := range value {
			members[m.Key] = plain(m.Value)
		}
		return members
	case []any:
		var elements = []any{}
		for _, element := range value {
			elements = append(elements, plain(element))
		}
		return elements
	}
	return value
}
