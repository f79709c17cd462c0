package plan

import (
	"slices"
	"strings"
	"time"
)

const (
	// MaxInlineValue bounds a step's value in the log, in bytes; a larger one is kept apart.
	MaxInlineValue = 1 << 10
	// MaxTries bounds how often in a row a step is tried when it fails for a transient reason
	// (execution: Strategy 2).
	MaxTries = 3
)

// Attempt names one start of a step.
type Attempt struct {
	Plan    string // root of the plan
	Step    StepID
	Attempt int
}

// AttemptResult is the result of an attempt.
type AttemptResult struct {
	Attempt
	Result        Result
	Output        string // for people: the end of the output
	IsTransient   bool   // it failed for a reason that may pass
	IsInterrupted bool   // it was cut short, so its effects are unknown
	IsTimedOut    bool   // by its time limit
	ExitCode      int    // of its command, 0 for none

	IsAgentUnavailable bool     // its agent ended within seconds without a report
	IsBlocked          bool     // its agent cannot continue; Note says why
	IsContradictory    bool     // its agent reported two outcomes, so the outcome is unknown
	Tokens             int      // that its agent says it used
	Note               string   // by its agent
	AffectedFiles      []string // named or changed by its agent
	OutOfScopeFiles    []string // the affected files that the step does not name
	CommitMoved        bool     // its agent left the work tree at another commit
	ChangesUnknown     bool     // its agent's changes could not be determined
}

// RunningStep returns the step if an engine is carrying out this attempt at it, else nil.
func (a Attempt) RunningStep(s State) *Step {
	step, ok := s.step(a.Step)
	if !ok || s.Plan.Root() != a.Plan || !step.IsRunning() || step.Attempts != a.Attempt {
		return nil
	}
	return step
}

// LockHolder returns the step in progress with the same lock as another one, 0 for none. Locks of other tracks are not in
// the log: an engine holds a file for those.
func (s State) LockHolder(of *Step) StepID {
	if of.Lock == "" {
		return 0
	}
	for step := range s.Plan.Steps.Running() {
		if step.Lock == of.Lock && step.ID != of.ID && !step.IsLooping() {
			return step.ID
		}
	}
	return 0
}

// events returns the events of a result. It counts if plan, step, attempt and owner match, whatever
// the phase and the status of the plan. Any other result is recorded and changes nothing.
func (d AttemptResult) events(s State, f Facts) []Event {
	step := d.RunningStep(s)
	switch {
	case step == nil || step.ClaimedBy != f.Actor.Name:
		return []Event{StrayResult{Plan: d.Plan, Step: d.Step, Attempt: d.Attempt.Attempt, OK: d.Result.OK, Error: d.Result.Error,
			Output: d.Output, By: f.Actor.Name, At: f.Now}}
	case d.IsAgentUnavailable && !step.WasStopped() &&
		(step.execution().UnavailableAgents+1 < MaxUnavailable || s.reachesUnavailableLimit()):
		return d.agentUnavailable(s, step, f)
	}
	return []Event{d.event(s, step, f)}
}

func (d AttemptResult) event(s State, step *Step, f Facts) Event {
	x := step.execution()
	policy, _ := ParseRetry(step.Retry) // it was cleaned
	mayRetry := x.Retries+1 < policy.Attempts && (s.Plan.Status == StatusActive || s.Plan.Steps.IsCleanup(step)) &&
		(d.IsTransient || x.IsRepeatable) && !step.WasStopped()
	if stopped := step.stoppedError(); stopped != "" && !d.Result.OK {
		d.Result.Error, d.IsAgentUnavailable, d.IsBlocked = stopped, false, false
	}
	switch {
	case d.IsContradictory:
		return StepLost{Step: d.Step, Attempt: step.Attempts, From: f.Actor.Name, Unknown: true, AttemptEnd: d.end(step, f)}
	case d.Result.OK, d.IsBlocked:
	case d.IsInterrupted && (!x.IsRepeatable || x.Agent != "" && x.StoppedBy == ""): // the next agent checks the work of this one
		return StepLost{Step: d.Step, Attempt: step.Attempts, From: f.Actor.Name, Unknown: !x.IsRepeatable, AttemptEnd: d.end(step, f)}
	case d.IsAgentUnavailable: // other agents responded, so the step is at fault
	case policy.covers(d) && mayRetry:
		return StepRetried{Step: d.Step, Attempt: step.Attempts, AttemptEnd: d.end(step, f)}
	}
	proof, missing := d.collectEvidence(s, step, f)
	if reason := uncountedRun(step, proof); reason != "" {
		d.IsBlocked, d.Result = true, Result{Error: reason, Duration: d.Result.Duration, Timestamp: d.Result.Timestamp}
	} else if len(missing) > 0 {
		proof, d.Result = nil, Result{Error: "reported done, but not verified: " + strings.Join(missing, ", and "),
			Duration: d.Result.Duration, Timestamp: d.Result.Timestamp}
	}
	if len(step.Notes) >= MaxNotes {
		d.Note = ""
	}
	return StepFinished{Step: d.Step, Attempt: step.Attempts, Result: d.Result, Output: d.Output, Agent: x.Agent,
		Blocked: d.IsBlocked && !d.Result.OK, Note: d.Note, Tokens: d.Tokens,
		AffectedFiles: step.newFiles(d.AffectedFiles), OutOfScopeFiles: d.OutOfScopeFiles,
		CommitMoved: d.CommitMoved, ChangesUnknown: d.ChangesUnknown, Evidence: proof, By: f.Actor.Name, At: f.Now}
}

