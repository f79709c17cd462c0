package plan

import (
	"cmp"
	"fmt"
	"time"
)

// Run is the execution of a plan by engines. A workspace has at most one; a later engine joins it.
// It is kept after it ends, so that its outcome can be read.
type Run struct {
	ID             string     `json:"id"`
	Plan           string     `json:"plan"` // root of the plan
	By             string     `json:"by"`
	Since          time.Time  `json:"since"`
	IsPaused       bool       `json:"paused,omitempty"`
	PausedByPerson bool       `json:"person,omitempty"` // a person paused it, so agents may not resume it
	NeverAsks      bool       `json:"free,omitempty"`   // no step asks a person before it runs
	Reason         StopReason `json:"reason,omitempty"` // why it is paused or has ended
	Note           string     `json:"note,omitempty"`   // the reason in words
	Ending         StopReason `json:"ending,omitempty"` // it ends for this reason after the steps that run at its end
	EndedAt        time.Time  `json:"ended,omitzero"`

	Starts      map[string]int `json:"starts,omitempty"`      // of agents, by name
	Unavailable int            `json:"unavailable,omitempty"` // consecutive agents that ended within seconds without a report
}

// StopReason is the reason nothing more is started (decisions: pausing and ending).
type StopReason string

// The reasons, in the order they are checked. The zero value means that the run continues.
const (
	StopCompleted        StopReason = "completed"
	StopCancelled        StopReason = "cancelled" // the plan is gone, or the run was given up
	StopPaused           StopReason = "paused"
	StopAgentUnavailable StopReason = "agent_unavailable" // started agents ended at once: a quota, a login
	StopFailed           StopReason = "failed"            // a step failed, and nothing can start; or the plan failed
	StopWaitingForPerson StopReason = "waiting_for_person"
	StopWaitingForAgent  StopReason = "waiting_for_agent"
	StopDeadlocked       StopReason = "deadlocked" // nothing can become ready, though nothing failed
)

// Values lists the reasons.
func (StopReason) Values() []string {
	return []string{"completed", "cancelled", "paused", "agent_unavailable", "failed", "waiting_for_person", "waiting_for_agent",
		"deadlocked"}
}

// OpenRun returns the current plan's run, paused or not; nil if none is open.
func (s State) OpenRun() *Run {
	if s.Run == nil || !s.Run.EndedAt.IsZero() || s.Plan == nil || s.Plan.Root() != s.Run.Plan {
		return nil
	}
	return s.Run
}

// HasActiveRun reports whether engines may start steps: a run is open and not paused.
func (s State) HasActiveRun() bool { run := s.OpenRun(); return run != nil && !run.IsPaused }

// FindStopReason returns the reason a run of the current plan has nothing to start and nothing to wait
// for, "" if it continues: an engine is running a step, or could start one.
func FindStopReason(s State) StopReason { return FindStopReasonFor(s, nil) }

// FindStopReasonFor is FindStopReason for an engine that carries out only some steps; nil: all.
func FindStopReasonFor(s State, only func(*Step) bool) StopReason {
	p, run := s.Plan, s.Run
	switch {
	case p == nil || p.IsCleared() || p.Status == StatusDraft:
		return StopCancelled
	case p.Status == StatusCompleted:
		return StopCompleted
	case p.Status == StatusAbandoned, run != nil && !run.EndedAt.IsZero() && run.Reason == StopCancelled && run.Plan == p.Root():
		return StopCancelled
	}
	switch {
	case First(p.Steps.Executing(), only) != nil:
		return ""
	case run != nil && run.Plan == p.Root() && run.IsPaused && (run.Reason == StopPaused || run.Reason == StopAgentUnavailable):
		return run.Reason
	case s.isHalted() && (s.isOngoing() || HasCleanup(s)):
		return StopWaitingForPerson
	}
	reason := s.findObstacle(only, s.isClosing())
	if reason == StopWaitingForPerson && only == nil && p.Steps.Count(Failed) > 0 && !p.hasAgentWork() {
		return StopFailed // which comes first
	}
	return reason
}

// isHalted reports whether no step may start before a person decides or clears a blocker.
func (s State) isHalted() bool { return s.PhaseNow().IsRestricted() || len(s.OpenSignals(Blocker)) > 0 }

// outcome returns the reason of a run's end once no step can go on.
func (s State) outcome() StopReason {
	switch run := s.OpenRun(); {
	case run != nil && run.Ending != "":
		return run.Ending
	case s.Plan.Status == StatusActive && s.Plan.Steps.Count(Failed) == 0:
		return StopDeadlocked
	}
	return StopFailed
}

