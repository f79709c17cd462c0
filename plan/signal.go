package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Signal is a fact outside the plan that affects it, such as a failing test (planloop: API
// Contract, Response C). A cleared signal is kept, so that it can be read and raised again.
type Signal struct {
	ID        string      `json:"id"`
	Level     SignalLevel `json:"level"`
	Message   string      `json:"message"`
	Plan      string      `json:"plan_id,omitempty"` // root of the plan with the step it names
	Step      StepID      `json:"step_id,omitzero"`  // 0: none
	Output    string      `json:"output,omitempty"`  // excerpt of a command's output
	Open      bool        `json:"open"`
	RaisedBy  string      `json:"raised_by"`
	RaisedAt  time.Time   `json:"raised_at"` // when it was opened, not when it was last updated
	ClearedBy string      `json:"cleared_by,omitempty"`
	ClearedAt time.Time   `json:"cleared_at,omitzero"`
	Reach     Reach       `json:"reach,omitempty"` // empty in old logs

	OfWorkspace bool `json:"-"` // it is a record of the track main, read on another track
}

// Reach is what a signal of the track main concerns.
type Reach string

// The reaches.
const (
	ReachTrack     Reach = "track"
	ReachWorkspace Reach = "workspace" // every track reads it
)

// concernsWorkspace reports whether every track reads a signal of the track main. Of old ones, whose reach is not recorded, those do that
// name no step and were not raised over an agent's connection.
func (s Signal) concernsWorkspace() bool {
	return s.Reach == ReachWorkspace || s.Reach == "" && s.Step == 0 && !strings.Contains(s.RaisedBy, "#")
}

// Bounds on signals. The oldest cleared ones are dropped first; the log keeps all of them.
const (
	MaxSignalID    = 80
	MaxMessage     = 1_000
	MaxOutput      = 2_000 // bytes kept of a command's output
	MaxOpenSignals = 100
	maxSignals     = 200
)

// OpenSignals lists the open signals of a level, oldest first.
func (s State) OpenSignals(level SignalLevel) []Signal {
	open := slices.DeleteFunc(s.openSignals(), func(signal Signal) bool { return signal.Level != level })
	slices.SortStableFunc(open, func(a, b Signal) int { return a.RaisedAt.Compare(b.RaisedAt) })
	return open
}

func (s State) openSignals() []Signal {
	return slices.DeleteFunc(slices.Clone(s.Signals), func(signal Signal) bool { return !signal.Open })
}

// WithWorkspaceSignals returns s with the open signals of the track main that concern the workspace. An open signal of the same id in s
// stays beside it, a cleared one is left out.
func (s State) WithWorkspaceSignals(main State) State {
	for _, signal := range main.openSignals() {
		if signal.concernsWorkspace() {
			signal.OfWorkspace = true
			isOver := func(own Signal) bool { return own.ID == signal.ID && !own.Open }
			s.Signals = append(slices.DeleteFunc(slices.Clone(s.Signals), isOver), signal)
		}
	}
	return s
}

// WorkspaceSignals lists the signals that WithWorkspaceSignals has added.
func (s State) WorkspaceSignals() []Signal {
	return slices.DeleteFunc(slices.Clone(s.Signals), func(signal Signal) bool { return !signal.OfWorkspace })
}

// IsSame reports whether nothing has changed since other: neither the track, nor its phase, nor the workspace's signals.
func (s State) IsSame(other State) bool {
	return s.Revision == other.Revision && s.PhaseNow() == other.PhaseNow() && slices.Equal(s.WorkspaceSignals(), other.WorkspaceSignals())
}

// SignalStep returns the step of the current plan that a signal names, 0 if it names none or one of
// another plan.
func (s State) SignalStep(signal Signal) StepID {
	if s.Plan == nil || signal.Plan != s.Plan.Root() {
		return 0
	}
	return signal.Step
}

// Signal returns the signal with that id, open or cleared.
func (s State) Signal(id string) (Signal, bool) {
	i := slices.IndexFunc(s.Signals, func(other Signal) bool { return other.ID == id })
	if i < 0 {
		return Signal{}, false
	}
	return s.Signals[i], true
}

// RaiseSignal asks to raise a signal. Raising a cleared one opens it again,
// raising an open one updates it.
type RaiseSignal struct {
	ID      string
	Level   SignalLevel
	Message string
	Step    StepID // of the current plan; 0: none
	Output  string
	Reach   Reach // an agent's is always the track
}

func (a RaiseSignal) clean(c *cleaner) Action {
	c.text(&a.ID, "id", Text{Max: MaxSignalID}, true)
	c.oneOf("level", string(a.Level), a.Level.Values())
	a.Message = Mask(a.Message)
	c.text(&a.Message, "message", Text{Max: MaxMessage, Multiline: true}, true)
	c.report(&a.Output, "output")
	if a.Reach != "" {
		c.oneOf("reach", string(a.Reach), []string{string(ReachTrack), string(ReachWorkspace)})
	}
	return a
}

func (a RaiseSignal) decide(s State, f Facts) ([]Event, error) {
	signal := Signal{ID: a.ID, Level: a.Level, Message: a.Message, Output: a.Output, Open: true, RaisedBy: f.Actor.Name, RaisedAt: f.Now,
		Reach: a.Reach}
	if f.Actor.Kind == Agent && a.Reach == ReachWorkspace {
		signal.Reach = ReachTrack
	}
	if a.Step != 0 {
		p, err := currentPlan(s)
		if err != nil {
			return nil, err
		}
		if _, err := findStep(p, a.Step, "/task_id"); err != nil {
			return nil, err
		}
		signal.Plan, signal.Step = p.Root(), a.Step
	}
	former, known := s.Signal(a.ID)
	if known && former.Open && !former.OfWorkspace {
		signal.RaisedAt, signal.RaisedBy = former.RaisedAt, former.RaisedBy
		if a.Reach != "" && former.concernsWorkspace() {
			signal.Reach = ReachWorkspace
		}
		if signal == former {
			return nil, nil
		}
	} else if open := len(s.openSignals()); open >= MaxOpenSignals {
		return nil, conflict(fmt.Sprintf("%d signals are open already, which is the limit", open), "clear some first")
	}
	return []Event{SignalRaised{signal}}, nil
}

// SignalRaised opens a signal, or updates an open one.
type SignalRaised struct {
	Signal Signal `json:"signal"`
}

func (e SignalRaised) apply(s State) State { return s.withSignal(e.Signal) }

// withSignal returns s with the signal added, or replacing the one with the same id.
func (s State) withSignal(signal Signal) State {
	signals := slices.Clone(s.Signals)
	if i := slices.IndexFunc(signals, func(other Signal) bool { return other.ID == signal.ID }); i >= 0 {
		signals[i] = signal
	} else {
		signals = append(signals, signal)
	}
	if len(signals) > maxSignals {
		if i := slices.IndexFunc(signals, func(other Signal) bool { return !other.Open }); i >= 0 {
			signals = slices.Delete(signals, i, i+1)
		}
	}
	s.Signals = signals
	return s
}

// ClearSignal asks to clear a signal.
type ClearSignal struct {
	ID string
}

func (a ClearSignal) clean(c *cleaner) Action {
	c.text(&a.ID, "id", Text{Max: MaxSignalID}, true)
	return a
}

func (a ClearSignal) decide(s State, f Facts) ([]Event, error) {
	signal, known := s.Signal(a.ID)
	if !known {
		return nil, Refuse(NotFound, "/id", "signal "+Quote(a.ID)+" does not exist", openIDs(s))
	}
	if signal.OfWorkspace {
		return nil, conflict("signal "+Quote(a.ID)+" was raised for the whole workspace", "clear it on the track main")
	}
	if !signal.Open {
		return nil, nil
	}
	return []Event{SignalCleared{ID: a.ID, By: f.Actor.Name, At: f.Now}}, nil
}

func openIDs(s State) string {
	const shown = 5
	var ids []string
	for _, signal := range s.openSignals() {
		ids = append(ids, Quote(signal.ID))
	}
	switch {
	case len(ids) == 0:
		return "no signal is open; there is nothing to clear"
	case len(ids) > shown:
		return fmt.Sprintf("open: %s and %d more", strings.Join(ids[:shown], ", "), len(ids)-shown)
	}
	return "open: " + strings.Join(ids, ", ")
}

// SignalCleared closes a signal; it is kept.
type SignalCleared struct {
	ID string    `json:"id"`
	By string    `json:"by"`
	At time.Time `json:"at"`
}

func (e SignalCleared) apply(s State) State {
	signal, known := s.Signal(e.ID)
	if !known {
		return s
	}
	signal.Open, signal.ClearedBy, signal.ClearedAt = false, e.By, e.At
	return s.withSignal(signal)
}

// checkBlockers refuses to start a step while a blocker is open, except the step that the blocker
// concerns: its cause comes first (planloop: Workflow, Step 5). A person may force it.
func checkBlockers(s State, step *Step, a MarkStep, f Facts) error {
	blockers := s.OpenSignals(Blocker)
	concerned := func(blocker Signal) bool { return s.SignalStep(blocker) == step.ID }
	starts := a.Status == InProgress && step.Status != InProgress || a.Status == Done && step.Status != Done && step.StartedAt.IsZero()
	if !starts || len(blockers) == 0 || slices.ContainsFunc(blockers, concerned) ||
		a.Force && f.Actor.IsPresent() {
		return nil
	}
	return s.blockedError(blockers, "no other step is started")
}

// blockedError returns the refusal for the oldest blocker.
func (s State) blockedError(blockers []Signal, what string) error {
	on := ""
	if id := s.SignalStep(blockers[0]); id != 0 {
		on = " on " + id.String()
	}
	return conflict("the blocker "+Quote(blockers[0].ID)+on+" is open, and "+what+" until it is cleared",
		"fix its cause, then clear it")
}

// SignalLevel is the importance of a signal.
type SignalLevel string

// The levels of a signal (planloop: API Contract).
const (
	Blocker SignalLevel = "blocker"
	Warning SignalLevel = "warning"
	Info    SignalLevel = "info"

	NoLevel SignalLevel = "none" // not a level: it asks to clear the signal
)

// Values lists the levels in order.
func (SignalLevel) Values() []string { return []string{"blocker", "warning", "info"} }

// Read returns the level that a word of another scale means, NoLevel for a word that means the signal is over, or "".
func (SignalLevel) Read(word string) string {
	return map[string]string{"critical": "blocker", "fatal": "blocker", "error": "blocker", "high": "blocker",
		"warn": "warning", "medium": "warning", "low": "info", "note": "info",
		"none": "none", "ok": "none", "clear": "none", "cleared": "none", "resolved": "none", "fixed": "none",
		"closed": "none"}[strings.ToLower(strings.TrimSpace(word))]
}
