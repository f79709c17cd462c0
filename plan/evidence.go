package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// checkEvidence refuses to mark a step done that lacks evidence; a person may force it.
func checkEvidence(s State, step *Step, a MarkStep, f Facts) error {
	missing := s.lacks(step, a, f)
	if len(missing) == 0 || a.Force && f.Actor.IsPresent() {
		return nil
	}
	return &ValidationError{Kind: Conflict, Field: "/status", Unverified: step.ID,
		Problem: step.ID.String() + " is not verified: " + strings.Join(missing, ", and "), Fix: evidenceFix(step, f)}
}

// lacks names the evidence that a step lacks to be marked done. In an approved plan that is a recorded success of its
// command since the step was last started, and the files it creates. Where evidence is required it is also a note for
// each criterion; without a command or criterion, any evidence or a note.
func (s State) lacks(step *Step, a MarkStep, f Facts) (missing []string) {
	if a.Status != Done || step.Status == Done || s.asksForPlan(step) {
		return nil
	}
	isBare := step.Verify == "" && len(step.AcceptanceCriteria) == 0
	switch {
	case f.Limits.Evidence && (!isBare || a.Note == ""):
		missing = MissingEvidence(step)
	case s.Plan.Approval != nil && step.Verify != "" && !IsVerified(step):
		missing = []string{notPassed(step)}
	}
	if files := f.Missing[step.ID]; s.Plan.Approval != nil && len(files) > 0 {
		missing = append(missing, NotCreated(files))
	}
	return missing
}

func notPassed(step *Step) string {
	text := "its command " + QuoteWhole(step.Verify)
	if e, ok := lastRun(step); ok && e.isUncounted() {
		return text + " " + e.Outcome() + ", and only a run in CI counts"
	}
	return text + " has not passed"
}

// EvidenceCI is the only origin of evidence that a policy can ask for: a token of CI.
const EvidenceCI = "ci"

var commitPattern = regexp.MustCompile(`^[0-9a-f]{7,40}( with uncommitted changes)?$`)

// attest adds the origin of a piece of evidence. Under a policy that counts CI's evidence only, a run elsewhere is no more than reported.
func (s State) attest(e Evidence, f Facts) Evidence {
	commit := e.On
	if e.On = f.Machine; f.Machine != "" && commitPattern.MatchString(commit) {
		e.On += " at " + commit
	}
	if s.Plan != nil && s.Plan.Approval != nil && s.Plan.Approval.EvidenceFrom == EvidenceCI && f.Actor.Kind != CI {
		e.Recorded = false
	}
	return e
}

// Outcome describes a run of a command, as "exited with 1" or "passed on ann's laptop at 4f2c1a7".
func (e Evidence) Outcome() string {
	text := fmt.Sprintf("exited with %d", *e.ExitCode)
	switch {
	case e.On == "":
		return text
	case *e.ExitCode == 0:
		text = "passed"
	}
	return text + " on " + e.On
}

// isUncounted reports whether a run passed where it does not count.
func (e Evidence) isUncounted() bool { return !e.Recorded && *e.ExitCode == 0 && e.On != "" }

// NotCreated says that files a step creates do not exist.
func NotCreated(files []string) string {
	names := quoteCriteria("", files)
	return strings.Join(names, ", ") + map[bool]string{true: " does", false: " do"}[len(files) == 1] + " not exist"
}

// waiver returns the event that records that a person marks a step done without the evidence it lacks, if so.
func (s State) waiver(step *Step, a MarkStep, f Facts) []Event {
	if len(s.lacks(step, a, f)) == 0 {
		return nil
	}
	waived := Evidence{Note: "accepted without verification", Waived: true, By: f.Actor.Name, At: f.Now}
	return []Event{StepReported{Step: step.ID, Evidence: []Evidence{waived}, At: f.Now}}
}

// WaivedBy names the person who accepted the step without verification, "" if nobody did.
func WaivedBy(step *Step) string {
	by := ""
	for _, e := range currentEvidence(step) {
		if e.Waived {
			by = e.By
		}
	}
	return by
}

// collectEvidence returns the evidence for a step that an engine carried out: the command that the
// engine verified it by and, if evidence is required, the agent's note. It also returns what that
// leaves missing.
func (d AttemptResult) collectEvidence(s State, step *Step, f Facts) (proof []Evidence, missing []string) {
	agent := step.ActiveAgent()
	if !d.Result.OK {
		return nil, nil
	}
	if step.Verify != "" {
		run := Evidence{Command: Mask(step.Verify), ExitCode: new(0), Recorded: true, By: f.Actor.Name, At: f.Now}
		proof = append(proof, s.attest(run, f))
	}
	if agent == "" || !f.Limits.Evidence {
		return proof, nil
	}
	criteria := step.AcceptanceCriteria
	if len(criteria) == 0 {
		criteria = []string{""}
	}
	for _, criterion := range criteria {
		if d.Note != "" && !hasNote(step, criterion) {
			proof = append(proof, Evidence{Criterion: criterion, Note: d.Note, By: agent, At: f.Now})
		}
	}
	with := *step
	with.keepEvidence(proof)
	return proof, MissingEvidence(&with)
}

// uncountedRun says why a step is not done although an engine's run of its command passed, "" if the run counts or there was none.
func uncountedRun(step *Step, proof []Evidence) string {
	if len(proof) == 0 || proof[0].Recorded || !proof[0].isRunOf(step) {
		return ""
	}
	with := *step
	with.keepEvidence(proof)
	return notPassed(&with)
}