// isOngoing reports whether the plan is active and its run is not ending.
func (s State) isOngoing() bool {
	run := s.OpenRun()
	return s.Plan.Status == StatusActive && (run == nil || run.Ending == "")
}

// findObstacle returns "" if one of the steps that may start can, else what they wait for; with nothing to wait for, outcome.
func (s State) findObstacle(only func(*Step) bool, closing bool) StopReason {
	steps := s.Plan.Steps
	may := func(step *Step) bool { return s.mayStart(step, closing) && (only == nil || only(step)) }
	mayWork := func(step *Step) bool { return !step.IsLooping() && may(step) }
	switch {
	case len(s.startable(closing, 1, nil, only)) > 0:
		return ""
	case Exists(steps.WithQuestion(), may):
		return StopWaitingForPerson
	case Exists(steps.Running(), mayWork), Exists(steps.readySteps(closing), may):
		return StopWaitingForAgent
	case Exists(steps.With(Blocked), may), steps.stale > 0 && only == nil && s.isOngoing():
		return StopWaitingForPerson
	}
	return s.outcome()
}

// hasAgentWork reports whether a step is ready, or in progress without an engine.
func (p *Plan) hasAgentWork() bool {
	return Exists(p.Steps.Running(), func(step *Step) bool { return !step.IsRunning() && !step.IsLooping() }) ||
		Exists(p.Steps.Ready(), func(step *Step) bool { return step.OpenQuestion() == nil })
}

// BeginRun asks to begin a run of the current plan, or to resume a paused one.
type BeginRun struct{}

func (BeginRun) decide(s State, f Facts) ([]Event, error) {
	p, err := currentPlan(s)
	if err != nil {
		return nil, err
	}
	run := s.OpenRun()
	switch {
	case p.Status != StatusActive && (run == nil || !HasCleanup(s)):
		return nil, conflict("the plan "+p.Status.Predicate()+", so it is not run", remedy(p))
	case p.Steps.Len() == 0:
		return nil, conflict("the plan has no steps to run", "add some first")
	case run == nil:
		return append([]Event{RunBegun{ID: fmt.Sprintf("X%d", s.Revision+1), Plan: p.Root(), NeverAsks: f.Limits.NeverAsk,
			By: f.Actor.Name, At: f.Now}}, liftApprovals(s, f)...), nil
	case run.IsPaused && run.PausedByPerson && f.Actor.Kind == Agent:
		return nil, conflict("a person paused the run", "ask the user to run `planloop run`")
	}
	lifts := f.Limits.NeverAsk && !run.NeverAsks
	if !run.IsPaused && !lifts {
		return nil, nil
	}
	return append([]Event{RunResumed{NeverAsks: lifts, By: f.Actor.Name, At: f.Now}}, liftApprovals(s, f)...), nil
}

// liftApprovals answers the open questions for an approval once steps ask no person, except for a tool that has changed.
func liftApprovals(s State, f Facts) []Event {
	var events []Event
	for step := range s.Plan.Steps.WithQuestion() {
		if ask := step.OpenQuestion(); f.Limits.NeverAsk && ask.Kind == AskApproval && ToolChanged(s, step, ask.Definition) == "" {
			events = append(events, StepAnswered{Step: step.ID, Attempt: ask.Attempt, Digest: ask.Digest, Choice: Approve,
				Text: "step_approval is never", By: f.Actor.Name, At: f.Now})
		}
	}
	return events
}

// RunBegun opens a run of the current plan.
type RunBegun struct {
	ID        string    `json:"id"`
	Plan      string    `json:"plan"`
	NeverAsks bool      `json:"free,omitempty"` // no step asks a person before it runs
	By        string    `json:"by"`
	At        time.Time `json:"at"`
}

func (e RunBegun) apply(s State) State {
	s.Run = &Run{ID: e.ID, Plan: e.Plan, NeverAsks: e.NeverAsks, By: e.By, Since: e.At}
	return s
}

// RunResumed resumes a paused run.
type RunResumed struct {
	NeverAsks bool      `json:"free,omitempty"` // from now on no step asks a person before it runs
	By        string    `json:"by"`
	At        time.Time `json:"at"`
}

func (e RunResumed) apply(s State) State {
	return s.withRun(func(r *Run) {
		r.IsPaused, r.PausedByPerson, r.Reason, r.Note, r.Unavailable = false, false, "", "", 0
		r.NeverAsks = r.NeverAsks || e.NeverAsks
	})
}

