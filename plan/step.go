package plan

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Spec is the author's part of a step. Everything but the title is optional. The first two fields
// are WINK's; the rest come from the other tools, the command line and imports.
type Spec struct {
	Title              string          `json:"title"`
	Details            string          `json:"details,omitempty"`
	Type               StepType        `json:"type,omitempty"`
	DependsOn          []StepID        `json:"depends_on,omitempty"`
	ContextHints       []string        `json:"context_hints,omitempty"`
	RelevantFilePaths  []string        `json:"relevant_file_paths,omitempty"`
	Creates            []string        `json:"creates,omitempty"` // paths the step creates
	AcceptanceCriteria []string        `json:"acceptance_criteria,omitempty"`
	SuggestedAgent     string          `json:"suggested_agent,omitempty"`
	Risk               Risk            `json:"risk,omitempty"`
	Tools              []string        `json:"tools,omitempty"`
	Tool               string          `json:"tool,omitempty"` // with Args: an executable step
	Args               json.RawMessage `json:"args,omitempty"` // a JSON object
	Critical           bool            `json:"critical,omitempty"`
	Idempotent         bool            `json:"idempotent,omitempty"`
	RequiresApproval   bool            `json:"requires_approval,omitempty"`
	Always             bool            `json:"always,omitempty"`  // runs at the end of a run, whatever happened
	Timeout            int             `json:"timeout,omitempty"` // seconds
	Retry              json.RawMessage `json:"retry,omitempty"`   // see ParseRetry
	Cwd                string          `json:"cwd,omitempty"`     // directory of its commands; "": the workspace
	Lock               string          `json:"lock,omitempty"`    // steps with the same lock never run at once
	OutputFile         string          `json:"output_file,omitempty"`
	Pause              string          `json:"pause,omitempty"` // question to a person before it starts
	When               string          `json:"when,omitempty"`
	ForEach            string          `json:"for_each,omitempty"`
	Verify             string          `json:"verify,omitempty"` // a command
}

// Progress is the state of a step's work.
type Progress struct {
	Status        StepStatus `json:"status"`
	Notes         []string   `json:"notes,omitempty"`
	Evidence      []Evidence `json:"evidence,omitempty"`
	Result        *Result    `json:"result,omitempty"`
	Output        string     `json:"output,omitempty"`
	Error         string     `json:"error,omitempty"`
	AffectedFiles []string   `json:"affected_files,omitzero"` // empty: none; nil: not reported
	Attempts      int        `json:"attempts,omitempty"`
	ClaimedBy     string     `json:"claimed_by,omitempty"`
	LeaseUntil    time.Time  `json:"lease_until,omitzero"`
	ExecutedBy    string     `json:"executed_by,omitempty"`
	StartedAt     time.Time  `json:"started_at,omitzero"`
	CompletedAt   time.Time  `json:"completed_at,omitzero"`
}

// Step is one piece of work of a plan. A *Step never changes once it is part of a state.
type Step struct {
	ID StepID `json:"step_id"`
	Spec
	Progress
	Execution *Execution `json:"execution,omitempty"` // nil if no run has touched it
}

// Evidence supports the claim that a step is done: a command's outcome, or a
// note for a criterion.
type Evidence struct {
	Criterion string    `json:"criterion,omitempty"`
	Command   string    `json:"command,omitempty"`
	ExitCode  *int      `json:"exit_code,omitempty"`
	Output    string    `json:"output,omitempty"` // the tail
	Note      string    `json:"note,omitempty"`
	Recorded  bool      `json:"recorded,omitempty"` // planloop ran the command itself
	Waived    bool      `json:"waived,omitempty"`   // a person accepted the step without verification
	Stale     bool      `json:"stale,omitempty"`    // from an earlier try
	On        string    `json:"on,omitempty"`       // the member's machine and its commit, on a team's track; a laptop sends the commit
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
}

// Result is the outcome of running a step's tool (Execution: StepResult).
type Result struct {
	OK         bool            `json:"ok"`
	Value      json.RawMessage `json:"value,omitempty"` // up to MaxInlineValue bytes; a larger one is kept apart
	StoredName string          `json:"kept,omitempty"`  // the store's name for a value that is kept apart
	Error      string          `json:"error,omitempty"`
	Duration   int64           `json:"duration"` // milliseconds
	Timestamp  time.Time       `json:"timestamp"`
}

// AddSteps asks to append steps to the active plan (WINK: planning_add_step).
type AddSteps struct {
	Steps          []NewStep
	AllowCompleted bool // also to a plan that completed by itself, which becomes active again
}

func (a AddSteps) clean(c *cleaner) Action {
	c.steps(&a.Steps, "steps")
	return a
}

