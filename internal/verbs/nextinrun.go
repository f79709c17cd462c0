package verbs

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

func (s *Service) engineLives(state plan.State) bool {
	if !state.HasActiveRun() {
		return false
	}
	for step := range state.Plan.Steps.Running() {
		if step.IsRunning() && !s.gone(step) {
			return true
		}
	}
	return s.opts.Engines != nil && s.opts.Engines.Lives()
}

func (s *Service) gone(step *plan.Step) bool {
	return s.opts.Presence != nil && s.opts.Presence.Seen(step.ClaimedBy).IsGone
}

// heldByPerson reports whether a person paused the run, so that neither engines nor agents may continue it.
func (v view) heldByPerson() bool {
	run := v.state.OpenRun()
	return run != nil && run.IsPaused && run.PausedByPerson && !v.decides()
}

// asked returns the question the caller may answer. Anyone may answer for a step in unknown state.
func (v view) asked(p *plan.Plan) (now, bool) {
	for step := range p.Steps.WithQuestion() {
		ask, about := step.OpenQuestion(), now{reason: StepAsks, step: step}
		switch {
		case step.IsUnknown():
			return v.unknown(step), true
		case !v.decides():
		case ask.Kind == plan.AskPause:
			about.message = fmt.Sprintf("Task %s asks: %s", step.ID, ask.Text)
			about.next = say(step.ID, " ", name(step.Title), " asks you: ", Call{Kind: CallAnswerStep, Step: step.ID}, ".")
			return about, true
		default:
			about.message = fmt.Sprintf("Task %s waits for your approval.", step.ID)
			about.next = say(step.ID, " ", name(step.Title), " waits for you: ", Call{Kind: CallApproveStep, Step: step.ID}, ", or ",
				Call{Kind: CallRejectStep, Step: step.ID}, ".")
			return about, true
		}
	}
	return now{}, false
}

func (v view) unknown(step *plan.Step) now {
	next := say("Look if ", step.ID, " ", name(step.Title), " happened: if so ",
		Call{Kind: CallRecover, Step: step.ID, Choice: plan.Happened})
	if v.brief() { // agent_instructions has the rest
		next = append(next, say(", else retry it.")...)
	} else {
		next = append(next, say(", else ", Call{Kind: CallRecover, Step: step.ID, Choice: plan.Retry}, ".")...)
	}
	return now{reason: StepUnknown, step: step, next: next,
		message: fmt.Sprintf("Task %s was started, and nobody knows what came of it.", step.ID)}
}

// begin returns the next action for a ready step, false if an engine or a person has to act first.
func (v view) begin(step *plan.Step) (now, bool) {
	agents := v.starts(step)
	engines := agents || step.NeedsEngine()
	_, runs := v.Can(Call{Kind: CallRun})
	switch {
	case step.OpenQuestion() != nil, engines && (v.engine || v.heldByPerson()):
		return now{}, false
	case engines && runs && (agents || !needsOnlyApproval(step)):
		return now{reason: ReadyToRun, step: step, message: fmt.Sprintf("Task %s is run by planloop.", step.ID),
			next: say("Run the plan; ", step.ID, " ", name(step.Title), " comes next: ", Call{Kind: CallRun}, ".")}, true
	case v.unapproved(step), v.unanswered(step):
		return now{}, false
	}
	start := mark(step.ID, plan.InProgress)
	if step.Tool != "" { // the caller cannot run it; the sentence has no room for the title
		return v.start(step, say(step.ID, ": ask the user to run ", Call{Kind: CallResume}, ", or by hand: ", start, ".")), true
	}
	return v.start(step, say("Start ", step.ID, " ", name(step.Title), ": ", start, ".")), true
}

// needsOnlyApproval reports whether a required approval is all that makes the step concern an engine.
func needsOnlyApproval(step *plan.Step) bool {
	return step.Tool == "" && step.When == "" && step.Pause == "" && step.ForEach == ""
}

// unapproved reports whether the step needs a person's approval before the caller may start it.
func (v view) unapproved(step *plan.Step) bool {
	return step.RequiresApproval && !step.HasApproval() && !v.neverAsk && !v.decides()
}

// unanswered reports whether the step needs a person's answer before the caller may start it.
func (v view) unanswered(step *plan.Step) bool { return step.NeedsReply() && !v.decides() }

// engaged returns the step that an engine runs, is about to start, or left when it ended.
func (v view) engaged(p *plan.Plan) (now, bool) {
	var runs *plan.Step
	for step := range p.Steps.Running() {
		switch {
		case !step.IsRunning():
		case v.gone(step):
			return v.abandoned(step), true
		case runs == nil:
			runs = step
		}
	}
	if runs == nil && v.engine {
		for _, step := range plan.StartableStepsWithAgents(v.state, 1, v.starts) {
			runs = step
			break
		}
	}
	if runs == nil {
		return now{}, false
	}
	return now{reason: Running, step: runs, message: fmt.Sprintf("Task %s is run by planloop.", runs.ID),
		next: say("Wait while ", runs.ID, " ", name(runs.Title), " is run: ", Call{Kind: CallWait}, ".")}, true
}

// abandoned returns the next action for a step without its engine: another engine settles it.
func (v view) abandoned(step *plan.Step) now {
	run, ask := Call{Kind: CallRun}, ""
	if _, can := v.Can(run); !can {
		ask = "ask the user to run "
	}
	return now{reason: RunStopped, step: step, message: fmt.Sprintf("What ran task %s has ended before it.", step.ID),
		next: say("What ran ", step.ID, " ", name(step.Title), " has ended: ", ask, run, ".")}
}

// asksPerson returns the step for which the caller waits for a person: for an answer, an approval, or to resume the
// run.
func (v view) asksPerson(p *plan.Plan) (now, bool) {
	for step := range p.Steps.WithQuestion() {
		command := Call{Kind: CallApproveStep, Step: step.ID}
		if step.OpenQuestion().Kind == plan.AskPause {
			command.Kind = CallAnswerStep
		}
		return v.waitForPerson(step, command), true
	}
	for step := range p.Steps.Ready() {
		switch {
		case v.heldByPerson() && step.NeedsEngine():
			next := say("The run is paused before ", step.ID, " until a person runs ", Call{Kind: CallResume}, ": ",
				Call{Kind: CallWait}, ".")
			return now{reason: RunPaused, step: step, message: "A person has paused the run.", next: next}, true
		case v.unapproved(step):
			return v.waitForPerson(step, Call{Kind: CallApproveStep, Step: step.ID}), true
		case v.unanswered(step):
			return v.waitForPerson(step, Call{Kind: CallAnswerStep, Step: step.ID}), true
		}
	}
	return now{}, false
}

func (v view) waitForPerson(step *plan.Step, command Call) now {
	return now{reason: StepAsks, step: step, message: fmt.Sprintf("Task %s waits for a person.", step.ID),
		next: say(step.ID, " ", name(step.Title), " waits until a person runs ", command, ": ", Call{Kind: CallWait}, ".")}
}
