package workspace

import (
	"maps"
	"slices"
)

// Profile says how strict the gates are as a whole.
type Profile string

// The profiles, the loosest first.
const (
	Lenient        Profile = "lenient"
	DefaultProfile Profile = "default"
	Strict         Profile = "strict"
)

// Values lists the profiles from the loosest to the strictest.
func (Profile) Values() []string {
	return []string{string(Lenient), string(DefaultProfile), string(Strict)}
}

// Level says what becomes of a gate's finding.
type Level string

// The levels, the loosest first.
const (
	Off       Level = "off"
	WarnLevel Level = "warning"
	ErrLevel  Level = "error"
)

// Values lists the levels from the loosest to the strictest.
func (Level) Values() []string { return []string{string(Off), string(WarnLevel), string(ErrLevel)} }

// Gates says how strict each gate is.
type Gates struct {
	Profile Profile
	Levels  map[string]Level // what the user set gate by gate; comes before the profile
	Floor   map[string]Level // below which no gate goes: what a workspace's own file asks for
}

// Level returns the level of a gate to which the profile in force gives byProfile.
func (g Gates) Level(gate string, byProfile Level) Level {
	level := byProfile
	if own, ok := g.Levels[gate]; ok {
		level = own
	}
	return stricter(level, g.Floor[gate])
}

// tightened returns g with what a workspace's own file asks for, or why that
// would loosen it. What the profiles give to each gate is not known here, so a
// level from the file is a floor: it cannot loosen.
func (g Gates) tightened(asked Gates) (Gates, string) {
	if len(asked.Levels) > 0 {
		return g.raised(asked.Levels)
	}
	switch rank(asked.Profile) - rank(g.Profile) {
	case 0:
		return g, ""
	case 1, 2:
		return Gates{Profile: asked.Profile, Floor: g.Levels}, ""
	}
	return g, "asks for " + string(asked.Profile) + ", which is looser than " + string(g.Profile)
}

func (g Gates) raised(floor map[string]Level) (Gates, string) {
	for _, gate := range slices.Sorted(maps.Keys(floor)) {
		level := floor[gate]
		if level == Off {
			return g, "turns the gate " + gate + " off"
		}
		if own, ok := g.Levels[gate]; ok && rank(level) < rank(own) {
			return g, "makes a finding of the gate " + gate + " a " + string(level) + " only"
		}
	}
	g.Floor = floor
	return g, ""
}

func stricter(a, b Level) Level {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// vocabulary is a closed set of words.
type vocabulary interface {
	~string
	Values() []string
}

// rank is the place of a word in its list, -1 for one that is not in it.
func rank[T vocabulary](word T) int { return slices.Index(word.Values(), string(word)) }