func (a AddSteps) decide(s State, f Facts) ([]Event, error) {
	p, err := openPlan(s, "no step can be added", a.AllowCompleted)
	if err != nil {
		return nil, err
	}
	added, err := a.decideOn(p, f)
	if err != nil || added == nil {
		return nil, err
	}
	return []Event{*added}, nil
}

// decideOn returns the event that adds the steps to a plan, nil for none.
func (a AddSteps) decideOn(p *Plan, f Facts) (*StepsAdded, error) {
	steps, err := mint(p.Steps, inheritFields(p, a.Steps), "/steps", f.Limits)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	return &StepsAdded{Steps: steps, At: f.Now}, nil
}

// StepsAdded appends steps to the current plan.
type StepsAdded struct {
	Steps []*Step   `json:"steps"`
	At    time.Time `json:"at"`
}

func (e StepsAdded) apply(s State) State {
	return s.withSteps(e.At, func(edit *stepsEdit) { edit.add(e.Steps) })
}

// withPlan returns s with its plan, if any, changed by f, which gets a copy.
func (s State) withPlan(at time.Time, f func(*Plan)) State {
	if s.Plan == nil {
		return s
	}
	p := *s.Plan
	p.UpdatedAt = at
	f(&p)
	s.Plan = &p
	return s
}

// withSteps returns s with the steps of its plan edited by f.
func (s State) withSteps(at time.Time, f func(*stepsEdit)) State {
	return s.withPlan(at, func(p *Plan) {
		edit := p.Steps.edit()
		f(edit)
		p.Steps = edit.s
	})
}

// step returns a step of the current plan, if there is a plan.
func (s State) step(id StepID) (*Step, bool) {
	if s.Plan == nil {
		return nil, false
	}
	return s.Plan.Steps.Get(id)
}

// FoldTitle reduces a title to its letters and digits, to compare titles.
func FoldTitle(title string) string {
	isBetween := func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) }
	return strings.Join(strings.FieldsFunc(strings.ToLower(title), isBetween), "")
}

// withStep returns s with one step of its plan changed by f, which gets a copy.
func (s State) withStep(id StepID, at time.Time, f func(*Step)) State {
	old, ok := s.step(id)
	if !ok {
		return s
	}
	step := *old
	f(&step)
	return s.withSteps(at, func(edit *stepsEdit) { edit.replace(&step) })
}

// Patch changes fields of a step's Spec. A nil field stays as it is; a pointer to an empty value
// erases it.
type Patch struct {
	Title              *string          `json:"title,omitempty"`
	Details            *string          `json:"details,omitempty"`
	Type               *StepType        `json:"type,omitempty"`
	DependsOn          *[]StepID        `json:"depends_on,omitempty"`
	ContextHints       *[]string        `json:"context_hints,omitempty"`
	RelevantFilePaths  *[]string        `json:"relevant_file_paths,omitempty"`
	Creates            *[]string        `json:"creates,omitempty"`
	AcceptanceCriteria *[]string        `json:"acceptance_criteria,omitempty"`
	Verify             *string          `json:"verify,omitempty"`
	Risk               *Risk            `json:"risk,omitempty"`
	SuggestedAgent     *string          `json:"suggested_agent,omitempty"`
	Critical           *bool            `json:"critical,omitempty"`
	Tools              *[]string        `json:"tools,omitempty"`
	Tool               *string          `json:"tool,omitempty"`
	Args               *json.RawMessage `json:"args,omitempty"`
	Idempotent         *bool            `json:"idempotent,omitempty"`
	RequiresApproval   *bool            `json:"requires_approval,omitempty"`
	Always             *bool            `json:"always,omitempty"`
	Timeout            *int             `json:"timeout,omitempty"`
	Pause              *string          `json:"pause,omitempty"`
	When               *string          `json:"when,omitempty"`
	ForEach            *string          `json:"for_each,omitempty"`
	Retry              *json.RawMessage `json:"retry,omitempty"`
	Cwd                *string          `json:"cwd,omitempty"`
	Lock               *string          `json:"lock,omitempty"`
	OutputFile         *string          `json:"output_file,omitempty"`
}

// IsZero reports whether the patch changes nothing.
func (p Patch) IsZero() bool { return p == Patch{} }

// UpdateStep asks to edit a step of the active plan (WINK: planning_update_step).
type UpdateStep struct {
	Step           StepID
	Patch          Patch
	AllowCompleted bool // also in a plan that completed by itself
}

func (a UpdateStep) clean(c *cleaner) Action {
	patch, err := CleanPatch("", a.Patch)
	c.Add(err)
	a.Patch = patch
	return a
}