func (s State) withRun(f func(*Run)) State {
	if s.Run == nil {
		return s
	}
	run := *s.Run
	f(&run)
	s.Run = &run
	return s
}

// PauseRun asks to start nothing more; running steps continue to their end.
type PauseRun struct {
	Reason StopReason // "": paused on request
	Note   string     // why, in words
}

func (a PauseRun) clean(c *cleaner) Action {
	a.Note = Mask(a.Note)
	c.line(&a.Note, "reason", MaxLongLine)
	a.Reason = cmp.Or(a.Reason, StopPaused)
	c.oneOf("reason", string(a.Reason), a.Reason.Values())
	return a
}

func (a PauseRun) decide(s State, f Facts) ([]Event, error) {
	run := s.OpenRun()
	if run == nil {
		return nil, conflict("no run is open", "there is nothing to pause")
	}
	person := f.Actor.Kind == Person
	if run.IsPaused && (a.Reason != StopPaused || run.Reason == StopPaused && run.PausedByPerson == person) {
		return nil, nil
	}
	return []Event{RunPaused{Reason: a.Reason, Note: a.Note, PausedByPerson: person && a.Reason == StopPaused, By: f.Actor.Name,
		At: f.Now}}, nil
}

// EndRun asks to give up the run: running steps are stopped, and only steps that run at its end still start. Asked for again, the run
// ends without them.
type EndRun struct{}

func (EndRun) decide(s State, f Facts) ([]Event, error) {
	if s.OpenRun() == nil {
		return nil, conflict("no run is open", "there is nothing to end")
	}
	return append(s.stopAll(f), s.end(f)), nil
}

// RunPaused stops engines from starting steps.
type RunPaused struct {
	Reason         StopReason `json:"reason"`
	Note           string     `json:"note,omitempty"`
	PausedByPerson bool       `json:"person,omitempty"`
	By             string     `json:"by"`
	At             time.Time  `json:"at"`
}

func (e RunPaused) apply(s State) State {
	return s.withRun(func(r *Run) {
		r.IsPaused, r.PausedByPerson, r.Reason, r.Note = true, e.PausedByPerson || r.PausedByPerson, e.Reason, e.Note
	})
}

// RunEnded closes the run.
type RunEnded struct {
	Reason StopReason `json:"reason"`
	At     time.Time  `json:"at"`
}

func (e RunEnded) apply(s State) State {
	return s.withRun(func(r *Run) { r.Reason, r.EndedAt = e.Reason, e.At })
}

// endRun returns the event that ends a run when its plan has ended or was replaced.
func endRun(s State, f Facts) []Event {
	if s.Run == nil || !s.Run.EndedAt.IsZero() {
		return nil
	}
	if s.OpenRun() == nil || s.Plan.IsCleared() {
		return []Event{RunEnded{Reason: StopCancelled, At: f.Now}}
	}
	reason := map[PlanStatus]StopReason{StatusCompleted: StopCompleted, StatusFailed: StopFailed,
		StatusAbandoned: StopCancelled}[s.Plan.Status]
	reason = cmp.Or(reason, s.Run.Ending)
	if reason == "" || HasCleanup(s) && FindStopReason(s) != s.outcome() {
		return nil
	}
	return []Event{RunEnded{Reason: reason, At: f.Now}}
}

// checkNotRunning refuses to take the plan away from a step that an engine is running, unless a person
// who is present asks. A person can pause the run first.
func checkNotRunning(s State, f Facts, what string) error {
	if id := s.runningStep(); id != 0 && !f.Actor.IsPresent() {
		return conflict(id.String()+" is being run; until it ends, only a person may "+what,
			"wait for it to end, or ask the user to stop it: planloop step stop "+id.String())
	}
	return nil
}

// runningStep returns the first step that an engine is running, else 0.
func (s State) runningStep() StepID {
	if s.Plan != nil {
		for step := range s.Plan.Steps.Executing() {
			return step.ID
		}
	}
	return 0
}

// maySkipQuestions reports whether Limits.NeverAsk applies to an actor. An agent controls the environment of
// its shell, and with it the configuration, so it does not apply there. For an engine it must also
// have applied when the run began.
func (s State) maySkipQuestions(by Actor) bool {
	run := s.OpenRun()
	return by.Channel != ChannelAgentShell && (by.Kind != Planloop || run != nil && run.NeverAsks)
}
