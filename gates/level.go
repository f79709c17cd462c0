package gates

// Level says what a finding of a gate does to a plan.
type Level string

// The levels.
const (
	Off     Level = "off"     // the gate is not asked
	Warning Level = "warning" // the finding is shown
	Error   Level = "error"   // the plan is refused
)

// Values lists the levels, the mildest first.
func (Level) Values() []string { return []string{"off", "warning", "error"} }

func (l Level) known() bool { return l == Off || l == Warning || l == Error }

// Profile is a choice of levels for all gates.
type Profile string

// The profiles.
const (
	Lenient Profile = "lenient" // what a bare list of titles lacks is only shown
	Default Profile = "default"
	Strict  Profile = "strict" // whatever is found refuses the plan
)

// Values lists the profiles, the mildest first.
func (Profile) Values() []string { return []string{"lenient", "default", "strict"} }

// ByProfile returns the level a profile gives a gate. A profile that is not known
// counts as Default; a gate that is not known is Off.
func ByProfile(p Profile, name string) Level {
	g, ok := find(name)
	switch {
	case !ok:
		return Off
	case p == Strict:
		return Error
	case p == Lenient && g.mild:
		return Warning
	}
	return g.level
}
