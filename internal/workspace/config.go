package workspace

import (
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
	Text     TextRule

	Completion       Completion
	Approval         Approval
	ApprovalTimeout  time.Duration // how long a submitted plan waits; 0: for ever
	GatheringTimeout time.Duration // how long gathering may be inactive; 0: for ever
	StepApproval     StepApproval

	Hooks         Hooks
	ReadOnlyTools []string // patterns of other servers' tools that hooks allow in planning mode; * matches anything
	Reminders     Reminders

	MaxReplans int
	Parallel   int
	Lease      time.Duration

	AgentsFile string // relative to the workspace, with slashes

	// Never taken from the workspace's own file; decoded when needed.
	Agents, Servers, Model, Notify, Store Section
}

// Defaults returns the settings that apply if nothing is configured.
func Defaults() Config {
	return Config{
		Toolsets:         []Toolset{PlanningTools, LoopTools, ModeTools},
		Strategy:         prompts.DefaultStrategy,
		Gates:            Gates{Profile: gates.Default},
		Text:             ASCII,
		Completion:       Trust,
		Approval:         AnyApproval,
		ApprovalTimeout:  30 * time.Minute,
		GatheringTimeout: time.Hour,
		StepApproval:     AskForSteps,
		Hooks:            HooksAdvised,
		Reminders:        RemindersOn,
		MaxReplans:       plan.DefaultMaxReplans,
		Parallel:         4,
		Lease:            plan.DefaultLease,
		AgentsFile:       "docs/agents.md",
	}
}

// Limits returns the limits for the reducer.
func (c Config) Limits() plan.Limits {
	return plan.Limits{Lease: c.Lease, MaxReplans: c.MaxReplans, Evidence: c.Completion == Evidence,
		ApprovalTimeout: orNever(c.ApprovalTimeout), GatheringTimeout: orNever(c.GatheringTimeout),
		PersonOnly: c.Approval == PersonApproval, NeverAsk: c.StepApproval == NeverAskForSteps}
}

// orNever converts a time-out for the reducer, where 0 means the default.
func orNever(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return -1
	}
	return timeout
}

// TextRule selects the characters that the six planning tools accept.
type TextRule string

// The text rules.
const (
	ASCII   TextRule = "ascii"
	Unicode TextRule = "unicode"
)

// Values lists the text rules, the default first.
func (TextRule) Values() []string { return []string{string(ASCII), string(Unicode)} }

// Completion is the rule for marking a step done.
type Completion string

// The rules of completion, the loosest first.
const (
	Trust    Completion = "trust"
	Evidence Completion = "evidence"
)

// Values lists the rules from the loosest, which is the default, to the strictest.
func (Completion) Values() []string { return []string{string(Trust), string(Evidence)} }

// Approval is the rule for valid approvals.
type Approval string

// The rules of approval, the loosest first.
const (
	AnyApproval    Approval = "any"
	PersonApproval Approval = "person"
)

// Values lists the rules from the loosest, which is the default, to the strictest.
func (Approval) Values() []string { return []string{string(AnyApproval), string(PersonApproval)} }

// StepApproval is the rule for asking a person before a step that may do harm runs.
type StepApproval string

// The rules of approval of steps, the loosest first.
const (
	NeverAskForSteps StepApproval = "never"
	AskForSteps      StepApproval = "ask"
)

// Values lists the rules from the loosest to the strictest, which is the default.
func (StepApproval) Values() []string { return []string{string(NeverAskForSteps), string(AskForSteps)} }

// Hooks is the rule for planning mode without hooks of the agent's host.
type Hooks string

// The rules of hooks, the loosest first.
const (
	HooksAdvised  Hooks = "advised"
	HooksRequired Hooks = "required" // without responding hooks, an agent cannot enter planning mode
)

// Values lists the rules from the loosest, which is the default, to the strictest.
func (Hooks) Values() []string { return []string{string(HooksAdvised), string(HooksRequired)} }

// Reminders decides whether an agent that is about to stop is reminded of unfinished work.
type Reminders string

// The rules of reminders.
const (
	RemindersOn  Reminders = "on"
	RemindersOff Reminders = "off"
)

// Values lists the rules, the default first.
func (Reminders) Values() []string { return []string{string(RemindersOn), string(RemindersOff)} }

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
		return g.raiseFloor(asked.Levels)
	}
	switch rank(asked.Profile) - rank(g.Profile) {
	case 0:
		return g, ""
	case 1, 2:
		return Gates{Profile: asked.Profile, Floor: mergeHigher(g.Floor, g.Levels)}, ""
	}
	return g, "asks for " + string(asked.Profile) + ", which is looser than " + string(g.Profile)
}

func (g Gates) raiseFloor(floor map[string]gates.Level) (Gates, string) {
	for _, gate := range slices.Sorted(maps.Keys(floor)) {
		level := floor[gate]
		if level == gates.Off {
			return g, "turns the gate " + gate + " off"
		}
		if own, ok := g.Levels[gate]; ok && rank(level) < rank(own) {
			return g, "makes a finding of the gate " + gate + " a " + string(level) + " only"
		}
	}
	g.Floor = mergeHigher(g.Floor, floor)
	return g, ""
}

// mergeHigher returns the higher of two levels for each gate.
func mergeHigher(floor, other map[string]gates.Level) map[string]gates.Level {
	floor = maps.Clone(floor)
	for gate, level := range other {
		if floor == nil {
			floor = map[string]gates.Level{}
		}
		if rank(level) > rank(floor[gate]) {
			floor[gate] = level
		}
	}
	return floor
}

// vocabulary is a closed set of words.
type vocabulary interface {
	~string
	Values() []string
}

// rank is the position of a word in its list, -1 if it is unknown.
func rank[T vocabulary](word T) int { return slices.Index(word.Values(), string(word)) }
