package verbs

import "github.com/planloop/planloop/plan"

// agentInstructions returns the short hint for the caller's immediate focus (planloop: Prompt Catalog, I-7), in the
// contract's words if it has any.
func agentInstructions(n NextAction, rules Rules, c Caller) string {
	switch {
	case c.scoped() && n.Reason == Ended:
		return "Planloop started you for one step, and that step has ended. Change nothing more, and end."
	case c.scoped():
		return "Planloop started you for this step alone. Do it, verify it, and report it as done, failed or blocked with the `output` " +
			"that later steps need; then end. Leave the other steps to others."
	case n.rejected:
		return "The user rejected your plan. Do none of it, and ask what to do instead."
	}
	switch step := n.step; n.Reason {
	case SyncInstructions:
		if rules.Problem != "" {
			return "CRITICAL: Your `" + rules.File + "` is out of sync and cannot be updated: " + rules.Problem
		}
		run := "run"
		if c.brief() {
			run = "call"
		}
		return "CRITICAL: Your `" + rules.File + "` is out of sync. Overwrite it with the content provided in `instructions_content` " +
			"and then " + run + " `" + c.word(Call{Kind: CallAskStatus}) + "` again."
	case WaitingOnSignal:
		return "CRITICAL: A signal is blocking progress. Analyze the signal details, fix the issue, and clear the signal using `" +
			c.word(Call{Kind: CallAlert}) + "`."
	case ReadyForTask:
		switch doing := taskStatus(step.Status) == Doing; {
		case step.Status == plan.Pending && step.Tool != "":
			return "A run of the plan calls this step's tool: ask the user to run `" + c.word(Call{Kind: CallResume}) +
				"`, or do the same by hand, as `tool` and `args` describe it."
		case doing && step.ClaimedBy != "" && step.ClaimedBy != c.Actor.Name:
			return "The agent that started this step is gone. Take it over, check the work so far, finish it, verify it, then report " +
				"it as DONE."
		case doing:
			return "Your step is in progress. Gather context using `context_hints` and `relevant_file_paths`, finish the work, verify " +
				"it, then report it as DONE."
		}
		return "Your next task is ready. Gather context using `context_hints` and `relevant_file_paths`, then perform the work."
	case Deadlocked:
		switch {
		case step != nil && step.Status == plan.Failed && step.Tool != "":
			return "The step's tool failed; `error` has the reason. Fix the cause or the arguments and retry, or skip the step and say why."
		case step != nil && step.Status == plan.Blocked:
			return step.ID.String() + " is blocked. Once its cause is gone, continue it: " + c.word(n.Calls()[0]) + "."
		}
		return "No step can start. Remove the cause; do not work around the plan."
	case Replanning:
		text := "A critical step failed. Leave the others alone: retry it, or agree on another way with the user"
		if call, can := c.Can(Call{Kind: CallReplan}); can {
			text += ", then " + call
		}
		return text + "."
	case StepAsks:
		if c.decides() {
			return "This step asks you. Look at its tool and arguments, then decide."
		}
	case StepUnknown:
		return "An earlier run started " + step.ID.String() + " and did not record its outcome. Look at its effects. If it happened: " +
			c.word(Call{Kind: CallRecover, Step: step.ID, Choice: plan.Happened}) + ". To do it again: " +
			c.word(Call{Kind: CallRecover, Step: step.ID, Choice: plan.Retry}) + "."
	case PlanCompleted:
		return "All tasks are complete. Provide a final summary of your work via `" + c.word(Call{Kind: CallSummarise}) + "`."
	}
	return map[Reason]string{
		Closed:         "The plan is closed. Give the user its `final_summary`, unless you have; nothing is left to do for this goal.",
		ReadyToRun:     "Planloop carries out the next step itself: run the plan. The run returns the steps that you must do.",
		Running:        "Planloop carries out the next step. Do not do it by hand; wait for it, or ask the user for other work.",
		RunStopped:     "A run ended before its step did. Leave that step alone: the next run settles it and reports its outcome.",
		StepAsks:       "A person must approve this step, or answer it. Wait for that, and start nothing in its place.",
		RunPaused:      "A person has paused the run: do none of its steps by hand. Wait, or ask the user.",
		WaitingOnAgent: "Another agent works on the next step. Wait for it, or ask the user for other work.",
		Gathering: "Only read and ask; change nothing until a person has approved a plan. Tools that change something are hidden " +
			"until the mode ends.",
		AwaitingApproval: "Do not start before the decision, and do not approve the plan yourself. A new submission replaces this one.",
		Failed:           "The plan has failed. Tell the user what failed and agree on a new plan.",
		NoPlan:           "There is nothing to do yet. Set up a plan before work of several steps.",
	}[n.Reason]
}
