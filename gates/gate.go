package gates

import "context"

// gate is one check. It looks at one task at a time; results about the whole plan are computed before and kept in the
// examination.
type gate struct {
	name    string
	field   string // of a task that it looks at first; "" if it equals name
	purpose string
	level   Level // under Default
	mild    bool  // only warns under Lenient
	byHand  bool  // skipped for a step run by a tool, which needs no guidance
	check   func(context.Context, *examination, int) []flaw
}

// flaw is a gate's objection to a task.
type flaw struct {
	message, fix string
	verbatim     bool // the specification fixes the whole message: nothing is appended
}

// all lists the gates in the order in which they report on a task. The judge is asked about the whole plan, after all
// others.
func all() []gate {
	return []gate{
		{name: "title", purpose: "there is a title, and it names something to work on", level: Error, check: checkTitle},
		{name: "type", purpose: "the type is one of feature, bugfix, chore, test", level: Error, mild: true, byHand: true,
			check: checkType},
		{name: "context_hints", purpose: "there are hints on what to read first", level: Error, mild: true, byHand: true,
			check: checkHintsGiven},
		{name: "relevant_file_paths", purpose: "there are paths to work on, here or in `creates`", level: Error, mild: true,
			byHand: true, check: checkPathsGiven},
		{name: "dependencies_known", field: "dependencies", purpose: "every dependency is a task of the plan", level: Error,
			check: checkDependenciesKnown},
		{name: "dependencies_acyclic", field: "dependencies", purpose: "no task waits for itself, directly or through others", level: Error,
			check: checkDependenciesAcyclic},
		{name: "paths_exist", field: "relevant_file_paths",
			purpose: "every path is in the workspace, and exists or is created by the task or an earlier one",
			level:   Error, check: checkPathsExist},
		{name: "hint_paths", field: "context_hints", purpose: "every file that a hint names in backquotes exists or will be created",
			level: Error, mild: true,
			check: checkHintPaths},
		{name: "duplicate", field: "title", purpose: "no open step and no other new task has the same title", level: Error,
			check: checkDuplicate},
		{name: "hint_actionable", field: "context_hints", purpose: "every hint says what to do or where to look", level: Warning,
			check: checkHintsActionable},
		{name: "single_responsibility", field: "title", purpose: "the title asks for one thing", level: Warning,
			check: checkResponsibility},
		{name: "vague_outcome", field: "title", purpose: "the title names a visible outcome", level: Warning,
			check: checkOutcome},
		{name: "oversize", field: "title", purpose: "the task fits into one commit", level: Warning, check: checkSize},
		{name: "verifiable", field: "title", purpose: "the task has a criterion or command to verify it", level: Warning, byHand: true,
			check: checkVerifiable},
		{name: "verify_command", field: "verify", purpose: "`verify` is a command, not prose", level: Error, check: checkIsCommand},
		{name: "verify_installed", field: "verify", purpose: "the command in `verify` is installed here", level: Warning,
			check: checkIsInstalled},
		{name: "reversible", field: "risk", purpose: "a task with high risk describes a rollback", level: Warning, check: checkReversible},
		{name: judgeGate, purpose: "the judge, if configured, approves the plan", level: Error},
	}
}

// Names lists the gates in the order in which they report. A name is a key of the configuration and never changes.
func Names() []string {
	var names []string
	for _, g := range all() {
		names = append(names, g.name)
	}
	return names
}

// Purpose describes briefly what a gate requires, "" for an unknown gate.
func Purpose(name string) string {
	return find(name).purpose
}

func find(name string) gate {
	for _, g := range all() {
		if g.name == name {
			return g
		}
	}
	return gate{}
}

// Level is the effect of a gate's finding on a plan.
type Level string

// The levels.
const (
	Off     Level = "off"     // the gate is skipped
	Warning Level = "warning" // the finding is shown
	Error   Level = "error"   // the plan is refused
)

// Values lists the levels, the mildest first.
func (Level) Values() []string { return []string{"off", "warning", "error"} }

// Profile is a choice of levels for all gates.
type Profile string

// The profiles.
const (
	Lenient Profile = "lenient" // only warns about data missing in a bare list of titles
	Default Profile = "default"
	Strict  Profile = "strict" // every finding refuses the plan
)

// Values lists the profiles, the mildest first.
func (Profile) Values() []string { return []string{"lenient", "default", "strict"} }

// ByProfile returns the level a profile gives a gate. An unknown profile counts as Default; an unknown gate is Off.
func ByProfile(p Profile, name string) Level {
	g := find(name)
	switch {
	case g.name == "":
		return Off
	case p == Strict:
		return Error
	case p == Lenient && g.mild:
		return Warning
	}
	return g.level
}