func (a UpdateStep) decide(s State, f Facts) ([]Event, error) {
	p, err := openPlan(s, "no step can be edited", a.AllowCompleted)
	if err != nil {
		return nil, err
	}
	updated, err := a.decideOn(p, f)
	if err != nil || len(updated) == 0 {
		return nil, err
	}
	step, _ := p.Steps.Get(a.Step)
	err = cmp.Or(checkGuardsKept(p, step, updated[0].Patch, f), checkEvidenceKept(step, updated[0].Patch, f))
	return []Event{updated[0]}, err
}

// decideOn returns the edit of a step of a plan, nil if it changes nothing.
func (a UpdateStep) decideOn(p *Plan, f Facts) ([]StepUpdated, error) {
	step, err := findStep(p, a.Step, "/step_id")
	if err != nil {
		return nil, err
	}
	if a.Patch, err = a.Patch.linkReferences(p, step); err != nil {
		return nil, err
	}
	if deps := a.Patch.DependsOn; deps != nil && slices.Equal(slices.Sorted(slices.Values(*deps)),
		slices.Sorted(slices.Values(step.DependsOn))) {
		a.Patch.DependsOn = nil // the order of dependencies means nothing
	} else if deps != nil {
		if err := checkNewDependencies(p, step, *a.Patch.DependsOn); err != nil {
			return nil, err
		}
	}
	if a.Patch.IsZero() {
		return nil, nil
	}
	if err := a.checkOrder(p.Steps, step); err != nil {
		return nil, err
	}
	if x := step.execution(); x.IsExpanded || x.Loop != 0 || x.IsStarted {
		return nil, conflict(step.ID.String()+" is part of a loop or being run, and can no longer be edited",
			"replan, or add another step")
	}
	return []StepUpdated{{Step: a.Step, Patch: a.Patch, At: f.Now}}, nil
}

// linkReferences returns the patch with references written canonically and added to the step's
// dependencies.
func (p Patch) linkReferences(of *Plan, step *Step) (Patch, error) {
	if p.Args == nil && p.When == nil && p.ForEach == nil && p.DependsOn == nil {
		return p, nil
	}
	spec := p.Apply(step.Spec)
	linked := spec.LinkReferences(nil)
	if err := spec.CheckReferences("", func(id StepID) bool { return of.Steps.Position(id) >= 0 }); err != nil {
		return p, err
	}
	if len(linked.DependsOn) > len(spec.DependsOn) {
		p.DependsOn = &linked.DependsOn
	}
	return NewPatch(linked, p.Fields()), nil
}

// checkGuardsKept refuses an agent's edit that removes a step's question or approval by a person. In an
// approved plan that is a deviation, which goes to a person anyway.
func checkGuardsKept(p *Plan, step *Step, patch Patch, f Facts) error {
	after := patch.Apply(step.Spec)
	if p.Approval != nil || f.Actor.Kind != Agent || step.Status.IsFinished() ||
		(!step.RequiresApproval || after.RequiresApproval) && (step.Pause == "" || after.Pause == step.Pause) {
		return nil
	}
	return conflict(step.ID.String()+" would no longer ask a person",
		"keep its question and approval; only a person can remove them")
}

// StepUpdated edits a step of the current plan.
type StepUpdated struct {
	Step  StepID    `json:"step_id"`
	Patch Patch     `json:"patch"`
	At    time.Time `json:"at"`
}

func (e StepUpdated) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		step.Spec = e.Patch.Apply(step.Spec)
		if ask := step.OpenQuestion(); step.Execution != nil && (ask == nil || ask.Kind != AskUnknown) {
			step.execute(func(x *Execution) { x.Ask, x.Approval = nil, nil }) // they were about another version of the step
		}
	})
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

// Read returns the type that a word means, and any other word as it is. A later check, which is not
// always strict, decides whether it is a type.
func (StepType) Read(word string) string {
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '_' && r != ' ' }) {
		return ""
	}
	word = strings.TrimSpace(word)
	return cmp.Or(map[string]string{"docs": "chore", "documentation": "chore", "refactor": "chore", "perf": "chore",
		"performance": "chore", "task": "chore", "feat": "feature", "fix": "bugfix", "bug": "bugfix",
		"tests": "test"}[strings.ToLower(word)], word)
}

// Risk is the harm that a step could do.
type Risk string

// The risks.
const (
	LowRisk    Risk = "low"
	MediumRisk Risk = "medium"
	HighRisk   Risk = "high"
)

// Values lists the risks in order.
func (Risk) Values() []string { return []string{"low", "medium", "high"} }
