package history

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

// runPhrase says in words what an event of a run records, "" for another event.
func runPhrase(e plan.Event) string {
	switch e := e.(type) {
	case plan.RunBegun:
		return "run " + e.ID + " begun"
	case plan.RunPaused:
		return "the run paused: " + plan.StepStatus(e.Reason).Spaced() + quotedNote(e.Note)
	case plan.RunResumed:
		return "the run resumed"
	case plan.RunEnded:
		return "the run ended: " + plan.StepStatus(e.Reason).Spaced()
	case plan.StepStarted:
		if e.Agent != "" {
			return e.Step.String() + attempted(e.Attempt) + ": the agent " + plan.Quote(e.Agent) + " started"
		}
		return e.Step.String() + attempted(e.Attempt) + " started"
	case plan.AgentReported:
		return e.Step.String() + " reported " + string(e.Status) + quotedNote(e.Note)
	case plan.AgentUnavailable:
		return e.Step.String() + attempted(e.Attempt) + ": the agent ended at once and said nothing" + quotedNote(e.Error)
	case plan.StepFinished:
		if e.Result.OK {
			return e.Step.String() + " done" + quotedNote(e.Note) + outside(e.Outside)
		}
		if e.Blocked {
			return e.Step.String() + " blocked" + quotedNote(e.Note) + outside(e.Outside)
		}
		return e.Step.String() + attempted(e.Attempt) + " failed" + quotedNote(e.Result.Error)
	case plan.StepRetried:
		return e.Step.String() + attempted(e.Attempt) + " is tried again" + quotedNote(e.Error)
	case plan.StepLost:
		if e.Unknown {
			return "nobody knows what came of " + e.Step.String() + quotedNote(e.Error)
		}
		return e.Step.String() + " was lost with " + e.From + " and is run again"
	case plan.StrayResult:
		return fmt.Sprintf("a result of %s came too late and was not used", e.Step) + quotedNote(e.Error)
	case plan.ConditionMet:
		return "the condition of " + e.Step.String() + " holds"
	case plan.ConditionUnmet:
		return e.Step.String() + " skipped, as its condition does not hold"
	case plan.LoopExpanded:
		return e.Step.String() + " runs for " + plan.Counted(len(e.Instances), "entry")
	case plan.LoopSettled:
		return "the loop " + e.Step.String() + " " + e.Status.Is()
	case plan.StepAsked:
		return e.Step.String() + " asks a person" + quotedNote(e.Ask.Text)
	case plan.StepAnswered:
		return e.Step.String() + ": " + answers()[e.Choice] + quotedNote(e.Text)
	case plan.PlanReplanned:
		return fmt.Sprintf("replanned as version %d", e.Version) + quotedNote(e.Changes)
	}
	return ""
}

// outside tells of files that were changed beyond what the step names.
func outside(files []string) string {
	const shown = 3
	if len(files) == 0 {
		return ""
	}
	text := "; it changed what it does not name: "
	for i, file := range files[:min(len(files), shown)] {
		if i > 0 {
			text += ", "
		}
		text += plan.Quote(file)
	}
	if more := len(files) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func attempted(attempt int) string {
	if attempt < 2 {
		return ""
	}
	return fmt.Sprintf(" (attempt %d)", attempt)
}

func answers() map[plan.Choice]string {
	return map[plan.Choice]string{plan.Approve: "approved", plan.Deny: "denied", plan.Reply: "answered", plan.Retry: "to be tried again",
		plan.Skip: "skipped", plan.Happened: "found to be done", plan.Insert: "to be tried again after other steps",
		plan.Abort: "given up, and the run with it"}
}
