package plan

import (
	"fmt"
	"slices"
	"time"
)

// MaxEvidence bounds the pieces of evidence a step keeps; the oldest go first.
const MaxEvidence = 50

// ReportStep asks to keep what came out of working on a step. It leaves the
// status alone: MarkStep changes that.
type ReportStep struct {
	Step          StepID
	Note          string
	Output        string // takes the place of the former
	AffectedFiles []string
	Evidence      []Evidence
}

// Name is the action's word in the log.
func (ReportStep) Name() string { return "report_step" }

func (a ReportStep) clean(c *cleaner) Action {
	c.block(&a.Note, "note", MaxLongText)
	c.block(&a.Output, "output", MaxLongText)
	c.list(&a.AffectedFiles, "affected_files", LinesField, MaxPath, MaxList)
	c.evidence(&a.Evidence)
	return a
}

func (a ReportStep) decide(s State, f Facts) ([]Event, error) {
	_, step, err := markable(s, a.Step)
	if err != nil {
		return nil, err
	}
	if a.Note != "" || a.Output != "" || len(a.AffectedFiles) > 0 { // evidence alone may come from anybody, such as CI
		if err := claimable(step, false, f); err != nil {
			return nil, err
		}
	}
	if a.Note != "" && len(step.Notes) >= MaxNotes {
		return nil, tooManyNotes(step)
	}
	files := slices.DeleteFunc(slices.Clone(a.AffectedFiles), func(file string) bool { return slices.Contains(step.AffectedFiles, file) })
	if n := len(step.AffectedFiles) + len(files); n > MaxNotes {
		return nil, conflict(fmt.Sprintf("%s would list %d affected files, at most %d are kept", step.ID, n, MaxNotes), "name folders instead")
	}
	if a.Note == "" && (a.Output == "" || a.Output == step.Output) && len(files) == 0 && len(a.Evidence) == 0 {
		return nil, nil
	}
	e := StepReported{Step: a.Step, Note: a.Note, Output: a.Output, AffectedFiles: files, At: f.Now}
	for _, evidence := range a.Evidence {
		evidence.By, evidence.At = f.Actor.Name, f.Now
		e.Evidence = append(e.Evidence, evidence)
	}
	return []Event{e}, nil
}

func tooManyNotes(step *Step) error {
	return conflict(fmt.Sprintf("%s has %d notes, no more are kept", step.ID, len(step.Notes)),
		"report without a note, or add a step for what follows")
}

// StepReported keeps what came out of working on a step.
type StepReported struct {
	Step          StepID     `json:"step_id"`
	Note          string     `json:"note,omitempty"`
	Output        string     `json:"output,omitempty"`
	AffectedFiles []string   `json:"affected_files,omitempty"` // besides those that are known
	Evidence      []Evidence `json:"evidence,omitempty"`
	At            time.Time  `json:"at"`
}

// Kind is the event's word in the log.
func (StepReported) Kind() string { return "step_reported" }

func (e StepReported) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		if e.Note != "" {
			step.Notes = append(slices.Clip(step.Notes), e.Note)
		}
		if e.Output != "" {
			step.Output = e.Output
		}
		if len(e.AffectedFiles) > 0 {
			step.AffectedFiles = append(slices.Clip(step.AffectedFiles), e.AffectedFiles...)
		}
		if len(e.Evidence) > 0 {
			step.Evidence = append(slices.Clip(step.Evidence), e.Evidence...)
			step.Evidence = slices.Clone(step.Evidence[max(0, len(step.Evidence)-MaxEvidence):])
		}
	})
}

// Reportable returns a step of the current plan if something can be reported of it.
func Reportable(s State, id StepID) (*Step, error) {
	_, step, err := markable(s, id)
	return step, err
}
