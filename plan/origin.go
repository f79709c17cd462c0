package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Origin is what a plan that was written down elsewhere keeps of its life there. What is
// left out is as for any new plan.
type Origin struct {
	ID             string     // kept unless a plan here has it
	Version        int        // with "-v" and the version behind it, the id is the root's: see Plan.Root
	PreviousPlanID string     // of the version before
	Changes        string     // what the replan changed that made it
	Discoveries    []string   // that led to it
	Replans        int        // after critical failures
	Status         PlanStatus // replanning or failed; any other follows from the steps
	CreatedAt      time.Time
	UpdatedAt      time.Time
	CreatedBy      string
	Highest        StepID // the highest id of a step so far
}

// planID is what the id of a plan may be: it is the name of a file, too.
var planID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,127}$`)

// IsPlanID reports whether text can be the id of a plan.
func IsPlanID(text string) bool { return planID.MatchString(text) }

// CleanOrigin returns o with every field normalised and checked, as CleanStep does for a
// step.
func CleanOrigin(field string, o Origin) (Origin, error) {
	c := cleaner{field: field}
	for name, id := range map[string]string{"id": o.ID, "previous_plan_id": o.PreviousPlanID} {
		if id != "" && !IsPlanID(id) {
			c.refuse(name, Quote(id)+" is not the id of a plan", "use at most 128 letters, digits, dots, dashes and underscores")
		}
	}
	c.count(o.Version, "version", maxSeconds)
	c.block(&o.Changes, "changes", MaxLongText)
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

// onto gives a plan that is about to be set up in s what it keeps of its origin.
func (o Origin) onto(p *Plan, s State) {
	if o.ID != "" && !slices.Contains(s.PlanIDs(), o.ID) {
		p.ID = o.ID
	}
	p.Version, p.PreviousPlanID, p.Changes = max(p.Version, o.Version), o.PreviousPlanID, o.Changes
	p.Discoveries, p.Replans = o.Discoveries, o.Replans
	p.Status, p.CreatedBy = cmp.Or(o.Status, p.Status), cmp.Or(o.CreatedBy, p.CreatedBy)
	p.CreatedAt, p.UpdatedAt = cmp.Or(o.CreatedAt, p.CreatedAt), cmp.Or(o.UpdatedAt, p.UpdatedAt)
}

// MaxKeptID is the highest id that a step keeps: what is kept by id is as long as that.
const MaxKeptID = 10 * DefaultMaxSteps

// keptIDs checks the ids that the steps of a new plan bring along: all have one, or none.
func (c *cleaner) keptIDs(steps []NewStep, name string) {
	seen := map[StepID]bool{}
	for i, step := range steps {
		at := fmt.Sprintf("%s/%d/step_id", name, i)
		switch {
		case (step.ID == 0) != (steps[0].ID == 0):
			c.refuse(at, "some steps have an id and some have none", "give all of them one, or none")
		case step.ID < 0 || step.ID > MaxKeptID:
			c.refuse(at, step.ID.String()+" is too high", "number the steps from S001")
		case step.ID != 0 && seen[step.ID]:
			c.refuse(at, step.ID.String()+" appears twice", "give each step an id of its own")
		}
		seen[step.ID] = true
	}
}