// StepFinished ends an attempt with its result.
type StepFinished struct {
	Step    StepID    `json:"step_id"`
	Attempt int       `json:"attempt"`
	Result  Result    `json:"result"`
	Output  string    `json:"output,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`

	Agent           string   `json:"agent,omitempty"`   // started for the attempt
	Blocked         bool     `json:"blocked,omitempty"` // its agent cannot continue
	Note            string   `json:"note,omitempty"`
	Tokens          int      `json:"tokens,omitempty"`         // that the agent says it used
	AffectedFiles   []string `json:"affected_files,omitempty"` // not listed before
	OutOfScopeFiles []string `json:"outside,omitempty"`        // changed files that the step does not name
	CommitMoved     bool     `json:"moved,omitempty"`          // the work tree was left at another commit
	ChangesUnknown  bool     `json:"unseen,omitempty"`         // the changes could not be determined

	Evidence []Evidence `json:"evidence,omitempty"` // from its agent and its verification
}

func (e StepFinished) marks() StepID { return e.Step }

func (e StepFinished) apply(s State) State {
	return s.resetUnavailable(e.Step).withStep(e.Step, e.At, func(step *Step) {
		status, by := Done, e.By
		if e.Blocked {
			status = Blocked
		} else if !e.Result.OK {
			status = Failed
		}
		if agent := step.ActiveAgent(); agent != "" {
			by = agent
		}
		step.become(StepMarked{Step: e.Step, Status: status, By: by, At: e.At})
		step.Result, step.Output, step.Error = &e.Result, e.Output, e.Result.Error
		if e.Note != "" {
			step.Notes = append(slices.Clip(step.Notes), e.Note)
		}
		if e.Tokens > 0 {
			step.execute(func(x *Execution) { x.Tokens += e.Tokens })
		}
		step.addAffectedFiles(e.AffectedFiles)
		step.keepEvidence(e.Evidence)
		if len(e.OutOfScopeFiles) > 0 || e.CommitMoved || e.ChangesUnknown {
			step.execute(func(x *Execution) {
				x.OutOfScopeFiles, x.CommitMoved, x.ChangesUnknown = e.OutOfScopeFiles, e.CommitMoved, e.ChangesUnknown
			})
		}
	})
}

// resetUnavailable resets the count of unavailable agents once an agent started for a step has responded, or had the time to.
func (s State) resetUnavailable(id StepID) State {
	step, ok := s.step(id)
	if !ok || s.Run == nil || s.Run.Unavailable == 0 || step.ActiveAgent() == "" {
		return s
	}
	return s.withRun(func(r *Run) { r.Unavailable = 0 })
}

// AttemptEnd is the end of an attempt without a result.
type AttemptEnd struct {
	Error  string    `json:"error,omitempty"`
	Output string    `json:"output,omitempty"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`

	AffectedFiles []string `json:"affected_files,omitempty"` // by the attempt's agent, not listed before
}

func (d AttemptResult) end(step *Step, f Facts) AttemptEnd {
	return AttemptEnd{Error: d.Result.Error, Output: d.Output, By: f.Actor.Name, At: f.Now, AffectedFiles: step.newFiles(d.AffectedFiles)}
}

// end gives the step another status after such an end of an attempt.
func (e AttemptEnd) end(step *Step, status StepStatus) {
	step.become(StepMarked{Step: step.ID, Status: status, By: e.By, At: e.At})
	step.Error, step.Output = e.Error, e.Output
	step.addAffectedFiles(e.AffectedFiles)
}

// StepRetried ends an attempt that failed for a transient reason. The step is tried again.
type StepRetried struct {
	Step    StepID `json:"step_id"`
	Attempt int    `json:"attempt"`
	AttemptEnd
}

func (e StepRetried) marks() StepID { return e.Step }

func (e StepRetried) apply(s State) State {
	return s.resetUnavailable(e.Step).withStep(e.Step, e.At, func(step *Step) {
		retries := step.execution().Retries
		e.end(step, Pending)
		step.execute(func(x *Execution) { x.Retries = retries + 1 })
	})
}

// StepLost ends an attempt with an unknown outcome: its engine died, or it was interrupted. A step
// that is safe to repeat becomes pending; any other is blocked until a person or an agent settles
// it.
type StepLost struct {
	Step    StepID `json:"step_id"`
	Attempt int    `json:"attempt"`
	From    string `json:"from"`
	Unknown bool   `json:"unknown,omitempty"`
	AttemptEnd
}

func (e StepLost) marks() StepID { return e.Step }

func (e StepLost) apply(s State) State {
	return s.withStep(e.Step, e.At, func(step *Step) { step.lose(e) })
}

// lose ends an attempt with an unknown outcome.
func (step *Step) lose(e StepLost) {
	status, retries := Pending, step.execution().Retries
	if e.Unknown {
		status = Blocked
	}
	e.end(step, status)
	step.execute(func(x *Execution) {
		if x.Retries = retries; e.Unknown {
			x.Ask = &Ask{Kind: AskUnknown, Attempt: e.Attempt, Digest: x.Digest, Text: step.stoppedError(), At: e.At}
		}
	})
}

// StrayResult records a result that matches no running attempt. It changes nothing.
type StrayResult struct {
	Plan    string    `json:"plan"`
	Step    StepID    `json:"step_id"`
	Attempt int       `json:"attempt"`
	OK      bool      `json:"ok"`
	Error   string    `json:"error,omitempty"`
	Output  string    `json:"output,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func (StrayResult) apply(s State) State { return s }
