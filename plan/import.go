package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Import is the history of a plan from elsewhere. A zero field has the value of a new plan.
type Import struct {
	ID             string     // kept unless a plan here has it; see applyTo
	Version        int        // if the id ends in "-v" and the version, the rest is the root: see Plan.Root
	PreviousPlanID string     // of the previous version
	Changes        string     // made by the replan that led to this version
	Discoveries    []string   // that led to this version
	Replans        int        // after critical failures
	Status         PlanStatus // replanning or failed; any other follows from the steps
	CreatedAt      time.Time
	UpdatedAt      time.Time
	CreatedBy      string
	Highest        StepID // highest step id so far
}

// planID matches the id of a plan, which is also the name of a file.
var planID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,127}$`) })

// IsPlanID reports whether text can be the id of a plan.
func IsPlanID(text string) bool { return planID().MatchString(text) }

// CleanImport returns o with every field normalised and checked, as CleanStep does for a
// step.
func CleanImport(field string, o Import) (Import, error) {
	c := cleaner{field: field}
	for name, id := range map[string]string{"id": o.ID, "previous_plan_id": o.PreviousPlanID} {
		if id != "" && !IsPlanID(id) {
			c.refuse(name, Quote(id)+" is not the id of a plan", "use at most 128 letters, digits, dots, dashes and underscores")
		}
	}
	c.count(o.Version, "version", maxSeconds)
	c.block(&o.Changes, "changes")
	c.list(&o.Discoveries, "discoveries", LinesField, MaxLongLine, MaxList)
	c.count(o.Replans, "replans", maxSeconds)
	if o.Status != "" && o.Status != StatusReplanning && o.Status != StatusFailed {
		c.refuse("status", Quote(string(o.Status))+" follows from the steps", "leave it out")
	}
	c.time(&o.CreatedAt, "created_at")
	c.time(&o.UpdatedAt, "updated_at")
	c.count(int(o.Highest), "highest_step", int(MaxKeptID))
	c.line(&o.CreatedBy, "created_by", MaxHint)
	return o, c.Err()
}

// continueVersion adapts steps that become another version of a plan in s: no id is minted again, and
// attempts are not confused.
func (s State) continueVersion(p *Plan, steps []*Step, highest StepID) (StepID, error) {
	if id := s.runningStep(); id != 0 && s.Plan.Root() == p.Root() {
		return 0, conflict(id.String()+" is being run", "pause the run, and wait for the step to end")
	}
	tried := s.attemptsOf(p)
	for i, step := range steps {
		copied := *step
		copied.Attempts = max(step.Attempts, tried)
		steps[i] = &copied
	}
	return max(highest, s.highestOf(p.Root())), nil
}

// applyTo applies the origin to a plan about to be set up in s.
func (o Import) applyTo(p *Plan, s State, draft bool) {
	theirs := Plan{ID: o.ID, Version: o.Version}
	isRevision := draft && s.Plan != nil && s.Plan.Root() == theirs.Root() // a draft must not look like one of the current plan
	if o.ID != "" && !slices.Contains(s.PlanIDs(), o.ID) && !isRevision {
		p.ID = o.ID
	}
	p.Version, p.PreviousPlanID, p.Changes = max(p.Version, o.Version), o.PreviousPlanID, o.Changes
	p.Discoveries, p.Replans = o.Discoveries, o.Replans
	p.Status, p.CreatedBy = cmp.Or(o.Status, p.Status), cmp.Or(o.CreatedBy, p.CreatedBy)
	p.CreatedAt, p.UpdatedAt = cmp.Or(o.CreatedAt, p.CreatedAt), cmp.Or(o.UpdatedAt, p.UpdatedAt)
}

// MaxKeptID is the highest step id that can be kept. The index of steps by id grows with it.
const MaxKeptID = 10 * DefaultMaxSteps

// importedIDs checks the ids of a new plan's steps: either all steps have one, or none has.
func (c *cleaner) importedIDs(steps []NewStep, name string) {
	seen := map[StepID]bool{}
	for i, step := range steps {
		at := fmt.Sprintf("%s/%d/step_id", name, i)
		switch {
		case (step.ID == 0) != (steps[0].ID == 0):
			c.refuse(at, "some steps have an id, and others do not", "give all of them one, or none")
		case step.ID < 0 || step.ID > MaxKeptID:
			c.refuse(at, step.ID.String()+" is too high", "number the steps from S001")
		case step.ID != 0 && seen[step.ID]:
			c.refuse(at, step.ID.String()+" appears twice", "give each step an id of its own")
		}
		seen[step.ID] = true
	}
	c.importedExecutions(steps, name)
}

// importable returns the parts of a step's runs elsewhere that apply here too: the outcomes of loops and
// conditions. Questions, approvals and running attempts do not.
func (e *Execution) importable() *Execution {
	if e == nil || e.Loop == 0 && !e.IsExpanded && !e.ConditionFalse && !e.ConditionTrue {
		return nil
	}
	return &Execution{Loop: e.Loop, Item: e.Item, Instances: e.Instances, IsExpanded: e.IsExpanded, ConditionFalse: e.ConditionFalse,
		ConditionTrue: e.ConditionTrue}
}

// importedExecutions cleans the kept executions: a loop and its instances name each other, and only a
// step with a condition has its outcome.
func (c *cleaner) importedExecutions(steps []NewStep, name string) {
	kept, loops := map[StepID]Execution{}, map[StepID]bool{}
	for i := range steps {
		step := &steps[i]
		if step.Execution = step.Execution.importable(); step.Execution != nil {
			c.raw(&step.Execution.Item, fmt.Sprintf("%s/%d/execution/item", name, i))
			kept[step.ID], loops[step.ID] = *step.Execution, step.ForEach != ""
		}
	}
	for i, step := range steps {
		if step.Execution == nil {
			continue
		}
		e, fault := step.Execution, ""
		isForeign := func(id StepID) bool { return kept[id].Loop != step.ID || id == step.ID }
		switch {
		case e.Loop != 0 && (!loops[e.Loop] || !slices.Contains(kept[e.Loop].Instances, step.ID)):
			fault = "refers to a loop that does not list it"
		case len(e.Instances) > 0 && !e.IsExpanded || e.IsExpanded && step.ForEach == "":
			fault = "is marked as a loop, but is not a loop"
		case len(e.Instances) > MaxItems || slices.ContainsFunc(e.Instances, isForeign):
			fault = "is a loop, but its instances do not refer to it"
		case e.ConditionFalse && step.Status != Skipped || (e.ConditionFalse || e.ConditionTrue) && step.When == "":
			fault = "has the outcome of a condition, but not the condition"
		}
		if fault != "" {
			c.refuse(fmt.Sprintf("%s/%d/execution", name, i), fault, "leave it out")
		}
	}
}
