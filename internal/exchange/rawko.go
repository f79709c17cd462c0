package exchange

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// rawkoPlan is a plan file of rawko (SPEC-0010: Plan Schema).
type rawkoPlan struct {
	ID               string         `json:"id,omitempty"`
	Task             string         `json:"task"`
	Status           rawkoPlanState `json:"status"`
	Version          int            `json:"version"`
	CurrentStepIndex int            `json:"currentStepIndex"`
	CreatedAt        time.Time      `json:"createdAt,omitzero"`
	UpdatedAt        time.Time      `json:"updatedAt,omitzero"`
	CreatedBy        string         `json:"createdBy,omitempty"`
	PreviousPlanID   string         `json:"previousPlanId,omitempty"`
	Steps            []rawkoStep    `json:"steps"`
	Metadata         rawkoMetadata  `json:"metadata,omitzero"`
	Rest             jsontext.Value `json:",embed"`
}

type rawkoStep struct {
	Index              *int           `json:"index,omitempty"`
	Description        string         `json:"description"`
	Status             rawkoStepState `json:"status,omitempty"`
	SuggestedAgent     string         `json:"suggestedAgent,omitempty"`
	ExecutedBy         string         `json:"executedBy,omitempty"`
	StartedAt          time.Time      `json:"startedAt,omitzero"`
	CompletedAt        time.Time      `json:"completedAt,omitzero"`
	Output             string         `json:"output,omitempty"`
	Error              string         `json:"error,omitempty"`
	AffectedFiles      []string       `json:"affectedFiles,omitempty"`
	DependsOn          []int          `json:"dependsOn,omitempty"`
	Instructions       string         `json:"instructions,omitempty"`
	AcceptanceCriteria []string       `json:"acceptanceCriteria,omitempty"`
	Rest               jsontext.Value `json:",embed"`
}

type rawkoMetadata struct {
	Complexity         int            `json:"complexity,omitzero"`
	Tags               []string       `json:"tags,omitempty"`
	Constraints        []string       `json:"constraints,omitempty"`
	InformedByMemories []string       `json:"informedByMemories,omitempty"`
	Rest               jsontext.Value `json:",embed"`
}

// IsZero reports whether nothing is set.
func (m rawkoMetadata) IsZero() bool {
	return m.Complexity == 0 && len(m.Tags) == 0 && len(m.Constraints) == 0 && len(m.InformedByMemories) == 0
}

type rawkoPlanState string

// Values lists rawko's plan statuses.
func (rawkoPlanState) Values() []string {
	return []string{"draft", "in_progress", "complete", "failed", "replanning"}
}

type rawkoStepState string

// Values lists rawko's step statuses.
func (rawkoStepState) Values() []string {
	return []string{"pending", "in_progress", "complete", "failed", "skipped"}
}

// rawkoPlanStatus returns rawko's word. It has none for an abandoned plan; failed
// says that nothing goes on.
func rawkoPlanStatus(status plan.PlanStatus) rawkoPlanState {
	switch status {
	case plan.StatusActive:
		return "in_progress"
	case plan.StatusCompleted:
		return "complete"
	case plan.StatusAbandoned:
		return "failed"
	}
	return rawkoPlanState(status) // draft, replanning and failed are called the same
}

func rawkoStepStatus(status plan.StepStatus) rawkoStepState {
	switch status {
	case plan.Done:
		return "complete"
	case plan.Blocked:
		return "pending"
	case plan.Cancelled:
		return "skipped"
	}
	return rawkoStepState(status) // pending, in_progress, failed and skipped
}

// RawkoFile is one of the files that rawko keeps below its own folder.
type RawkoFile struct {
	Path string // slash-separated, below .rawko/
	Data []byte
}

// RawkoFiles returns the plan file of p and the current-task.yaml that points to
// it, and what they have no place for.
func RawkoFiles(p *plan.Plan) ([]RawkoFile, []string, error) {
	body, err := rawkoYAML(p)
	if err != nil {
		return nil, nil, err
	}
	task, err := yamlOf(struct {
		Task   string         `json:"task"`
		PlanID string         `json:"planId"`
		Status rawkoPlanState `json:"status"`
	}{p.Objective, p.ID, rawkoPlanStatus(p.Status)})
	if err != nil {
		return nil, nil, err
	}
	files := []RawkoFile{{"current-task.yaml", task}, {"plans/" + p.ID + ".yaml", body}}
	return files, rawkoLosses(p), nil
}

