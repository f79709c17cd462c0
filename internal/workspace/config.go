package workspace

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Config is the result of all layers of the configuration.
type Config struct {
	Toolsets []Toolset // in the order of Toolset.Values
	Strategy prompts.Strategy
	Gates    Gates
	Unicode  bool // the six planning tools accept any text, not only ASCII

	NeedsEvidence    bool          // a step needs evidence before it is done
	NeedsPerson      bool          // only a person may approve a plan
	ApprovalTimeout  time.Duration // how long a submitted plan waits; 0: for ever
	GatheringTimeout time.Duration // how long gathering may be inactive; 0: for ever
	AsksForSteps     bool          // a person is asked before a step that may do harm runs

	HooksRequired bool     // without responding hooks, an agent cannot enter planning mode
	ReadOnlyTools []string // patterns of other servers' tools that hooks allow in planning mode; * matches anything
	// ReadOnlyCommands are patterns of shell commands that planning mode allows; a star matches literal words.
	ReadOnlyCommands []string
	RemindersOff     bool // an agent that is about to stop is not reminded of unfinished work

	MaxReplans int
	Parallel   int
	Lease      time.Duration

	AgentsFile string // relative to the workspace, with slashes
	Mirror     string // the same, of the copy of the plan; "": none

	// Never taken from the workspace's own file; decoded when needed.
	Agents, Servers, Model, Notify, Store Section
}

// Defaults returns the settings that apply if nothing is configured.
func Defaults() Config {
	return Config{
		Toolsets:         []Toolset{PlanningTools, LoopTools, ModeTools},
		Strategy:         prompts.DefaultStrategy,
		Gates:            Gates{Profile: gates.Default},
		GatheringTimeout: time.Hour,
		AsksForSteps:     true,
		MaxReplans:       plan.DefaultMaxReplans,
		Parallel:         4,
		Lease:            plan.DefaultLease,
		AgentsFile:       "docs/agents.md",
	}
}

// Limits returns the limits for the reducer.
func (c Config) Limits() plan.Limits {
	return plan.Limits{Lease: c.Lease, MaxReplans: c.MaxReplans, Evidence: c.NeedsEvidence,
		ApprovalTimeout: cmp.Or(c.ApprovalTimeout, -1), GatheringTimeout: cmp.Or(c.GatheringTimeout, -1), // 0 would be the default
		PersonOnly: c.NeedsPerson, NeverAsk: !c.AsksForSteps}
}

// Toolset names a group of tools.
type Toolset string

// The toolsets.
const (
	PlanningTools  Toolset = "planning"
	LoopTools      Toolset = "loop"
	ModeTools      Toolset = "mode"
	ExecutionTools Toolset = "execution"
	WorkspaceTools Toolset = "workspace"
	ServersTools   Toolset = "servers" // of the other servers that the user has configured
)

// Values lists the toolsets in the listing order of their tools.
func (Toolset) Values() []string {
	return []string{string(PlanningTools), string(LoopTools), string(ModeTools), string(ExecutionTools), string(WorkspaceTools),
		string(ServersTools)}
}

// Gates is the strictness of the gates.
type Gates struct {
	Profile gates.Profile
	Levels  map[string]gates.Level // set by the user per gate; overrides the profile
	Floor   map[string]gates.Level // minimum level per gate, asked for by others than the user
	Asked   bool                   // the gates are configured
}

// Level returns the level of a gate to which the current profile gives byProfile.
func (g Gates) Level(gate string, byProfile gates.Level) gates.Level {
	if own, ok := g.Levels[gate]; ok {
		byProfile = own
	}
	if floor := g.Floor[gate]; rank(floor) > rank(byProfile) {
		return floor
	}
	return byProfile
}

// tighten returns g with the settings of others than the user applied, or the reason that they would loosen it. The
// profiles' levels per gate are not known here, so such a level becomes a floor, which cannot loosen.
func (g Gates) tighten(asked Gates) (Gates, string) {
	if asked.Profile == g.Profile && maps.Equal(asked.Levels, g.Levels) {
		return g, ""
	}
	if len(asked.Levels) > 0 {
		for _, gate := range slices.Sorted(maps.Keys(asked.Levels)) {
			level := asked.Levels[gate]
			if level == gates.Off {
				return g, "turns the gate " + gate + " off"
			}
			if own, ok := g.Levels[gate]; ok && rank(level) < rank(own) {
				return g, "makes a finding of the gate " + gate + " a " + string(level) + " only"
			}
		}
		g.Floor = mergeHigher(g.Floor, asked.Levels)
		return g, ""
	}
	switch rank(asked.Profile) - rank(g.Profile) {
	case 0:
		return g, ""
	case 1, 2:
		return Gates{Profile: asked.Profile, Floor: mergeHigher(g.Floor, g.Levels)}, ""
	}
	return g, "asks for " + string(asked.Profile) + ", which is looser than " + string(g.Profile)
}

// mergeHigher returns the higher of two levels for each gate.
func mergeHigher(floor, other map[string]gates.Level) map[string]gates.Level {
	merged := map[string]gates.Level{}
	maps.Copy(merged, floor)
	for gate, level := range other {
		if rank(level) > rank(floor[gate]) {
			merged[gate] = level
		}
	}
	return merged
}

// vocabulary is a closed set of words.
type vocabulary interface {
	~string
	Values() []string
}

// rank is the position of a word in its list, -1 if it is unknown.
func rank[T vocabulary](word T) int { return slices.Index(word.Values(), string(word)) }
