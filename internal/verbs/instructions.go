package verbs

import "strings"

// instructions is the short hint for the caller's immediate focus (planloop:
// Prompt Catalog, I-7), in the contract's words where it has some.
func instructions(n now, rules Rules, c Caller) string {
	text := ""
	switch n.reason {
	case SyncInstructions:
		text = "CRITICAL: Your `" + rules.File + "` is out of sync. Overwrite it with the content provided in `instructions_content` and then run `planloop status --json` again."
		if rules.Problem != "" {
			text = "CRITICAL: Your `" + rules.File + "` is out of sync and cannot be brought up to date: " + rules.Problem
		}
	case ReadyForTask:
		text = "Your next task is ready. Gather context using `context_hints` and `relevant_file_paths`, then perform the work."
		if taskStatus(n.step.Status) == Doing {
			text = "Your task is in progress. Gather context using `context_hints` and `relevant_file_paths`, finish the work, verify it, then report it as DONE."
		}
	case WaitingOnSignal:
		text = "CRITICAL: A signal is blocking progress. Analyze the signal details, fix the issue, and clear the signal using `planloop alert`."
	case PlanCompleted:
		text = "All tasks are complete. Provide a final summary of your work via `planloop update --json '{\"final_summary\": \"...\"}'`."
	case Closed:
		text = "The plan is closed. Nothing is left to do for this goal."
	case Replanning:
		text = "A critical task failed. Do not go on with the others: try it again, or agree on a new plan with the user."
	case Deadlocked:
		text = "Nothing can be started. Resolve what the tasks wait for; do not work around the plan."
	case WaitingOnAgent:
		text = "Another agent works on what comes next. Wait for it, or ask the user for other work."
	case Gathering:
		text = "Planning mode is on. Only look and ask; change nothing until a person has approved a plan."
	case AwaitingApproval:
		text = "Your plan waits for a person's decision. Do not start; approving is not yours to do."
	case Failed:
		text = "The plan has failed. Tell the user what failed and agree on a new plan."
	case NoPlan:
		text = "There is nothing to do yet. Set up a plan before work of several steps."
	}
	if c.Face == Tool {
		return asTools(text)
	}
	return text
}

// asTools names tools in the place of commands.
func asTools(text string) string {
	return strings.NewReplacer(
		"run `planloop status --json`", "call `planloop_status`",
		"`planloop alert`", "`planloop_alert`",
		"`planloop update --json '{\"final_summary\": \"...\"}'`", "`planloop_update` with `final_summary`",
	).Replace(text)
}