func rawkoYAML(p *plan.Plan) ([]byte, error) { return yamlOf(toRawko(p)) }

func yamlOf(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return resources.YAMLOf(data)
}

func toRawko(p *plan.Plan) rawkoPlan {
	r := rawkoPlan{
		ID: p.ID, Task: p.Objective, Status: rawkoPlanStatus(p.Status), Version: p.Version, CurrentStepIndex: currentIndex(p.Steps),
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, CreatedBy: p.CreatedBy, PreviousPlanID: p.PreviousPlanID,
		Metadata: rawkoMetadata{
			Complexity: p.Metadata.Complexity, Tags: p.Metadata.Tags, Constraints: p.Metadata.Constraints, InformedByMemories: p.Metadata.InformedBy,
		},
	}
	for step := range p.Steps.All() {
		r.Steps = append(r.Steps, toRawkoStep(p.Steps, step, len(r.Steps)))
	}
	return r
}

func toRawkoStep(steps plan.Steps, step *plan.Step, index int) rawkoStep {
	r := rawkoStep{
		Index: &index, Description: step.Title, Status: rawkoStepStatus(step.Status), SuggestedAgent: step.SuggestedAgent,
		ExecutedBy: step.ExecutedBy, StartedAt: step.StartedAt, CompletedAt: step.CompletedAt, Output: step.Output, Error: step.Error,
		AffectedFiles: step.AffectedFiles, Instructions: step.Details, AcceptanceCriteria: step.AcceptanceCriteria,
	}
	for _, dep := range step.DependsOn {
		if i := steps.Position(dep); i >= 0 {
			r.DependsOn = append(r.DependsOn, i)
		}
	}
	return r
}

// currentIndex is the position of the step to work on: of the next one, else of
// the first that is not finished, else behind the last.
func currentIndex(steps plan.Steps) int {
	if next := steps.Next(); next != nil {
		return steps.Position(next.ID)
	}
	for i := range steps.Len() {
		if !steps.At(i).Status.Finished() {
			return i
		}
	}
	return steps.Len()
}

// rawkoLosses says what of p rawko's shape has no place for.
func rawkoLosses(p *plan.Plan) []string {
	var notes []string
	if p.Status == plan.StatusAbandoned {
		notes = append(notes, "The plan is abandoned, which rawko calls failed.")
	}
	var blocked, cancelled, uncritical int
	for step := range p.Steps.All() {
		switch {
		case step.Status == plan.Blocked:
			blocked++
		case step.Status == plan.Cancelled:
			cancelled++
		}
		if !step.Critical {
			uncritical++
		}
	}
	if blocked > 0 {
		notes = append(notes, fmt.Sprintf("%d blocked %s pending there.", blocked, plural(blocked, "step is", "steps are")))
	}
	if cancelled > 0 {
		notes = append(notes, fmt.Sprintf("%d cancelled %s skipped there.", cancelled, plural(cancelled, "step is", "steps are")))
	}
	if uncritical > 0 {
		notes = append(notes, fmt.Sprintf("%d %s not critical here; in rawko every failure asks for a new plan.", uncritical, plural(uncritical, "step is", "steps are")))
	}
	return append(notes, lossNote("rawko", losses(p, rawkoKeeps()))...)
}

// rawkoKeeps lists what rawko has a place for, by our names. What is said apart
// stands here too.
func rawkoKeeps() []string {
	return []string{
		"title", "details", "depends_on", "acceptance_criteria", "suggested_agent", "critical", "status", "output", "error", "affected_files",
		"executed_by", "started_at", "completed_at", "objective", "metadata",
	}
}

// lossNote is the sentence about fields that are dropped.
func lossNote(format string, fields []string) []string {
	if len(fields) == 0 {
		return nil
	}
	slices.Sort(fields)
	return []string{"The format " + format + " has no place for: " + strings.Join(fields, ", ") + "."}
}
