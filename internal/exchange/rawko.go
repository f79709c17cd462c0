package exchange

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/strict"
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
	AffectedFiles      []string       `json:"affectedFiles,omitzero"`
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

type rawkoPlanState string

// Values lists rawko's plan statuses.
func (rawkoPlanState) Values() []string {
	return []string{"draft", "in_progress", "complete", "failed", "replanning"}
}

type rawkoStepState string

// Values lists rawko's step statuses.
func (rawkoStepState) Values() []string { return plan.RawkoWords.Words() }

func asYAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return resources.YAMLOf(data)
}

// rawkoTask is rawko's file that names the current plan.
type rawkoTask struct {
	Task   string         `json:"task"`
	PlanID string         `json:"planId"`
	Status rawkoPlanState `json:"status"`
}

// RawkoTask returns rawko's file that names the current plan.
func RawkoTask(p *plan.Plan) ([]byte, error) {
	return asYAML(rawkoTask{p.Objective, p.ID, rawkoPlanState(p.Status.Rawko())})
}

// RawkoCurrent returns the id of the plan that rawko's task file names.
func RawkoCurrent(text []byte) (string, error) {
	text, err := readable(text)
	if err != nil {
		return "", err
	}
	read, err := strict.ReadYAML(text, maxExpanded)
	if err != nil {
		return "", err
	}
	var task rawkoTask
	if err := json.Unmarshal(read.JSON, &task, scalarsAsText()); err != nil {
		return "", decodeError(err)
	}
	if !plan.IsPlanID(task.PlanID) {
		return "", refuse("/planId", plan.Quote(task.PlanID)+" is not the id of a plan",
			"name one of the files under plans/, without .yaml")
	}
	return task.PlanID, nil
}

func rawkoYAML(s plan.State) ([]byte, error) {
	p := s.Plan
	r := rawkoPlan{
		ID: p.ID, Task: p.Objective, Status: rawkoPlanState(p.Status.Rawko()), Version: p.Version, CurrentStepIndex: p.Steps.CurrentIndex(),
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, CreatedBy: p.CreatedBy, PreviousPlanID: p.PreviousPlanID,
		Metadata: rawkoMetadata{
			Complexity: p.Metadata.Complexity, Tags: p.Metadata.Tags,
			Constraints: p.Metadata.Constraints, InformedByMemories: p.Metadata.InformedBy,
		},
	}
	for step := range p.Steps.All() {
		to := rawkoStep{
			Index: new(len(r.Steps)), Description: step.Title, Status: rawkoStepState(step.Status.Word(plan.RawkoWords)),
			SuggestedAgent: step.SuggestedAgent, ExecutedBy: step.ExecutedBy, StartedAt: step.StartedAt, CompletedAt: step.CompletedAt,
			Output: step.Output, Error: step.Error, AffectedFiles: step.AffectedFiles, Instructions: step.Details,
			AcceptanceCriteria: step.AcceptanceCriteria,
		}
		for _, dep := range step.DependsOn {
			if i := p.Steps.Position(dep); i >= 0 {
				to.DependsOn = append(to.DependsOn, i)
			}
		}
		r.Steps = append(r.Steps, to)
	}
	return asYAML(r)
}

// rawkoLosses returns a sentence for each part of p that rawko's format cannot express.
func rawkoLosses(p *plan.Plan) []string {
	var notes []string
	if p.Status == plan.StatusAbandoned {
		notes = append(notes, "The plan is abandoned, which rawko calls failed.")
	}
	uncritical := 0
	for step := range p.Steps.All() {
		if !step.Critical {
			uncritical++
		}
	}
	notes = countLoss(notes, p.Steps.Count(plan.Blocked), "blocked step", "becomes pending there")
	notes = countLoss(notes, p.Steps.Count(plan.Cancelled), "cancelled step", "becomes skipped there")
	notes = countLoss(notes, uncritical, "step", "need not succeed here; in rawko every failure calls for a new plan")
	return append(notes, losses("The format rawko cannot hold", p,
		func(f plan.Field[plan.Plan]) bool { return f.Rawko != "" },
		func(f plan.Field[plan.Step], _ *plan.Step) bool { return f.Rawko != "" || f.Name == "critical" })...) // counted above
}

