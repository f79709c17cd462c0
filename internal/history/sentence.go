// Package history describes the content of the log: each record in a sentence, and the decisions
// alone, for every face that shows them to people; and the events of a plan's execution, for
// programs. It knows the log's events, not where they are kept or how they are shown.
package history

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/planloop/planloop/plan"
)

// SentenceIn is Sentence with a mark on a record from before its track was shared.
func SentenceIn(state plan.State, r plan.Record) string {
	return Sentence(r) + map[bool]string{true: " (before sharing)"}[state.Shared.IsBefore(r.Seq)]
}

// Sentence describes a record: "S001 marked done by alice: "tests pass"; the plan is completed".
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
		case hasNoActor(e):
			lead = phrase + "; "
		case len(phrases) == 0 && namesAgent(e):
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

// Lines describes a record, one line per event, without its actor.
func Lines(r plan.Record) []string {
	var lines []string
	for _, e := range r.Events {
		if phrase := phraseOf(e); phrase != "" {
			lines = append(lines, strings.ReplaceAll(phrase, noteMark, ": "))
		}
	}
	return lines
}

// noteMark separates the description of an event from its note; Sentence puts the actor in between.
const noteMark = "\x00"

// phraseOf describes an event, "" if other events say the same.
func phraseOf(e plan.Event) string {
	switch e := e.(type) {
	case plan.PlanSetUp:
		return planPhrase(e.Plan, "set up")
	case plan.DraftMade:
		return "draft of " + planPhrase(e.Plan, "made")
	case plan.HostPlanAdopted:
		return "draft of " + planPhrase(e.Plan, "made of the plan in "+e.Plan.HostList.SessionKey())
	case plan.HostTaskLinked:
		return "task " + plan.Quote(e.Task) + " of " + e.Host + " linked to " + e.Step.String()
	case plan.PlanRestored:
		return planPhrase(e.Plan, "restored")
	case plan.PlanCleared:
		return "the plan cleared"
	case plan.StepsAdded:
		return stepsPhrase(e.Steps)
	case plan.StepUpdated:
		return e.Step.String() + " edited" + noteMark + strings.Join(fieldNames(e.Patch), ", ")
	case plan.StepMoved:
		if e.After == 0 {
			return e.Step.String() + " moved to the first place"
		}
		return e.Step.String() + " moved after " + e.After.String()
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
		phrase := "the plan closed" + quotedNote(e.Summary)
		if e.Account != "" {
			phrase += "; " + e.Account
		}
		return phrase
	case plan.PlanCompleted:
		return "the plan is completed"
	case plan.PlanReopened:
		return "the plan is active again"
	case plan.PlanAbandoned:
		return "the plan is abandoned, because all its steps are skipped or cancelled"
	case plan.PlanNeedsReplan:
		return e.Step.String() + " is critical: the plan must be revised"
	case plan.PlanFailed:
		return e.Step.String() + " is critical: the plan has failed"
	case plan.TrackShared:
		return sharedPhrase(e)
	case plan.HistoryPurged:
		return fmt.Sprintf("the history of %s deleted", plan.Pluralize(int(e.Records), "change"))
	}
	return cmp.Or(modePhrase(e), conversationPhrase(e), runPhrase(e)) // "" for the head of an archived plan, and for ids
}

func modePhrase(e plan.Event) string {
	switch e := e.(type) {
	case plan.ModeEntered:
		return "planning mode entered" + quotedNote(e.Task+e.Reason)
	case plan.ModeCancelled:
		return "planning mode cancelled"
	case plan.ModeExpired:
		if !e.Phase.IsRestricted() {
			return "the proposed change dropped" + quotedNote(e.Why)
		}
		return "planning mode expired after " + e.Limit + " of " + expiredPhase(e.Phase)
	case plan.ModeEnded:
		return "planning mode ended" + noteMark + e.Why
	case plan.HostReviewLeft:
		return subjects()[e.Change] + " answered in " + e.Title
	case plan.ModeTouched:
		return "a person joined the planning"
	case plan.PlanSubmitted:
		return planPhrase(e.Plan, "submitted") + quotedNote(e.Plan.Changes)
	case plan.ChangeProposed:
		if e.Plan.HostPlan != nil {
			return planPhrase(e.Plan, "submitted")
		}
		return "a change of the plan proposed" + quotedNote(cmp.Or(e.Plan.Changes, e.Plan.Objective))
	case plan.ProposalWithdrawn:
		return "the proposed change withdrawn"
	case plan.DraftEdited:
		return "the draft changed" + noteMark + editPhrase(e)
	case plan.ApprovalGiven:
		if e.Given == e.Needed { // with the approval itself
			return votePhrase(e)
		}
		return votePhrase(e) + quotedNote(e.Vote.Comment)
	case plan.PlanApproved:
		return "the plan approved" + quotedNote(e.Approval.Comment)
	case plan.PlanRejected:
		return subjects()[e.Change] + " rejected" + quotedNote(e.Reason)
	case plan.PlanReturned:
		return subjects()[e.Change] + " returned for changes" + quotedNote(e.Comment)
	case plan.NoDecisionReceived:
		return undecided + noteMark + undecidedWords(e.How)
	case plan.PlanDeviated:
		return "a deviation from the approved plan" + noteMark + plan.Shorten(strings.Join(e.Deviations, "; "), notedLength)
	case plan.ModeRestored:
		return "planning mode restored (" + string(e.Phase) + ")"
	}
	return ""
}

