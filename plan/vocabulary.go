package plan

// StepStatus says how far a step has come. A pending step whose dependencies
// are done is ready; ready is derived and never stored.
type StepStatus string

// The stored statuses of a step.
const (
	Pending    StepStatus = "pending"
	InProgress StepStatus = "in_progress"
	Blocked    StepStatus = "blocked"
	Done       StepStatus = "done"
	Failed     StepStatus = "failed"
	Skipped    StepStatus = "skipped"
	Cancelled  StepStatus = "cancelled"
)

// Values lists the statuses in order.
func (StepStatus) Values() []string {
	return []string{"pending", "in_progress", "blocked", "done", "failed", "skipped", "cancelled"}
}

// Finished reports whether nothing is left to do on a step of this status for
// its plan to complete: it is done, skipped or cancelled.
func (s StepStatus) Finished() bool { return s == Done || s == Skipped || s == Cancelled }

// ordinal indexes the counts by status; -1 for an unknown status.
func (s StepStatus) ordinal() int {
	switch s {
	case Pending:
		return 0
	case InProgress:
		return 1
	case Blocked:
		return 2
	case Done:
		return 3
	case Failed:
		return 4
	case Skipped:
		return 5
	case Cancelled:
		return 6
	}
	return -1
}

const stepStatuses = 7

// PlanStatus says where a plan stands.
type PlanStatus string

// The statuses of a plan.
const (
	StatusDraft      PlanStatus = "draft"
	StatusActive     PlanStatus = "active"
	StatusReplanning PlanStatus = "replanning"
	StatusCompleted  PlanStatus = "completed"
	StatusFailed     PlanStatus = "failed"
	StatusAbandoned  PlanStatus = "abandoned"
)

// Values lists the statuses in order.
func (PlanStatus) Values() []string {
	return []string{"draft", "active", "replanning", "completed", "failed", "abandoned"}
}

// Phase is the phase of planning mode a workspace is in.
type Phase string

// The phases. The zero value means PhaseInactive wherever a phase is read.
const (
	PhaseInactive  Phase = "inactive"
	PhaseGathering Phase = "gathering"
	PhaseSubmitted Phase = "submitted"
	PhaseExecuting Phase = "executing"
)

// Values lists the phases in order.
func (Phase) Values() []string {
	return []string{"inactive", "gathering", "submitted", "executing"}
}

// StepType classifies a step.
type StepType string

// The types of a step (planloop: API Contract).
const (
	Feature StepType = "feature"
	Bugfix  StepType = "bugfix"
	Chore   StepType = "chore"
	Test    StepType = "test"
)

// Values lists the types in order.
func (StepType) Values() []string { return []string{"feature", "bugfix", "chore", "test"} }

// Risk says what can go wrong when a step is carried out.
type Risk string

// The risks.
const (
	LowRisk    Risk = "low"
	MediumRisk Risk = "medium"
	HighRisk   Risk = "high"
)

// Values lists the risks in order.
func (Risk) Values() []string { return []string{"low", "medium", "high"} }

// SignalLevel says how much a signal matters.
type SignalLevel string

// The levels of a signal (planloop: API Contract).
const (
	Blocker SignalLevel = "blocker"
	Warning SignalLevel = "warning"
	Info    SignalLevel = "info"
)

// Values lists the levels in order.
func (SignalLevel) Values() []string { return []string{"blocker", "warning", "info"} }