// parseRawko reads a plan file of rawko. Every step becomes critical, because in rawko each failure requires
// a new plan.
func parseRawko(text []byte) (*source, error) {
	read, err := strict.ReadYAML(text, maxExpanded)
	if err != nil {
		return nil, err
	}
	members := membersOf(read.JSON)
	if members == nil {
		return nil, refuse("", "the text holds no plan", "give an object with a task and steps")
	}
	if members["planId"] != nil && members["steps"] == nil {
		return nil, refuse("/planId", "this names a plan but does not contain it", "import the plan's own file, under plans/")
	}
	var r rawkoPlan
	if err := json.Unmarshal(read.JSON, &r, scalarsAsText()); err != nil {
		return nil, decodeError(err)
	}
	if err := plan.OneOf("/status", r.Status); err != nil {
		return nil, err
	}
	s := &source{
		outline: plan.Outline{Objective: r.Task, Metadata: plan.Metadata{
			Complexity: r.Metadata.Complexity, Tags: r.Metadata.Tags,
			Constraints: r.Metadata.Constraints, InformedBy: r.Metadata.InformedByMemories,
		}},
		draft:     r.Status == "draft",
		call:      func(id plan.StepID) string { return fmt.Sprintf("index %d", int(id)-1) },
		foldLines: true, byPlace: true, names: rawkoNames(),
	}
	s.keepOrigin(plan.Import{ID: r.ID, Version: r.Version, PreviousPlanID: r.PreviousPlanID, Status: plan.PlanStatus(r.Status),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, CreatedBy: r.CreatedBy})
	for i := range r.Steps {
		step, err := r.Steps[i].source(fmt.Sprintf("/steps/%d", i))
		if err != nil {
			return nil, err
		}
		s.steps = append(s.steps, step)
	}
	if len(r.Steps) > 0 {
		s.note("All steps are critical, as in rawko: when one fails, a new plan is needed.")
	}
	unknown := map[string]bool{}
	add := func(prefix string, object jsontext.Value) {
		for name := range membersOf(object) {
			unknown[plan.Shorten(prefix+name, 60)] = true
		}
	}
	add("", r.Rest)
	add("metadata.", r.Metadata.Rest)
	for _, step := range r.Steps {
		add("steps[].", step.Rest)
	}
	s.noteUnknown(unknown)
	return s, nil
}

// rawkoNames maps our names of fields to rawko's, as in a JSON pointer.
func rawkoNames() map[string]string {
	names := map[string]string{"step_id": "index", "previous_plan_id": "previousPlanId", "created_at": "createdAt",
		"updated_at": "updatedAt", "created_by": "createdBy"}
	for _, f := range plan.PlanFields() {
		if f.Rawko != "" {
			names[path.Base(f.Name)] = f.Rawko
		}
	}
	for _, f := range plan.StepFields() {
		if f.Rawko != "" {
			names[f.Name] = f.Rawko
		}
	}
	return names
}

func (r *rawkoStep) source(at string) (sourceStep, error) {
	if err := plan.OneOf(at+"/status", r.Status); err != nil {
		return sourceStep{}, err
	}
	step := sourceStep{Step: plan.Step{
		Spec: plan.Spec{
			Title: r.Description, Details: r.Instructions, SuggestedAgent: r.SuggestedAgent,
			AcceptanceCriteria: r.AcceptanceCriteria, Critical: true,
		},
		Progress: plan.Progress{
			Status: plan.RawkoWords.Status(string(r.Status)), Output: r.Output, Error: r.Error,
			AffectedFiles: r.AffectedFiles, ExecutedBy: r.ExecutedBy,
			StartedAt: r.StartedAt, CompletedAt: r.CompletedAt,
		},
	}}
	own, err := stepOfIndex(at+"/index", r.Index)
	step.ID = own
	for k, index := range r.DependsOn {
		var dep plan.StepID
		if err == nil {
			dep, err = stepOfIndex(fmt.Sprintf("%s/dependsOn/%d", at, k), &index)
		}
		step.DependsOn = append(step.DependsOn, dep)
	}
	return step, err
}

// stepOfIndex returns the step id for a 0-based index; 0 without an index.
func stepOfIndex(field string, index *int) (plan.StepID, error) {
	if index == nil {
		return 0, nil
	}
	if *index < 0 || *index >= int(plan.MaxStepID) {
		return 0, refuse(field, fmt.Sprintf("%d is not the index of a step", *index), "count the steps from 0")
	}
	return plan.StepID(*index + 1), nil
}

// noteUnknown notes the first of the unknown fields, if there are any.
func (s *source) noteUnknown(names map[string]bool) {
	const shown = 10
	sorted, more := slices.Sorted(maps.Keys(names)), ""
	if n := len(sorted) - shown; n > 0 {
		sorted, more = sorted[:shown], fmt.Sprintf(" and %d more", n)
	}
	if len(names) > 0 {
		s.note("Unknown fields were left out: %s%s.", strings.Join(sorted, ", "), more)
	}
}
