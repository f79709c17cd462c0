// Package history says what the log holds: each record in a sentence, and the decisions
// alone, for every face that shows it to people, and for programs the events of a plan
// that is carried out. It knows the log's events, not where they are kept or how they are
// shown.
package history

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/planloop/planloop/plan"
)

// Sentence says in words what a record holds: "S001 marked done by alice:
// "tests pass"; the plan is completed".
func Sentence(r plan.Record) string {
	var phrases []string
	lead, by := "", " by "+r.Actor.Name
	for _, e := range r.Events {
		if way := wayOf(e); way != "" {
			by = " by " + way.Decider(r.Actor.Name)
		}
		phrase := phraseOf(e)
		switch {
		case phrase == "":
		case byItself(e):
			lead = phrase + "; "
		case len(phrases) == 0 && ofAgent(e):
			phrases, by = append(phrases, phrase), ""
		default:
			phrases = append(phrases, phrase)
		}
	}
	if len(phrases) == 0 && lead != "" {
		return strings.TrimSuffix(lead, "; ")
	}
	if len(phrases) == 0 {
		phrases = []string{strings.ReplaceAll(r.Action, "_", " ")}
	}
	what, rest, noted := strings.Cut(phrases[0], noteMark)
	first := what + by
	if noted {
		first += ": " + rest
	}
	return lead + first + strings.ReplaceAll(strings.Join(append([]string{""}, phrases[1:]...), "; "), noteMark, ": ")
}

// Lines says in words what a record holds, a line for each event, without who did it.
func Lines(r plan.Record) []string {
	var lines []string
	for _, e := range r.Events {
		if phrase := phraseOf(e); phrase != "" {
			lines = append(lines, strings.ReplaceAll(phrase, noteMark, ": "))
		}
	}
	return lines
}

// noteMark parts what was done from what was said about it: who did it stands
// in between.
const noteMark = "\x00"

// phraseOf says in words what an event records, "" for what others say already.
func phraseOf(e plan.Event) string {
	switch e := e.(type) {
	case plan.PlanSetUp:
		return planPhrase(e.Plan, "set up")
	case plan.DraftMade:
		return "draft of " + planPhrase(e.Plan, "made")
	case plan.HostPlanAdopted:
		return "draft of " + planPhrase(e.Plan, "made of the plan in "+e.Plan.Adopted.From())
	case plan.PlanRestored:
		return planPhrase(e.Plan, "restored")
	case plan.PlanCleared:
		return "the plan cleared"
	case plan.StepsAdded:
		return stepsPhrase(e.Steps)
	case plan.StepUpdated:
		return e.Step.String() + " edited" + noteMark + strings.Join(changed(e.Patch), ", ")
	case plan.StepMoved:
		if e.After == 0 {
			return e.Step.String() + " moved to the first place"
		}
		return e.Step.String() + " moved behind " + e.After.String()
	case plan.StepMarked:
		return e.Step.String() + " marked " + e.Status.Spaced() + quotedNote(e.Note)
	case plan.StepClaimed:
		return e.Step.String() + " claimed"
	case plan.StepReported:
		return reportPhrase(e)
	case plan.SignalRaised:
		return signalPhrase(e.Signal)
	case plan.SignalCleared:
		return "signal " + plan.Quote(e.ID) + " cleared"
	case plan.PlanJudged:
		outcome := map[bool]string{true: "passed", false: "failed"}[e.Verdict.Approved]
		return "the plan " + outcome + " review" + quotedNote(e.Verdict.Feedback)
	case plan.PlanClosed:
		return "the plan closed" + quotedNote(e.Summary)
	case plan.PlanCompleted:
		return "the plan is completed"
	case plan.PlanReopened:
		return "the plan is active again"
	case plan.PlanAbandonedByItself:
		return "the plan is abandoned, all its steps being skipped or cancelled"
	case plan.PlanNeedsReplan:
		return e.Step.String() + " is critical: the plan has to be revised"
	case plan.PlanFailedForGood:
		return e.Step.String() + " is critical: the plan has failed"
	case plan.HistoryPurged:
		return fmt.Sprintf("the history of %s deleted", plan.Counted(int(e.Records), "change"))
	}
	return cmp.Or(modePhrase(e), saidPhrase(e), runPhrase(e)) // "" for the head of an archived plan, and for ids
}

