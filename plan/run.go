package plan

import (
	"fmt"
	"time"
)

// Run says that engines carry the plan out. A workspace has one at most; an engine that
// comes later joins it. It is kept after it has ended, for whoever asks how it did.
type Run struct {
	ID     string    `json:"id"`
	Plan   string    `json:"plan"` // root of the plan
	By     string    `json:"by"`
	Since  time.Time `json:"since"`
	Paused bool      `json:"paused,omitempty"`
	Person bool      `json:"person,omitempty"` // a person paused it, and an agent does not resume it
	Free   bool      `json:"free,omitempty"`   // no step asks a person before it runs
	Reason Over      `json:"reason,omitempty"` // why it is paused or has ended
	Note   string    `json:"note,omitempty"`   // what was said of that
	Ended  time.Time `json:"ended,omitzero"`

	Starts      map[string]int `json:"starts,omitempty"`      // of agents, by their names
	Unavailable int            `json:"unavailable,omitempty"` // of them in a row that ended within seconds and said nothing
}

// Over says why nothing more is started (decisions: pausing and ending).
type Over string

// The reasons, in the order they are looked for. The zero value says that a run goes on.
const (
	OverCompleted        Over = "completed"
	OverCancelled        Over = "cancelled" // the plan is gone, or somebody gave up
	OverPaused           Over = "paused"
	OverFailed           Over = "failed" // a critical step failed, or replans are used up
	OverWaitingForPerson Over = "waiting_for_person"
	OverWaitingForAgent  Over = "waiting_for_agent"
	OverDeadlocked       Over = "deadlocked"        // nothing can become ready
	OverAgentUnavailable Over = "agent_unavailable" // agents that were started ended at once: a quota, a login
)

// Values lists the reasons.
func (Over) Values() []string {
	return []string{"completed", "cancelled", "paused", "failed", "waiting_for_person", "waiting_for_agent", "deadlocked",
		"agent_unavailable"}
}

// OpenRun returns the run that the current plan is carried out by, nil when none is open.
// One that is paused is open.
func (s State) OpenRun() *Run {
	if s.Run == nil || !s.Run.Ended.IsZero() || s.Plan == nil || s.Plan.Root() != s.Run.Plan {
		return nil
	}
	return s.Run
}

// Runs reports whether steps may be started by engines: a run is open and not paused.
func (s State) Runs() bool { run := s.OpenRun(); return run != nil && !run.Paused }

// WhyOver says why a run of the current plan has nothing to start and nothing to wait for,
// "" when it goes on: an engine carries a step out, or could start one.
func WhyOver(s State) Over {
	p, run := s.Plan, s.Run
	switch {
	case p == nil || p.Cleared() || p.Status == StatusDraft:
		return OverCancelled
	case p.Status == StatusCompleted:
		return OverCompleted
	case p.Status == StatusAbandoned, run != nil && !run.Ended.IsZero() && run.Reason == OverCancelled && run.Plan == p.Root():
		return OverCancelled
	}
	if s.runningStep() != 0 {
		return ""
	}
	switch {
	case run != nil && run.Plan == p.Root() && run.Paused && (run.Reason == OverPaused || run.Reason == OverAgentUnavailable):
		return run.Reason
	case p.Status == StatusReplanning, p.Status == StatusFailed:
		return OverFailed
	case s.PhaseNow().Restricted(), len(s.OpenSignals(Blocker)) > 0:
		return OverWaitingForPerson
	}
	if len(Startable(s, 1)) > 0 {
		return ""
	}
	for range p.Steps.Asking() {
		return OverWaitingForPerson
	}
	for step := range p.Steps.Running() {
		if !step.Looping() {
			return OverWaitingForAgent
		}
	}
	for range p.Steps.Ready() {
		return OverWaitingForAgent
	}
	if p.Steps.Count(Blocked) > 0 { // somebody said what stands in the way
		return OverWaitingForPerson
	}
	return OverDeadlocked
}

// BeginRun asks for a run of the current plan, or for a paused one to go on.
type BeginRun struct{}

func (a BeginRun) clean(*cleaner) Action { return a }

func (BeginRun) decide(s State, f Facts) ([]Event, error) {
	p, err := livePlan(s)
	if err != nil {
		return nil, err
	}
	run := s.OpenRun()
	switch {
	case p.Status != StatusActive:
		return nil, conflict("the plan "+p.Status.Is()+", so it is not run", wayOn(p))
	case p.Steps.Len() == 0:
		return nil, conflict("the plan has no steps to run", "add some first")
	case run == nil:
		return []Event{RunBegun{ID: fmt.Sprintf("X%d", s.Revision+1), Plan: p.Root(), Free: f.Limits.NeverAsk,
			By: f.Actor.Name, At: f.Now}}, nil
	case !run.Paused:
		return nil, nil
	case run.Person && f.Actor.Kind == Agent:
		return nil, conflict("a person paused the run", "ask the user to run `planloop run`")
	}
	return []Event{RunResumed{By: f.Actor.Name, At: f.Now}}, nil
}

