package hosts

import "slices"

// State describes a part of planloop in a host's files.
type State string

// The states. A host without a place for a part has the state None for it.
const (
	None       State = ""
	Current    State = "current"
	Edited     State = "edited"        // planloop's and current, with changes made by hand, which stay
	Old        State = "old"           // planloop's, but incomplete, of another version or at another path
	Missing    State = "missing"       // not in the file
	Foreign    State = "foreign"       // another server has planloop's name
	Unreadable State = "unreadable"    // unknown, because the file cannot be read
	ByPlugin   State = "by the plugin" // not in init's files, because a plugin has it
	Kept       State = "kept"          // planloop's, but not removed, because init did not write it
)

// IsInFile reports whether the file has planloop's part, current or not.
func (s State) IsInFile() bool { return s == Current || s == Edited || s == Old || s == Kept }

// IsInstalled reports whether the host has the part, in a file or by a plugin.
func (s State) IsInstalled() bool { return s.IsInFile() || s == ByPlugin }

// asKept returns the state of a part that is not removed.
func (s State) asKept() State {
	if s.IsInFile() {
		return Kept
	}
	return s
}

// worst combines the states of several parts. It is Old if some exist and others are missing.
func worst(states ...State) State {
	states = slices.DeleteFunc(slices.Clone(states), func(s State) bool { return s == None })
	some := slices.ContainsFunc(states, State.IsInFile)
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
