package plan

import (
	"slices"
	"strings"
)

// proven refuses to mark a step done without evidence, where that is asked for: the
// recorded success of its command since it was last started, and a note for each
// criterion; with neither, any evidence or a note. A person may force it.
func proven(s State, step *Step, a MarkStep, f Facts) error {
	if !f.Limits.Evidence || s.asksForPlan(step) || a.Status != Done || step.Status == Done || a.Force && f.Actor.Present() {
		return nil
	}
	missing := MissingEvidence(step)
	if len(missing) == 0 {
		return nil
	}
	if step.Verify == "" && len(step.AcceptanceCriteria) == 0 && a.Note != "" {
		return nil
	}
	return &ValidationError{Kind: Conflict, Field: "/status",
		Problem: step.ID.String() + " cannot be marked done; missing: " + strings.Join(missing, ", and "),
		Fix:     evidenceFix(step)}
}

func evidenceFix(step *Step) string {
	if step.Verify != "" && !verified(step) {
		return "run `planloop check --task " + step.ID.Number() + "`, then mark it done"
	}
	return "report the evidence with the update that marks it done"
}

// MissingEvidence names what a step lacks to be done where evidence is asked for.
func MissingEvidence(step *Step) []string {
	if step.Verify == "" && len(step.AcceptanceCriteria) == 0 {
		if len(current(step)) > 0 {
			return nil
		}
		return []string{"a note of what was observed"}
	}
	var missing []string
	if step.Verify != "" && !verified(step) {
		missing = append(missing, "a recorded success of its command "+Quote(step.Verify))
	}
	for _, criterion := range step.AcceptanceCriteria {
		if !noted(step, criterion) {
			missing = append(missing, "a note for the criterion "+Quote(criterion))
		}
	}
	return missing
}

// verified reports whether the last recorded run of the step's command succeeded.
func verified(step *Step) bool {
	ok := false
	for _, e := range current(step) {
		if e.Recorded && e.Command == step.Verify {
			ok = e.ExitCode != nil && *e.ExitCode == 0
		}
	}
	return ok
}

func noted(step *Step, criterion string) bool {
	for _, e := range current(step) {
		if e.Criterion == criterion && e.Note != "" {
			return true
		}
	}
	return false
}

// current lists the evidence since the step was last begun or opened again: what was
// true before may not be any more.
func current(step *Step) []Evidence {
	return slices.DeleteFunc(slices.Clone(step.Evidence), func(e Evidence) bool { return e.Stale })
}

// outdate marks the evidence of a step as that of an earlier try.
func (step *Step) outdate() {
	step.Evidence = slices.Clone(step.Evidence)
	for i := range step.Evidence {
		step.Evidence[i].Stale = true
	}
}

// keepsProof refuses an edit that takes away what a step is proven by, where
// evidence is asked for: only a person may.
func keepsProof(step *Step, patch Patch, f Facts) error {
	if !f.Limits.Evidence || f.Actor.Present() {
		return nil
	}
	after := patch.On(step.Spec)
	if (step.Verify == "" || after.Verify == step.Verify) && contains(after.AcceptanceCriteria, step.AcceptanceCriteria) {
		return nil
	}
	return conflict(step.ID.String()+" would lose what it is proven by, its command or a criterion", "add criteria instead; a person at a terminal can take some away")
}
