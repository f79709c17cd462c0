package plan

import (
	"fmt"
	"slices"
	"time"
)

// maxTokens bounds the number of tokens that an agent says it used.
const maxTokens = 1e9

// AgentReport is the report on a step by the agent that planloop started for it. The step keeps
// running until the agent has exited and the engine has verified the step.
type AgentReport struct {
	Status StepStatus `json:"status"` // done, failed or blocked
	Note   string     `json:"note,omitempty"`
	At     time.Time  `json:"at"`
}

// ActiveAgent returns the agent that planloop started for the step, "" if none is working on it.
func (step *Step) ActiveAgent() string {
	if !step.IsRunning() {
		return ""
	}
	return step.execution().Agent
}

// AgentReport returns the report by the agent working on the step, or nil.
func (step *Step) AgentReport() *AgentReport { return step.execution().Report }

// IsForAgents reports whether the step is work for an agent: neither a tool nor loop instances carry it out.
func (step *Step) IsForAgents() bool {
	return step.Tool == "" && (step.ForEach == "" || step.Loop() != 0)
}

// MayStartAgent reports whether the open run may start the agent again if a run may start it at most limit
// times; 0 means unlimited.
func (s State) MayStartAgent(agent string, limit int) bool {
	run := s.OpenRun()
	return limit == 0 || run == nil || run.Starts[agent] < limit
}

// checkAgentScope limits an agent that planloop started for a step: it may report on that step, ask, reply
// to comments and manage signals. It was started for one step, in a context of its own.
func (s State) checkAgentScope(a Action, f Facts) error {
	scope := f.Actor.Scope
	if scope == (Attempt{}) {
		return nil
	}
	step := scope.AgentStep(s)
	if step == nil {
		return conflict("the attempt at "+scope.Step.String()+" that you were started for is over", "change nothing more, and end")
	}
	var about StepID
	switch a := a.(type) {
	case Batch:
		for _, part := range a.Parts {
			if err := s.checkAgentScope(part.Action, f); err != nil {
				return prefixField(part.Field, err)
			}
		}
		return nil
	case MarkStep, ReportStep, ClaimStep:
		about = traitsOf(a).claims[0]
	case AskUser, ReplyToComment, RaiseSignal, ClearSignal:
		return nil
	}
	switch {
	case about == 0:
		return scope.OutOfScopeError()
	case about != scope.Step:
		return conflict(fmt.Sprintf("you were started for %s, and %s is not yours", scope.Step, about),
			"do your own step, report it, and end")
	case step.AgentReport() != nil:
		return conflict(scope.Step.String()+" has been reported", "change nothing more, and end")
	}
	return nil
}

// AgentStep returns the step that the attempt's agent is working on, nil once the attempt is over.
func (a Attempt) AgentStep(s State) *Step {
	step := a.RunningStep(s)
	if step == nil || step.ActiveAgent() == "" {
		return nil
	}
	return step
}

// OutOfScopeError returns the refusal of an action outside the attempt's step.
func (a Attempt) OutOfScopeError() error {
	return conflict("you were started for "+a.Step.String()+" only; this is not part of it", "do that step, report it, and end")
}

// reportAgentStep returns the events for an agent's mark on the step it was started for. Its engine ends
// the step.
func (a MarkStep) reportAgentStep(s State, step *Step, f Facts) ([]Event, error) {
	switch a.Status {
	case InProgress:
		if a.Note == "" {
			return nil, nil
		}
		return ReportStep{Step: a.Step, Note: a.Note}.event(s, step, f)
	case Done, Failed, Blocked:
		if err := roomForNote(step, a.Note); err != nil {
			return nil, err
		}
		rest := *step
		rest.Verify = "" // the engine verifies the step
		if step.Verify == "" || len(step.AcceptanceCriteria) > 0 {
			if err := checkEvidence(s, &rest, a, f); err != nil {
				return nil, err
			}
		}
		return []Event{AgentReported{Step: a.Step, Attempt: step.Attempts, Status: a.Status, Note: a.Note, By: f.Actor.Name,
			At: f.Now}}, nil
	}
	return nil, conflict(step.ID.String()+" can only be reported, not postponed", "report it done, failed or blocked")
}

// AgentReported records an agent's report on the step that planloop started it for.
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

// ExceededScope reports whether the last agent did, or may have done, something its step does not name.
func (x *Execution) ExceededScope() bool {
	return len(x.OutOfScopeFiles) > 0 || x.CommitMoved || x.ChangesUnknown
}

// MaxUnavailable is how many agents in a row may end within seconds without a report before the run
// is paused: the cause is a quota or a login, not the steps. If other agents respond in between, it
// is the number of such agents at one step before the step fails.
const MaxUnavailable = 3

// AgentUnavailable ends an attempt after its agent ended within seconds without a report. The
// attempt does not count as a try.
type AgentUnavailable struct {
	Step    StepID `json:"step_id"`
	Attempt int    `json:"attempt"`
	Agent   string `json:"agent,omitempty"`
	AttemptEnd
}

func (e AgentUnavailable) marks() StepID { return e.Step }

func (e AgentUnavailable) apply(s State) State {
	s = s.withRun(func(r *Run) { r.Unavailable++ })
	return s.withStep(e.Step, e.At, func(step *Step) {
		silent := step.execution().UnavailableAgents + 1
		if s.Run != nil && s.Run.Unavailable >= MaxUnavailable { // not the step's fault
			silent = 0
		}
		step.lose(StepLost{Step: e.Step, Attempt: e.Attempt, AttemptEnd: e.AttemptEnd})
		step.execute(func(x *Execution) { x.UnavailableAgents = silent })
	})
}

// reachesUnavailableLimit reports whether one more unavailable agent pauses the run.
func (s State) reachesUnavailableLimit() bool {
	run := s.OpenRun()
	return run != nil && !run.IsPaused && run.Unavailable+1 >= MaxUnavailable
}

func (d AttemptResult) agentUnavailable(s State, step *Step, f Facts) []Event {
	events := []Event{AgentUnavailable{Step: d.Step, Attempt: d.Attempt.Attempt, Agent: step.ActiveAgent(), AttemptEnd: d.end(step, f)}}
	if s.reachesUnavailableLimit() {
		events = append(events, RunPaused{Reason: StopAgentUnavailable, Note: Shorten(d.Result.Error, MaxLongLine), By: f.Actor.Name,
			At: f.Now})
	}
	return events
}

func (step *Step) addAffectedFiles(files []string) {
	if len(files) > 0 {
		step.AffectedFiles = append(slices.Clip(step.AffectedFiles), files...)
	}
}

// newFiles returns the files not yet listed for the step, as many as it has room for.
func (step *Step) newFiles(files []string) []string {
	files = slices.DeleteFunc(slices.Clone(files), func(file string) bool { return slices.Contains(step.AffectedFiles, file) })
	return files[:min(len(files), max(0, MaxNotes-len(step.AffectedFiles)))]
}

// mayRunAlongside reports whether a step may run along with the running ones: only one agent works at a
// time, and nothing else writes files while it does.
func (s State) mayRunAlongside(r Resolution) bool {
	for step := range s.Plan.Steps.Running() {
		x := step.execution()
		if step.IsRunning() && (r.Agent != "" && (x.Agent != "" || x.WritesFiles) || r.WritesFiles && x.Agent != "") {
			return false
		}
	}
	return true
}
