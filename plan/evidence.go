package plan

import "strings"

// proven refuses to mark a step done without evidence, where that is asked for: the
// recorded success of its command since it was last started, and a note for each
// criterion; with neither, any evidence or a note. A person may force it.
func proven(step *Step, a MarkStep, f Facts) error {
	if !f.Limits.Evidence || a.Status != Done || step.Status == Done || a.Force && f.Actor.Kind == Person {
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
		Problem: step.ID.String() + " is not done without evidence: missing is " + strings.Join(missing, ", and "),
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

// current lists the evidence since the step was last started: what was true before
// may not be any more.
func current(step *Step) []Evidence {
	for i, e := range step.Evidence {
		if !e.At.Before(step.StartedAt) {
			return step.Evidence[i:]
		}
	}
	return nil
}
