package plan

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// StepID names a step within its plan: S001, S002, … and past 999 S1000. Only Decide mints one: the
// highest so far plus one, never used twice in a plan (WINK: Validation Rules). The zero value
// names no step.
type StepID int

// MaxStepID bounds the ids that a text may name.
const MaxStepID StepID = 999_999

// String returns the canonical form, such as S007.
func (id StepID) String() string {
	if id < 1000 {
		return fmt.Sprintf("S%03d", int(id))
	}
	return "S" + strconv.Itoa(int(id))
}

// MarshalText writes the canonical form.
func (id StepID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText accepts what ParseStepID accepts.
func (id *StepID) UnmarshalText(text []byte) error {
	parsed, err := ParseStepID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// UnmarshalJSON accepts a JSON string that ParseStepID accepts, or a positive integer.
func (id *StepID) UnmarshalJSON(data []byte) error {
	return id.UnmarshalText([]byte(strings.Trim(string(data), `"`)))
}

// ParseStepID reads a step id as agents write it, in any case and with spaces around: S007, but
// also 7, S7, step_7, task 7, #7, 7. and the id before a title, as in "S007: Test it". S000 and 0
// never exist. The error is a *ValidationError of kind InvalidInput.
func ParseStepID(text string) (StepID, error) {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), ": ")
	word = strings.TrimRight(word, ".):")
	for _, name := range []string{"step", "task", "s"} {
		if rest, named := strings.CutPrefix(word, name); named {
			word = strings.TrimLeft(rest, " _-")
			break
		}
	}
	word = strings.TrimPrefix(word, "#")
	if rest, full := strings.CutPrefix(word, "s"); full { // step S007
		word = rest
	}
	n, err := strconv.ParseUint(word, 10, 32)
	if err != nil || n == 0 || len(word) > len("999999") {
		return 0, Refuse(InvalidInput, "", Quote(text)+" is not a step id", "a step id is an S and the number, such as S001")
	}
	return StepID(n), nil
}

// Number returns the id as planloop's JSON contract shows it: the number alone.
func (id StepID) Number() string { return strconv.Itoa(int(id)) }

// mint returns news as steps with ids after the highest of have, or with the ids that steps of a
// new plan keep, after checking their number and dependencies.
func mint(have Steps, newSteps []NewStep, field string, l Limits) ([]*Step, error) {
	if err := withinLimit(have.Len()+len(newSteps), l); err != nil {
		return nil, err
	}
	next := have.Highest() + 1
	steps, ids := make([]*Step, len(newSteps)), make([]StepID, len(newSteps))
	added := make(map[StepID]*Step, len(newSteps))
	for i, n := range newSteps {
		step := &Step{ID: next + StepID(i), Spec: n.Spec.LinkReferences(nil), Progress: n.Progress}
		if next == 1 && n.ID != 0 {
			step.ID, step.Execution = n.ID, n.Execution.importable()
		}
		step.Status = cmp.Or(step.Status, Pending)
		step.ClaimedBy, step.LeaseUntil = "", time.Time{}
		if step.Result != nil && step.Result.StoredName != "" { // only the store names kept values
			result := *step.Result
			result.StoredName = ""
			step.Result = &result
		}
		step.Progress = step.Progress.withoutRuns()
		steps[i], ids[i], added[step.ID] = step, step.ID, step
	}
	known := func(id StepID) bool { return added[id] != nil || have.Position(id) >= 0 }
	for i, step := range steps {
		if err := newSteps[i].CheckReferences(fmt.Sprintf("%s/%d", field, i), known); err != nil {
			return nil, err
		}
		for k, dep := range step.DependsOn {
			if other, old := have.Get(dep); old && other.Loop() != 0 {
				return nil, loopInstanceError(fmt.Sprintf("%s/%d/depends_on/%d", field, i, k), other)
			}
			if other, old := have.Get(dep); old || added[dep] != nil {
				if err := step.checkOrder(fmt.Sprintf("%s/%d/depends_on/%d", field, i, k), cmp.Or(added[dep], other)); err != nil {
					return nil, err
				}
			}
			if !known(dep) {
				return nil, Refuse(NotFound, fmt.Sprintf("%s/%d/depends_on/%d", field, i, k), "step "+dep.String()+" does not exist",
					"name a step of the plan, or one added here by the id it gets")
			}
		}
	}
	deps := func(id StepID) []StepID {
		if step := added[id]; step != nil {
			return step.DependsOn
		}
		return nil // an older step cannot depend on a newer one
	}
	if cycle := Cycle(ids, deps); cycle != nil {
		return nil, cycleError(field, cycle)
	}
	return steps, nil
}

// reserveIDs returns the event that makes a plan count the ids minted in a draft of it, from its
// submission on: no other step gets them, even if the draft is dropped.
func reserveIDs(before, after State) []Event {
	if after.Plan == nil {
		return nil
	}
	highest := after.Plan.Steps.Highest()
	for _, draft := range []*Plan{before.Draft, after.Draft} { // the former one counts already, except in the oldest logs
		if draft != nil && draft.Root() == after.Plan.Root() {
			highest = max(highest, draft.Steps.Highest())
		}
	}
	if highest == after.Plan.Steps.Highest() {
		return nil
	}
	return []Event{StepIDsTaken{Plan: after.Plan.ID, Highest: highest}}
}

// StepIDsTaken raises the highest id that a plan has used.
type StepIDsTaken struct {
	Plan    string `json:"plan_id"`
	Highest StepID `json:"highest_step,omitzero"`
}

func (e StepIDsTaken) apply(s State) State {
	if s.Plan == nil || s.Plan.ID != e.Plan {
		return s
	}
	return s.withPlan(s.Plan.UpdatedAt, func(p *Plan) { p.Steps.highest = max(p.Steps.highest, e.Highest) })
}
