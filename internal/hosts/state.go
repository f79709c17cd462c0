package hosts

import "slices"

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
	ByPlugin   State = "by the plugin" // it is in no file that init writes, and need not be
	Kept       State = "kept"          // planloop's, and not taken out, because init did not write it
)

// Stands reports whether a file has something of planloop's, current or not.
func (s State) Stands() bool { return s == Current || s == Edited || s == Old || s == Kept }

// Known reports whether the host has it, by a file or by a plugin.
func (s State) Known() bool { return s.Stands() || s == ByPlugin }

// kept is the state of what is not taken out.
func (s State) kept() State {
	if s.Stands() {
		return Kept
	}
	return s
}

// worst joins the states of parts. Where some are there and some are missing, it is old.
func worst(states ...State) State {
	states = slices.DeleteFunc(slices.Clone(states), func(s State) bool { return s == None })
	some := slices.ContainsFunc(states, State.Stands)
	for _, state := range []State{Unreadable, Foreign, Missing, Old, Edited, Current, Kept, ByPlugin} {
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
