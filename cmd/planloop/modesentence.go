package main

import (
	"fmt"
	"strings"

	"github.com/planloop/planloop/plan"
)

// modePhrase says in words what an event means for planning mode.
func modePhrase(e plan.Event) string {
	switch e := e.(type) {
	case plan.ModeEntered:
		return "planning mode entered" + quotedNote(e.Task+e.Reason)
	case plan.ModeCancelled:
		return "planning mode cancelled" + throughClient(e.Way)
	case plan.ModeExpired:
		return "planning mode expired after " + e.Limit + " of " + expiredPhase(e.Phase)
	case plan.ModeEnded:
		return "planning mode ended" + noteMark + e.Why
	case plan.PlanSubmitted:
		return submissionPhrase(e)
	case plan.PlanApproved:
		return "the plan approved" + throughClient(plan.Way(e.Approval.Way)) + quotedNote(e.Approval.Comment)
	case plan.PlanRejected:
		return "the plan rejected" + throughClient(e.Way) + quotedNote(e.Reason)
	case plan.PlanReturned:
		return "the plan returned to be edited" + throughClient(e.Way) + quotedNote(e.Comment)
	case plan.LeftUndecided:
		return "left undecided" + noteMark + undecidedWords(e.How)
	case plan.PlanDeviated:
		return "a deviation from the approved plan" + noteMark + plan.Shorten(strings.Join(e.What, "; "), notedLength)
	case plan.QuestionAsked:
		return e.ID + " asked" + quotedNote(e.Text)
	case plan.QuestionAnswered:
		return e.ID + " answered" + throughClient(e.Way) + quotedNote(e.Answer)
	case plan.Commented:
		return "comment" + quotedNote(e.Text)
	case plan.ModeRestored:
		return "planning mode brought back as it was (" + string(e.Phase) + ")"
	}
	return "" // the head of an archived plan
}

// byItself reports whether an event is nobody's doing: it came with the next action,
// whoever took that.
func byItself(e plan.Event) bool {
	_, expired := e.(plan.ModeExpired)
	return expired
}

func submissionPhrase(e plan.PlanSubmitted) string {
	phrase := planPhrase(e.Plan, "submitted")
	if e.Plan.Changes != "" {
		phrase += quotedNote(e.Plan.Changes)
	}
	return phrase
}

// throughClient marks what a client said on its user's behalf.
func throughClient(way plan.Way) string {
	if way == plan.ByClient {
		return " through the client"
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

// undecidedWords says why a client brought no decision.
func undecidedWords(how string) string {
	switch how {
	case "declined":
		return "the dialogue was declined"
	case "cancelled":
		return "the dialogue was closed"
	case "timed_out":
		return "nobody answered the dialogue in time"
	case "unsupported":
		return "the client cannot ask its user"
	}
	return fmt.Sprintf("the client failed to ask its user (%s)", how)
}
