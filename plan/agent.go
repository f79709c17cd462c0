package plan

import (
	"fmt"
	"slices"
	"time"
)

// AgentReport is what an agent that planloop started says of its step. The step goes on until
// its engine has seen the agent out and verified it.
type AgentReport struct {
	Status StepStatus `json:"status"` // done, failed or blocked
	Note   string     `json:"note,omitempty"`
	At     time.Time  `json:"at"`
}

// Assigned returns the agent that planloop started for the step, "" when none is at work on it.
func (step *Step) Assigned() string {
	if !step.Running() {
		return ""
	}
	return step.execution().Agent
}

// Reported returns what the agent that works on the step has said of it, nil for nothing.
func (step *Step) Reported() *AgentReport { return step.execution().Report }

// ForAgents reports whether the step is work for an agent: no tool carries it out, and no steps of its own.
func (step *Step) ForAgents() bool {
	return step.Tool == "" && (step.ForEach == "" || step.Loop() != 0)
}

// Affords reports whether the run that is open may start an agent once more of which a run may make so many
// starts; 0 is any number.
func (s State) Affords(agent string, most int) bool {
	run := s.OpenRun()
	return most == 0 || run == nil || run.Starts[agent] < most
}

// keepsTo refuses an agent that planloop started for a step everything but to report on that step, to
// ask, and to tell of what it sees: one step, in a context of its own, is what it was started for.
func (s State) keepsTo(a Action, f Facts) error {
	scope := f.Actor.Scope
	if scope == (Attempt{}) {
		return nil
	}
	step := scope.Underway(s)
	if step == nil {
		return conflict("the attempt at "+scope.Step.String()+" that you were started for is over", "change nothing more, and end")
	}
	var about StepID
	switch a := a.(type) {
	case Batch:
		for _, part := range a.Parts {
			if err := s.keepsTo(part.Action, f); err != nil {
				return within(part.Field, err)
			}
		}
		return nil
	case MarkStep:
		about = a.Step
	case ReportStep:
		about = a.Step
	case ClaimStep:
		about = a.Step
	case AskUser, ReplyTo, RaiseSignal, ClearSignal:
		return nil
	}
	switch {
	case about == 0:
		return scope.Beyond()
	case about != scope.Step:
		return conflict(fmt.Sprintf("you were started for %s, and %s is not yours", scope.Step, about),
			"do your own step, report it, and end")
	case step.Reported() != nil:
		return conflict(scope.Step.String()+" has been reported", "change nothing more, and end")
	}
	return nil
}

// Underway returns the step that the agent which was started for the attempt is at work on, nil where
// that is over.
func (a Attempt) Underway(s State) *Step {
	step := a.running(s)
	if step == nil || step.Assigned() == "" {
		return nil
	}
	return step
}

// Beyond refuses the agent that was started for the attempt what is not a part of it.
func (a Attempt) Beyond() error {
	return conflict("you were started for "+a.Step.String()+" alone, and this is not a part of it", "do that step, report it, and end")
}

// reportedOn returns what the mark of an agent on the step it was started for leads to: its engine
// ends the step.
func (a MarkStep) reportedOn(s State, step *Step, f Facts) ([]Event, error) {
	switch a.Status {
	case InProgress:
		if a.Note == "" {
			return nil, nil
		}
		return ReportStep{Step: a.Step, Note: a.Note}.event(step, f)
	case Done, Failed, Blocked:
		if err := roomForNote(step, a.Note); err != nil {
			return nil, err
		}
		rest := *step
		rest.Verify = "" // its engine sees to that
		if step.Verify == "" || len(step.AcceptanceCriteria) > 0 {
			if err := proven(s, &rest, a, f); err != nil {
				return nil, err
			}
		}
		return []Event{AgentReported{Step: a.Step, Attempt: step.Attempts, Status: a.Status, Note: a.Note, By: f.Actor.Name,
			At: f.Now}}, nil
	}
	return nil, conflict(step.ID.String()+" is yours to report on, not to put off", "report it done, failed or blocked")
}