// RunBegun opens a run of the current plan.
type RunBegun struct {
	ID   string    `json:"id"`
	Plan string    `json:"plan"`
	Free bool      `json:"free,omitempty"` // no step asks a person before it runs
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

func (e RunBegun) apply(s State) State {
	s.Run = &Run{ID: e.ID, Plan: e.Plan, Free: e.Free, By: e.By, Since: e.At}
	return s
}

// RunResumed lets a paused run go on.
type RunResumed struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

func (e RunResumed) apply(s State) State {
	return s.withRun(func(r *Run) { r.Paused, r.Person, r.Reason, r.Note, r.Unavailable = false, false, "", "", 0 })
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

// PauseRun asks for nothing new to be started; what runs goes on to its end.
type PauseRun struct {
	Reason Over   // "": somebody wants it
	Note   string // why, in words
}

func (a PauseRun) clean(c *cleaner) Action {
	c.line(&a.Note, "reason", MaxLongLine)
	if a.Reason == "" {
		a.Reason = OverPaused
	}
	c.oneOf("reason", string(a.Reason), a.Reason.Values())
	return a
}

func (a PauseRun) decide(s State, f Facts) ([]Event, error) {
	run := s.OpenRun()
	if run == nil {
		return nil, conflict("no run is open", "there is nothing to pause")
	}
	person := f.Actor.Kind == Person
	if run.Paused && (a.Reason != OverPaused || run.Reason == OverPaused && run.Person == person) {
		return nil, nil
	}
	return []Event{RunPaused{Reason: a.Reason, Note: a.Note, Person: person && a.Reason == OverPaused, By: f.Actor.Name, At: f.Now}}, nil
}

// EndRun asks for the run to be given up: nothing new is started, and what runs goes on to its end.
type EndRun struct{}

func (a EndRun) clean(*cleaner) Action { return a }

func (EndRun) decide(s State, f Facts) ([]Event, error) {
	if s.OpenRun() == nil {
		return nil, conflict("no run is open", "there is nothing to end")
	}
	return []Event{RunEnded{Reason: OverCancelled, At: f.Now}}, nil
}

// RunPaused lets nothing new be started.
type RunPaused struct {
	Reason Over      `json:"reason"`
	Note   string    `json:"note,omitempty"`
	Person bool      `json:"person,omitempty"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

func (e RunPaused) apply(s State) State {
	return s.withRun(func(r *Run) { r.Paused, r.Person, r.Reason, r.Note = true, e.Person || r.Person, e.Reason, e.Note })
}

// RunEnded closes the run.
type RunEnded struct {
	Reason Over      `json:"reason"`
	At     time.Time `json:"at"`
}

func (e RunEnded) apply(s State) State {
	return s.withRun(func(r *Run) { r.Reason, r.Ended = e.Reason, e.At })
}

// runSettled returns the event that ends a run because its plan has ended, or is another.
func runSettled(s State, f Facts) []Event {
	if s.Run == nil || !s.Run.Ended.IsZero() {
		return nil
	}
	if s.OpenRun() == nil || s.Plan.Cleared() {
		return []Event{RunEnded{Reason: OverCancelled, At: f.Now}}
	}
	switch s.Plan.Status {
	case StatusCompleted:
		return []Event{RunEnded{Reason: OverCompleted, At: f.Now}}
	case StatusFailed:
		return []Event{RunEnded{Reason: OverFailed, At: f.Now}}
	case StatusAbandoned:
		return []Event{RunEnded{Reason: OverCancelled, At: f.Now}}
	}
	return nil
}

// undisturbed refuses an agent what would take the plan from under steps that an engine
// carries out. A person's word drains the run first: nothing more is started.
func undisturbed(s State, f Facts, what string) error {
	if id := s.runningStep(); id != 0 && !f.Actor.Present() {
		return conflict(id.String()+" is being run, and until it has ended "+what+" by nobody but a person",
			"wait for the run to end, or ask the user to pause it")
	}
	return nil
}

// atRest refuses to put another version in the place of one whose steps an engine carries out.
func (s State) atRest(root string) error {
	if id := s.runningStep(); id != 0 && s.Plan.Root() == root {
		return conflict(id.String()+" is being run", "pause the run, and wait for the step to end")
	}
	return nil
}

// runningStep returns the first step that an engine carries out, 0 when there is none.
func (s State) runningStep() StepID {
	if s.Plan != nil {
		for step := range s.Plan.Steps.Running() {
			if step.Running() {
				return step.ID
			}
		}
	}
	return 0
}

// freely reports whether a configuration under which no step asks a person counts for an actor. The
// environment of an agent's shell, and with it the configuration, is the agent's; an engine goes by
// what held for whoever began the run, as well.
func (s State) freely(by Actor) bool {
	run := s.OpenRun()
	return by.Via != ViaAgentShell && (by.Kind != Planloop || run != nil && run.Free)
}
