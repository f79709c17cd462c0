package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// runPhrase describes an event of a run, "" for any other event.
func runPhrase(e plan.Event) string {
	switch e := e.(type) {
	case plan.RunBegun:
		return "run " + e.ID + " begun"
	case plan.RunPaused:
		if e.Reason == plan.StopPaused && e.Note != "" {
			return "the run paused" + quotedNote(e.Note)
		}
		return "the run paused: " + plan.StepStatus(e.Reason).Spaced() + quotedNote(e.Note)
	case plan.RunResumed:
		return "the run resumed"
	case plan.RunEnding:
		return "the run ends after its clean-up: " + plan.StepStatus(e.Reason).Spaced()
	case plan.RunEnded:
		return "the run ended: " + plan.StepStatus(e.Reason).Spaced()
	case plan.StepStarted:
		if e.Agent != "" {
			return e.Step.String() + attemptSuffix(e.Attempt) + ": the agent " + plan.Quote(e.Agent) + " started"
		}
		return e.Step.String() + attemptSuffix(e.Attempt) + " started"
	case plan.AgentReported:
		return e.Step.String() + " reported " + string(e.Status) + quotedNote(e.Note)
	case plan.AgentUnavailable:
		return e.Step.String() + attemptSuffix(e.Attempt) + ": the agent" + quotedAgent(e.Agent) + " exited at once" +
			quotedNote(e.Error)
	case plan.StepFinished:
		return finishedPhrase(e)
	case plan.StepRetried:
		return e.Step.String() + attemptSuffix(e.Attempt) + " is retried" + quotedNote(e.Error)
	case plan.StepStopRequested:
		return e.Step.String() + " is being stopped"
	case plan.StepLost:
		if e.Unknown {
			return "the outcome of " + e.Step.String() + " is unknown" + quotedNote(e.Error)
		}
		if e.From == e.By {
			return e.Step.String() + " was interrupted, and runs again when the run resumes"
		}
		return e.Step.String() + " was lost with " + e.From + ", and runs again"
	case plan.StrayResult:
		return fmt.Sprintf("a late result of %s was ignored", e.Step) + quotedNote(e.Error)
	case plan.ConditionMet:
		return "the condition of " + e.Step.String() + " is true"
	case plan.ConditionUnmet:
		return e.Step.String() + " skipped because its condition is false"
	case plan.LoopExpanded:
		return e.Step.String() + " runs for " + plan.Pluralize(len(e.Instances), "entry")
	case plan.LoopSettled:
		return "the loop " + e.Step.String() + " " + e.Status.Predicate()
	case plan.StepAsked:
		if e.Ask.Kind == plan.AskApproval && e.Ask.Text != "" { // planloop's own words
			return e.Step.String() + " asks a person" + noteMark + plan.Shorten(e.Ask.Text, notedLength)
		}
		return e.Step.String() + " asks a person" + quotedNote(e.Ask.Text)
	case plan.StepAnswered:
		return e.Step.String() + ": " + answerWords()[e.Choice] + quotedNote(e.Text)
	case plan.StepsRenewed:
		return renewedPhrase(e)
	case plan.ContextAdded:
		return "context added" + quotedNote(strings.Join(slices.Concat(e.Constraints, e.Findings), "; "))
	case plan.PlanReplanned:
		return fmt.Sprintf("replanned as version %d", e.Version) + quotedNote(e.Changes)
	}
	return ""
}

// renewedPhrase describes what becomes of steps that ended before others were opened again.
func renewedPhrase(e plan.StepsRenewed) string {
	var parts []string
	if len(e.Steps) > 0 {
		parts = append(parts, plan.IDs(e.Steps)+" will run again")
	}
	if len(e.Stale) > 0 {
		parts = append(parts, plan.IDs(e.Stale)+" used a value that is being replaced")
	}
	return strings.Join(parts, "; ")
}

// finishedPhrase describes the end of an attempt, with the agent that worked on it.
func finishedPhrase(e plan.StepFinished) string {
	status, joint, note := " done", " by", e.Note
	switch {
	case e.Blocked:
		status = " reported blocked"
	case !e.Result.OK:
		status, joint, note = attemptSuffix(e.Attempt)+" failed", " with", e.Result.Error
	}
	if e.Agent != "" {
		status += joint + " the agent" + quotedAgent(e.Agent)
		if took := FormatDuration(time.Duration(e.Result.Duration) * time.Millisecond); took != "" {
			status += " after " + took
		}
	}
	text := e.Step.String() + status + quotedNote(note)
	if outside := ChangesOutside(e.OutOfScopeFiles, e.CommitMoved, e.ChangesUnknown); outside != "" {
		text += "; warning: it " + outside
	}
	return text
}

func quotedAgent(agent string) string {
	if agent == "" {
		return ""
	}
	return " " + plan.Quote(agent)
}

// namesAgent reports whether the phrase of an event names the agent that caused it.
func namesAgent(e plan.Event) bool {
	switch e := e.(type) {
	case plan.StepFinished:
		return e.Agent != ""
	case plan.AgentUnavailable:
		return e.Agent != ""
	}
	return false
}

// ChangesOutside describes an agent's actions beyond its step, else "": changed files that the step does
// not name, a work tree left at another commit, or changes that cannot be determined.
func ChangesOutside(files []string, moved, unseen bool) string {
	const shown = 3
	text := ""
	switch {
	case unseen:
		return "left the work tree in a state that hides its changes"
	case moved:
		text = "left the work tree at another commit"
	}
	if len(files) == 0 {
		return text
	}
	if moved {
		text += " and "
	}
	var names []string
	for _, file := range files[:min(len(files), shown)] {
		names = append(names, plan.Quote(file))
	}
	text += "changed files outside its step: " + strings.Join(names, ", ")
	if more := len(files) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// FormatDuration writes how long something took, or has taken so far, "" if it is negligible.
func FormatDuration(d time.Duration) string {
	if d < 50*time.Millisecond {
		return ""
	}
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func attemptSuffix(attempt int) string {
	if attempt < 2 {
		return ""
	}
	return fmt.Sprintf(" (attempt %d)", attempt)
}

func answerWords() map[plan.Choice]string {
	return map[plan.Choice]string{plan.Approve: "approved", plan.Deny: "denied", plan.Reply: "answered", plan.Retry: "retried",
		plan.Skip: "skipped", plan.Happened: "marked as done", plan.Insert: "retried after other steps",
		plan.Abort: "given up, which ends the run"}
}