// modePhrase says in words what an event records of planning mode.
func modePhrase(e plan.Event) string {
	switch e := e.(type) {
	case plan.ModeEntered:
		return "planning mode entered" + quotedNote(e.Task+e.Reason)
	case plan.ModeCancelled:
		return "planning mode cancelled"
	case plan.ModeExpired:
		return "planning mode expired after " + e.Limit + " of " + expiredPhase(e.Phase)
	case plan.ModeEnded:
		return "planning mode ended" + noteMark + e.Why
	case plan.PlanSubmitted:
		return planPhrase(e.Plan, "submitted") + quotedNote(e.Plan.Changes)
	case plan.DraftEdited:
		return "the draft changed" + noteMark + editPhrase(e)
	case plan.PlanApproved:
		return "the plan approved" + quotedNote(e.Approval.Comment)
	case plan.PlanRejected:
		return changeOr(e.Change, "the plan") + " rejected" + quotedNote(e.Reason)
	case plan.PlanReturned:
		return changeOr(e.Change, "the plan") + " returned for changes" + quotedNote(e.Comment)
	case plan.LeftUndecided:
		return undecided + noteMark + undecidedWords(e.How)
	case plan.PlanDeviated:
		return "a deviation from the approved plan" + noteMark + plan.Shorten(strings.Join(e.What, "; "), notedLength)
	case plan.ModeRestored:
		return "planning mode restored to what it was (" + string(e.Phase) + ")"
	}
	return ""
}

// saidPhrase says in words what an event records of questions and comments.
func saidPhrase(e plan.Event) string {
	switch e := e.(type) {
	case plan.QuestionAsked:
		return e.ID + " asked" + quotedNote(e.Text)
	case plan.QuestionAnswered:
		return e.ID + " answered" + quotedNote(e.Answer)
	case plan.Commented:
		return commentPhrase(e) + quotedNote(e.Text)
	case plan.CommentReplied:
		return e.ID + " replied to" + quotedNote(e.Text)
	case plan.CommentMet:
		return e.ID + map[bool]string{true: " marked met", false: " marked open again"}[e.Met]
	}
	return ""
}

// commentPhrase names a comment, which the first logs gave no id, and what it is about.
func commentPhrase(e plan.Commented) string {
	phrase := strings.TrimSpace("comment " + e.ID)
	if e.Question {
		phrase = e.ID + " asked of the agent"
	}
	if e.Step != 0 {
		phrase += " on " + e.Step.String()
	}
	return phrase
}

// editPhrase says what a person changed of a draft.
func editPhrase(e plan.DraftEdited) string {
	var parts []string
	if e.Added != nil {
		parts = append(parts, phraseOf(*e.Added))
	}
	if e.Removed != 0 {
		parts = append(parts, e.Removed.String()+" removed")
	}
	for _, updated := range e.Updated {
		parts = append(parts, phraseOf(updated))
	}
	for _, moved := range e.Moved {
		parts = append(parts, phraseOf(moved))
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), noteMark, ": ")
}

// changeOr is what a decision was about: a change of the approved plan, or a plan of its own.
func changeOr(change bool, whole string) string {
	if change {
		return "a change of the plan"
	}
	return whole
}

func planPhrase(p plan.Body, what string) string {
	phrase := "plan " + plan.Quote(p.Objective) + " " + what
	if n := len(p.Steps); n > 0 {
		phrase += " with " + plan.Counted(n, "step")
	}
	return phrase
}

func stepsPhrase(steps []*plan.Step) string {
	switch len(steps) {
	case 0:
		return ""
	case 1:
		return steps[0].ID.String() + " added" + noteMark + plan.Quote(steps[0].Title)
	}
	return fmt.Sprintf("%s-%s added", steps[0].ID, steps[len(steps)-1].ID)
}

