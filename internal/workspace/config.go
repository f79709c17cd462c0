package workspace

import (
	"maps"
	"slices"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Config is what the layers of the configuration come to.
type Config struct {
	Toolsets []Toolset // in the order of Toolset.Values
	Strategy prompts.Strategy
	Gates    Gates
	Text     TextRule

	Completion       Completion
	Approval         Approval
	ApprovalTimeout  time.Duration // how long a submitted plan waits; 0: for ever
	GatheringTimeout time.Duration // how long gathering may be silent; 0: for ever
	StepApproval     StepApproval

	Hooks         Hooks
	ReadOnlyTools []string // patterns of the tools of other servers that hooks let pass in planning mode; * stands for anything
	Reminders     Reminders

	MaxReplans int
	Parallel   int
	Lease      time.Duration

	AgentsFile string // below the workspace, with slashes

	// What only the user may set, left undecoded until it is needed.
	Agents, Servers, Model, Notify, Store Section
}

// Defaults returns what holds where nobody set anything.
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
		ApprovalTimeout: never(c.ApprovalTimeout), GatheringTimeout: never(c.GatheringTimeout), PersonOnly: c.Approval == PersonApproval,
		NeverAsk: c.StepApproval == NeverAskForSteps}
}

// never is a time-out as the reducer has it, where 0 means the default.
func never(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return -1
	}
	return timeout
}

// TextRule says which characters the six planning tools accept.
type TextRule string

// The text rules.
const (
	ASCII   TextRule = "ascii"
	Unicode TextRule = "unicode"
)

// Values lists the text rules, the default first.
func (TextRule) Values() []string { return []string{string(ASCII), string(Unicode)} }

// Completion says what it takes to mark a step done.
type Completion string

// The rules of completion, the loosest first.
const (
	Trust    Completion = "trust"
	Evidence Completion = "evidence"
)

// Values lists the rules from the loosest, which is the default, to the strictest.
func (Completion) Values() []string { return []string{string(Trust), string(Evidence)} }

// Approval says whose approval counts.
type Approval string

// The rules of approval, the loosest first.
const (
	AnyApproval    Approval = "any"
	PersonApproval Approval = "person"
)

// Values lists the rules from the loosest, which is the default, to the strictest.
func (Approval) Values() []string { return []string{string(AnyApproval), string(PersonApproval)} }

// StepApproval says whether a person is asked before a step runs that may do harm.
type StepApproval string

// The rules of approval of steps, the loosest first.
const (
	NeverAskForSteps StepApproval = "never"
	AskForSteps      StepApproval = "ask"
)

// Values lists the rules from the loosest to the strictest, which is the default.
func (StepApproval) Values() []string { return []string{string(NeverAskForSteps), string(AskForSteps)} }

// Hooks says whether planning mode needs the hooks of an agent's host.
type Hooks string

// The rules of hooks, the loosest first.
const (
	HooksAdvised  Hooks = "advised"
	HooksRequired Hooks = "required" // who has none that answer does not enter planning mode
)

// Values lists the rules from the loosest, which is the default, to the strictest.
func (Hooks) Values() []string { return []string{string(HooksAdvised), string(HooksRequired)} }

// Reminders says whether an agent that is about to stop is told what it leaves behind.
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

// Values lists the toolsets in the order in which their tools are listed.
func (Toolset) Values() []string {
	return []string{string(PlanningTools), string(LoopTools), string(ModeTools), string(ExecutionTools), string(WorkspaceTools),
		string(ServersTools)}
}

// Gates says how strict each gate is.
type Gates struct {
	Profile gates.Profile
	Levels  map[string]gates.Level // what the user set gate by gate; comes before the profile
	Floor   map[string]gates.Level // below which no gate goes: what others than the user ask for
	Asked   bool                   // somebody configured them
}

// Level returns the level of a gate to which the profile in force gives byProfile.
func (g Gates) Level(gate string, byProfile gates.Level) gates.Level {
	if own, ok := g.Levels[gate]; ok {
		byProfile = own
	}
	if floor := g.Floor[gate]; rank(floor) > rank(byProfile) {
		return floor
	}
	return byProfile
}

// tightened returns g with what somebody else than the user asks for, or why that
// would loosen it. What the profiles give to each gate is not known here, so a
// level of theirs is a floor: it cannot loosen.
func (g Gates) tightened(asked Gates) (Gates, string) {
	if asked.Profile == g.Profile && maps.Equal(asked.Levels, g.Levels) {
		return g, ""
	}
	if len(asked.Levels) > 0 {
		return g.raised(asked.Levels)
	}
	switch rank(asked.Profile) - rank(g.Profile) {
	case 0:
		return g, ""
	case 1, 2:
		return Gates{Profile: asked.Profile, Floor: higher(g.Floor, g.Levels)}, ""
	}
	return g, "asks for " + string(asked.Profile) + ", which is looser than " + string(g.Profile)
}

func (g Gates) raised(floor map[string]gates.Level) (Gates, string) {
	for _, gate := range slices.Sorted(maps.Keys(floor)) {
		level := floor[gate]
		if level == gates.Off {
			return g, "turns the gate " + gate + " off"
		}
		if own, ok := g.Levels[gate]; ok && rank(level) < rank(own) {
			return g, "makes a finding of the gate " + gate + " a " + string(level) + " only"
		}
	}
	g.Floor = higher(g.Floor, floor)
	return g, ""
}

// higher returns for each gate of either the higher of its levels.
func higher(floor, other map[string]gates.Level) map[string]gates.Level {
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

// rank is the place of a word in its list, -1 for one that is not in it.
func rank[T vocabulary](word T) int { return slices.Index(word.Values(), string(word)) }