// AgentReported keeps what an agent that planloop started says of its step.
type AgentReported struct {
	Step    StepID     `json:"step_id"`
	Attempt int        `json:"attempt"`
	Status  StepStatus `json:"status"`
	Note    string     `json:"note,omitempty"`
	By      string     `json:"by"`
	At      time.Time  `json:"at"`
}

func (e AgentReported) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) {
		step.execute(func(x *Execution) { x.Report = &AgentReport{Status: e.Status, Note: e.Note, At: e.At} })
	})
}

// Beyond reports whether the last agent did what its step does not say, or may have.
func (x *Execution) Beyond() bool { return len(x.Outside) > 0 || x.Moved || x.Unseen }

// startedAgent counts a start of an agent.
func (r *Run) startedAgent(name string) {
	starts := map[string]int{name: 1}
	for other, n := range r.Starts {
		starts[other] += n
	}
	r.Starts = starts
}

// MaxUnavailable is how many agents in a row end within seconds and say nothing before a run is
// paused: a quota or a login, and no fault of the steps. Where others are heard of in between, it is how
// many of one step do so before that has failed.
const MaxUnavailable = 3

// AgentUnavailable ends an attempt whose agent ended within seconds and said nothing. It counts
// as no try.
type AgentUnavailable struct {
	Step    StepID    `json:"step_id"`
	Attempt int       `json:"attempt"`
	Agent   string    `json:"agent,omitempty"`
	Error   string    `json:"error,omitempty"`
	Output  string    `json:"output,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`

	AffectedFiles []string `json:"affected_files,omitempty"` // besides those that are known
}

func (e AgentUnavailable) marks() StepID { return e.Step }

func (e AgentUnavailable) apply(s State) State {
	s = s.withRun(func(r *Run) { r.Unavailable++ })
	return s.withStep(e.Step, e.At, func(step *Step) {
		silent := step.execution().Silent + 1
		if s.Run != nil && s.Run.Unavailable >= MaxUnavailable { // which is not the step's fault
			silent = 0
		}
		step.lose(StepLost{Step: e.Step, Attempt: e.Attempt, Error: e.Error, Output: e.Output, AffectedFiles: e.AffectedFiles,
			By: e.By, At: e.At})
		step.execute(func(x *Execution) { x.Silent = silent })
	})
}

// oneTooMany reports whether one more agent that ended within seconds and said nothing pauses the run.
func (s State) oneTooMany() bool {
	run := s.OpenRun()
	return run != nil && !run.Paused && run.Unavailable+1 >= MaxUnavailable
}

// unavailable returns what follows when an agent ended within seconds and said nothing.
func (d Finished) unavailable(s State, step *Step, f Facts) []Event {
	events := []Event{AgentUnavailable{Step: d.Step, Attempt: d.Attempt.Attempt, Agent: step.Assigned(), Error: d.Result.Error,
		Output: d.Output, AffectedFiles: step.besides(d.AffectedFiles), By: f.Actor.Name, At: f.Now}}
	if s.oneTooMany() {
		events = append(events, RunPaused{Reason: OverAgentUnavailable, Note: Shorten(d.Result.Error, MaxLongLine), By: f.Actor.Name,
			At: f.Now})
	}
	return events
}

// affects adds to the files that are known to have changed for the step.
func (step *Step) affects(files []string) {
	if len(files) > 0 {
		step.AffectedFiles = append(slices.Clip(step.AffectedFiles), files...)
	}
}

// besides returns the files of a list that are not known of the step, as many as it has room for.
func (step *Step) besides(files []string) []string {
	files = slices.DeleteFunc(slices.Clone(files), func(file string) bool { return slices.Contains(step.AffectedFiles, file) })
	return files[:min(len(files), max(0, MaxNotes-len(step.AffectedFiles)))]
}

// beside reports whether what is found about a step lets it be carried out beside those that are: one
// agent is at work at a time, and nothing that writes beside it.
func (s State) beside(r Resolution) bool {
	for step := range s.Plan.Steps.Running() {
		x := step.execution()
		if step.Running() && (r.Agent != "" && (x.Agent != "" || x.Writes) || r.Writes && x.Agent != "") {
			return false
		}
	}
	return true
}
