package workspace

// Strategy is the mindset that the instructions teach.
type Strategy string

// The strategies.
const (
	React                        Strategy = "react"
	PlanActReflect               Strategy = "plan_act_reflect"
	GoalDecomposeRouteSynthesise Strategy = "goal_decompose_route_synthesise"
)

// Values lists the strategies, the default first.
func (Strategy) Values() []string {
	return []string{string(React), string(PlanActReflect), string(GoalDecomposeRouteSynthesise)}
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

// Toolset names a group of tools.
type Toolset string

// The toolsets.
const (
	PlanningTools  Toolset = "planning"
	LoopTools      Toolset = "loop"
	ModeTools      Toolset = "mode"
	ExecutionTools Toolset = "execution"
	WorkspaceTools Toolset = "workspace"
)

// Values lists the toolsets in the order in which their tools are listed.
func (Toolset) Values() []string {
	return []string{string(PlanningTools), string(LoopTools), string(ModeTools), string(ExecutionTools), string(WorkspaceTools)}
}