// withoutRuns returns progress without the runs of commands that planloop claims to have seen: they came with a history.
func (p Progress) withoutRuns() Progress {
	p.Evidence = slices.Clone(p.Evidence)
	for i := range p.Evidence {
		p.Evidence[i].Recorded, p.Evidence[i].On = false, ""
	}
	return p
}

// keepEvidence adds evidence and drops the oldest beyond MaxEvidence.
func (step *Step) keepEvidence(more []Evidence) {
	if len(more) > 0 {
		step.Evidence = append(slices.Clip(step.Evidence), more...)
		step.Evidence = slices.Clone(step.Evidence[max(0, len(step.Evidence)-MaxEvidence):])
	}
}

func evidenceFix(step *Step, f Facts) string {
	if e, ok := lastRun(step); ok && e.isUncounted() && !IsVerified(step) {
		return "once CI has run `planloop check --task " + step.ID.String() + "`, mark it done"
	}
	if step.Verify != "" && !IsVerified(step) {
		return "run `planloop check --task " + step.ID.String() + "`, then mark it done"
	}
	if len(f.Missing[step.ID]) > 0 {
		return "create the missing files, then mark it done"
	}
	if len(step.AcceptanceCriteria) == 0 {
		return "mark it done with a note (--note on the command line)"
	}
	return "report the evidence with the update that marks it done"
}

// MissingEvidence names the evidence a step still needs to be done where evidence is required.
func MissingEvidence(step *Step) []string {
	if step.Verify == "" && len(step.AcceptanceCriteria) == 0 {
		if len(currentEvidence(step)) > 0 {
			return nil
		}
		return []string{"no note with the observed result"}
	}
	var missing []string
	if step.Verify != "" && !IsVerified(step) {
		missing = append(missing, notPassed(step))
	}
	return append(missing, quoteCriteria("no note for the criterion ", openCriteria(step))...)
}

// openCriteria lists the step's criteria without a note.
func openCriteria(step *Step) []string {
	return slices.DeleteFunc(slices.Clone(step.AcceptanceCriteria), func(text string) bool { return hasNote(step, text) })
}

// IsVerified reports whether the last recorded run of the step's command succeeded.
func IsVerified(step *Step) bool {
	ok := false
	for _, e := range currentEvidence(step) {
		if e.Recorded && e.isRunOf(step) {
			ok = *e.ExitCode == 0
		}
	}
	return ok
}

// lastRun returns the last run of the step's command, whether it counts or not.
func lastRun(step *Step) (last Evidence, ok bool) {
	for _, e := range currentEvidence(step) {
		if (e.Recorded || e.On != "") && e.isRunOf(step) {
			last, ok = e, true
		}
	}
	return last, ok
}

// isRunOf reports whether this is a run of the step's verify command.
func (e Evidence) isRunOf(step *Step) bool {
	return e.ExitCode != nil && (e.Command == step.Verify || e.Command == Mask(step.Verify))
}

func hasNote(step *Step, criterion string) bool {
	return slices.ContainsFunc(currentEvidence(step), func(e Evidence) bool { return e.Criterion == criterion && e.Note != "" })
}

// currentEvidence returns the evidence since the step was last started or reopened; earlier findings may no
// longer be true.
func currentEvidence(step *Step) []Evidence {
	return slices.DeleteFunc(slices.Clone(step.Evidence), func(e Evidence) bool { return e.Stale })
}

// markEvidenceStale marks a step's evidence as stale: it is from an earlier try.
func (step *Step) markEvidenceStale() {
	step.Evidence = slices.Clone(step.Evidence)
	for i := range step.Evidence {
		step.Evidence[i].Stale = true
	}
}

// checkEvidenceKept refuses an edit that removes a step's command or a criterion where evidence is
// required. Only a person may.
func checkEvidenceKept(step *Step, patch Patch, f Facts) error {
	if !f.Limits.Evidence || f.Actor.IsPresent() {
		return nil
	}
	after := patch.Apply(step.Spec)
	if (step.Verify == "" || after.Verify == step.Verify) && containsAll(after.AcceptanceCriteria, step.AcceptanceCriteria) {
		return nil
	}
	return conflict(step.ID.String()+" would lose its verification command or a criterion",
		"add criteria instead; a person at a terminal can remove some")
}

// criterion returns the criterion of a step that evidence names, by its full text or by a unique
// beginning. A step without criteria accepts any.
func criterion(step *Step, name, field string) (string, error) {
	if name == "" || len(step.AcceptanceCriteria) == 0 || slices.Contains(step.AcceptanceCriteria, name) {
		return name, nil
	}
	plain := func(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
	begins := plain(strings.TrimRight(name, ".… "))
	var found []string
	for _, criterion := range step.AcceptanceCriteria {
		if strings.HasPrefix(plain(criterion), begins) && !slices.Contains(found, criterion) {
			found = append(found, criterion)
		}
	}
	if len(found) == 1 && begins != "" {
		return found[0], nil
	}
	return "", Refuse(NotFound, field, Quote(name)+" is not a criterion of "+step.ID.String(),
		"name one of: "+strings.Join(quoteCriteria("", step.AcceptanceCriteria), ", "))
}

// criteriaShown bounds the criteria repeated in a message, in bytes.
const criteriaShown = 1_000

// quoteCriteria quotes as many whole criteria as a message has room for, at least one, and counts the rest.
func quoteCriteria(what string, criteria []string) []string {
	var names []string
	room := criteriaShown
	for i, text := range criteria {
		name := what + QuoteWhole(text)
		if room -= len(name); i > 0 && room < 0 {
			return append(names, Pluralize(len(criteria)-i, "more criterion"))
		}
		names = append(names, name)
	}
	return names
}