func conversationPhrase(e plan.Event) string {
	switch e := e.(type) {
	case plan.QuestionAsked:
		return e.ID + map[bool]string{true: " of the plan", false: " asked"}[e.Listed] + quotedNote(e.Text)
	case plan.QuestionAnswered:
		return e.ID + " answered" + quotedNote(e.Answer)
	case plan.UndoneAccepted:
		return "undone edits accepted" + quotedNote(e.Text)
	case plan.CommentAdded:
		return commentPhrase(e) + quotedNote(e.Text)
	case plan.CommentReplied:
		return e.ID + " replied to" + quotedNote(e.Text)
	case plan.CommentResolved:
		return e.ID + map[bool]string{true: " marked met", false: " marked open again"}[e.IsResolved]
	}
	return ""
}

// commentPhrase names a comment and its step; comments in the oldest logs have no id.
func commentPhrase(e plan.CommentAdded) string {
	phrase := strings.TrimSpace("comment " + e.ID)
	if e.IsQuestion {
		phrase = e.ID + " asked of the agent"
	}
	if e.Step != 0 {
		phrase += " on " + e.Step.String()
	}
	return phrase
}

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

func sharedPhrase(e plan.TrackShared) string {
	phrase := "the track shared with the team" + noteMark + plan.Pluralize(int(e.Records), "earlier change") + " from " + e.From
	if e.DropsApprovals {
		phrase += ", without their approvals"
	}
	return phrase
}

// votePhrase counts an approval.
func votePhrase(e plan.ApprovalGiven) string {
	return fmt.Sprintf("approval %d of %d given", e.Given, e.Needed)
}

// subjects names the subject of a decision by whether it is a change of the approved plan.
func subjects() map[bool]string {
	return map[bool]string{true: "a change of the plan", false: "the plan"}
}

func planPhrase(p plan.Body, what string) string {
	phrase := "plan " + plan.Quote(p.Objective) + " " + what
	if n := len(p.Steps); n > 0 {
		phrase += " with " + plan.Pluralize(n, "step")
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

// notedLength bounds the part of a note repeated in a line of the log, in characters.
const notedLength = 200

// reportPhrase describes the results of work on a step: the note, the commands run, the criteria,
// or that there is output or a list of files.
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
		what = append(what, plan.Pluralize(n, "file"))
	}
	phrase := "report on " + e.Step.String()
	if len(what) == 0 {
		return phrase
	}
	return phrase + noteMark + plan.Shorten(strings.Join(what, ", "), notedLength)
}

// evidenceWords describes a piece of evidence: the command with its exit code, or the criterion, or
// the note alone.
func evidenceWords(e plan.Evidence) string {
	switch {
	case e.Command != "" && e.ExitCode != nil:
		return plan.Quote(plan.Shorten(e.Command, commandLength)) + " " + e.Outcome()
	case e.Criterion != "":
		return "evidence for " + plan.Quote(plan.Shorten(e.Criterion, commandLength))
	case e.Note != "":
		return "evidence " + noteQuote(e.Note)
	}
	return "evidence"
}

// commandLength bounds the part of a command or a criterion repeated in a line, in characters.
const commandLength = 80

func signalPhrase(s plan.Signal) string {
	phrase := string(s.Level) + " " + plan.Quote(s.ID) + " raised"
	if s.Step != 0 {
		phrase += " on " + s.Step.String()
	}
	return phrase + quotedNote(s.Message)
}

// quotedNote returns a note with noteMark before it; "" without a note.
func quotedNote(text string) string {
	if text == "" {
		return ""
	}
	return noteMark + noteQuote(text)
}

func noteQuote(text string) string {
	return strconv.QuoteToGraphic(plan.Shorten(strings.Join(strings.Fields(text), " "), notedLength))
}

func fieldNames(p plan.Patch) []string {
	var names []string
	for _, f := range p.Fields() {
		names = append(names, f.Words)
	}
	return names
}

// hasNoActor reports whether an event has no actor: it was recorded with the next action.
func hasNoActor(e plan.Event) bool {
	_, expired := e.(plan.ModeExpired)
	return expired
}

// wayOf returns the way of a person's decision, "" for other events.
func wayOf(e plan.Event) plan.Way {
	switch e := e.(type) {
	case plan.ModeCancelled:
		return e.Way
	case plan.ProposalWithdrawn:
		return e.Way
	case plan.DraftEdited:
		return e.Way
	case plan.UndoneAccepted:
		return e.Way
	case plan.ApprovalGiven:
		return e.Way
	case plan.PlanApproved:
		return plan.Way(e.Approval.Way)
	case plan.PlanRejected:
		return e.Way
	case plan.PlanReturned:
		return e.Way
	case plan.QuestionAnswered:
		return e.Way
	case plan.CommentAdded:
		return e.Way
	case plan.CommentResolved:
		return e.Way
	case plan.StepAnswered:
		return e.Way
	}
	return ""
}

// expiredPhase describes the state that lasted too long.
func expiredPhase(phase plan.Phase) string {
	if phase == plan.PhaseGathering {
		return "silence"
	}
	return "waiting for a decision"
}

// undecided describes the result of an agent's client that should have asked its user about a plan.
const undecided = "approval sought"

// undecidedWords says why a client brought no decision, and the consequence.
func undecidedWords(how string) string {
	why := map[string]string{"declined": "the dialogue was declined", "cancelled": "the dialogue was closed",
		"timed_out": "the dialogue timed out", "unsupported": "its client cannot show its user a dialogue",
		"invalid": "the dialogue came back without a valid answer"}[how]
	return cmp.Or(why, "its client failed to show its user a dialogue ("+how+")") + "; the plan still waits"
}