// notedLength bounds what a line of the log repeats of a note.
const notedLength = 200

// reportPhrase names what came out of working on a step: the note, the commands
// that were run, the criteria, or that there is output or a list of files.
func reportPhrase(e plan.StepReported) string {
	var what []string
	if e.Note != "" {
		what = append(what, noteQuote(e.Note))
	}
	for _, evidence := range e.Evidence {
		what = append(what, evidenceWords(evidence))
	}
	if e.Output != "" {
		what = append(what, "output")
	}
	if n := len(e.AffectedFiles); n > 0 {
		what = append(what, plan.Counted(n, "file"))
	}
	phrase := e.Step.String() + " reported on"
	if len(what) == 0 {
		return phrase
	}
	return phrase + noteMark + plan.Shorten(strings.Join(what, ", "), notedLength)
}

// evidenceWords names a piece of evidence: the command and how it ended, or the
// criterion, or the note alone.
func evidenceWords(e plan.Evidence) string {
	switch {
	case e.Command != "" && e.ExitCode != nil:
		return fmt.Sprintf("%s exited with %d", plan.Quote(plan.Shorten(e.Command, commandLength)), *e.ExitCode)
	case e.Criterion != "":
		return "evidence for " + plan.Quote(plan.Shorten(e.Criterion, commandLength))
	case e.Note != "":
		return "evidence " + noteQuote(e.Note)
	}
	return "evidence"
}

// commandLength bounds what a line repeats of a command or a criterion.
const commandLength = 80

func signalPhrase(s plan.Signal) string {
	phrase := string(s.Level) + " " + plan.Quote(s.ID) + " raised"
	if s.Step != 0 {
		phrase += " on " + s.Step.String()
	}
	return phrase + quotedNote(s.Message)
}

// quotedNote is what was said, behind the mark; "" for nothing.
func quotedNote(text string) string {
	if text == "" {
		return ""
	}
	return noteMark + noteQuote(text)
}

func noteQuote(text string) string {
	return strconv.QuoteToGraphic(plan.Shorten(strings.Join(strings.Fields(text), " "), notedLength))
}

// changed names the fields that a patch changes.
func changed(p plan.Patch) []string {
	var names []string
	for _, f := range p.Given() {
		names = append(names, f.Words)
	}
	return names
}

// byItself reports whether an event is nobody's doing: it came with the next action,
// whoever took that.
func byItself(e plan.Event) bool {
	_, expired := e.(plan.ModeExpired)
	return expired
}

// wayOf is the way by which a person's decision came in, "" for what is none.
func wayOf(e plan.Event) plan.Way {
	switch e := e.(type) {
	case plan.ModeCancelled:
		return e.Way
	case plan.DraftEdited:
		return e.Way
	case plan.PlanApproved:
		return plan.Way(e.Approval.Way)
	case plan.PlanRejected:
		return e.Way
	case plan.PlanReturned:
		return e.Way
	case plan.QuestionAnswered:
		return e.Way
	case plan.Commented:
		return e.Way
	case plan.CommentMet:
		return e.Way
	case plan.StepAnswered:
		return e.Way
	}
	return ""
}

// expiredPhase says what went on for too long.
func expiredPhase(phase plan.Phase) string {
	if phase == plan.PhaseSubmitted {
		return "waiting for a decision"
	}
	return "silence"
}

// undecided is what an agent's client came to that was to ask its user about a plan.
const undecided = "no decision obtained"

// undecidedWords says why a client brought no decision, and what that means.
func undecidedWords(how string) string {
	why := map[string]string{"declined": "the dialogue was declined", "cancelled": "the dialogue was closed",
		"timed_out": "nobody answered the dialogue in time", "unsupported": "its client cannot show its user a dialogue",
		"invalid": "the dialogue came back without a valid answer"}[how]
	return cmp.Or(why, "its client failed to show its user a dialogue ("+how+")") + "; the plan still waits"
}
