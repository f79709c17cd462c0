package workspace

import (
	"time"

	"github.com/planloop/planloop/plan"
)

// Config is what the layers of the configuration come to.
type Config struct {
	Toolsets []Toolset // in the order of Toolset.Values
	Strategy Strategy
	Gates    Gates
	Text     TextRule

	Completion       Completion
	Approval         Approval
	ApprovalTimeout  time.Duration // how long a submitted plan waits; 0: for ever
	GatheringTimeout time.Duration // how long gathering may be silent; 0: for ever

	MaxReplans int
	Parallel   int
	Lease      time.Duration

	AgentsFile string // below the workspace, with slashes

	// What only the user may set, left undecoded until it is needed.
	Servers, Model, Notify, Hooks, Store Section
}

// Defaults returns what holds where nobody set anything.
func Defaults() Config {
	return Config{
		Toolsets:         []Toolset{PlanningTools, LoopTools, ModeTools},
		Strategy:         React,
		Gates:            Gates{Profile: DefaultProfile},
		Text:             ASCII,
		Completion:       Trust,
		Approval:         AnyApproval,
		ApprovalTimeout:  30 * time.Minute,
		GatheringTimeout: time.Hour,
		MaxReplans:       plan.DefaultMaxReplans,
		Parallel:         4,
		Lease:            plan.DefaultLease,
		AgentsFile:       "docs/agents.md",
	}
}

// Limits returns the limits for the reducer.
func (c Config) Limits() plan.Limits {
	return plan.Limits{Lease: c.Lease, MaxReplans: c.MaxReplans, Evidence: c.Completion == Evidence,
		ApprovalTimeout: never(c.ApprovalTimeout), GatheringTimeout: never(c.GatheringTimeout), PersonOnly: c.Approval == PersonApproval}
}

// never is a time-out as the reducer has it, where 0 means the default.
func never(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return -1
	}
	return timeout
}
