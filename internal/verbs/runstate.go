package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// RunState is the engines' part of a status: the run, its questions and obstacles.
type RunState struct {
	Run  *RunView  `json:"run,omitempty"`
	Asks []AskView `json:"asks,omitempty"`
}

// RunView is the run of the plan, open or over.
type RunView struct {
	ID     string          `json:"id"`
	Paused bool            `json:"paused,omitempty"`
	Reason plan.StopReason `json:"reason,omitempty"` // why it is paused or over
	Note   string          `json:"note,omitempty"`
	Counts RunCounts       `json:"counts"`

	Ending plan.StopReason `json:"ending,omitempty"` // it ends for this reason after its clean-up

	Broken bool `json:"-"` // no engine takes part, and none left in the regular way
}

// runView returns the run of the current plan, nil without one.
func (s *Service) runView(state plan.State) *RunView {
	p, run := state.Plan, state.Run
	if p == nil || p.IsCleared() || run == nil || run.Plan != p.Root() || p.FinalSummary != "" {
		return nil
	}
	view := &RunView{ID: run.ID, Paused: run.IsPaused && run.EndedAt.IsZero(), Reason: run.Reason, Note: run.Note, Counts: countRun(p),
		Broken: s.opts.Engines != nil && state.HasActiveRun() && !s.hasEngine(state)}
	if run.EndedAt.IsZero() {
		view.Ending = run.Ending
	}
	return view
}

func (s *Service) runState(state plan.State, c Caller) RunState {
	return RunState{Run: s.runView(state), Asks: s.Asks(state, c)}
}

// Asks lists what the plan's run waits for, or what a person has to decide, in the caller's words.
func (s *Service) Asks(state plan.State, c Caller) []AskView { return s.view(state, c, Rules{}).asks() }

func (r RunView) Text() string {
	text, why := "Run "+r.ID, strings.ReplaceAll(string(r.Reason), "_", " ")
	switch {
	case r.Paused:
		text += " is paused (" + why + ")"
	case why != "":
		text += " is over (" + why + ")"
	case r.Ending != "":
		text += " ends (" + strings.ReplaceAll(string(r.Ending), "_", " ") + ") after its clean-up"
	case r.Broken:
		text += " was interrupted, and continues once the plan is run again"
	default:
		text += " continues"
	}
	return text + prefixed(": ", r.Note) + "; " + r.Counts.text()
}

// RunningStep is the progress of a step that an engine carries out.
type RunningStep struct {
	Step    plan.StepID
	Percent int
	What    string // current activity
	Log     string // the end of its output
}

// Engines is the set of engines that carry out steps, in any process.
type Engines interface {
	Lives() bool // one takes part in the run
	Running() []RunningStep
	// SettleLost records the end of steps whose engines died, after ending the processes that they left.
	SettleLost(ctx context.Context) error
}

// addProgress adds an engine's progress to a task, unless the caller is the agent that works on it.
func (s *Service) addProgress(c Caller, task *Task, step *plan.Step) {
	if !step.IsRunning() || s.opts.Engines == nil || c.Actor.Scope.Step == step.ID {
		return
	}
	for _, running := range s.opts.Engines.Running() {
		if running.Step != step.ID {
			continue
		}
		if running.Percent > 0 || running.What != "" {
			task.Progress = strings.TrimSuffix(fmt.Sprintf("%d %%, %s", running.Percent, running.What), ", ")
		}
		if agent := step.ActiveAgent(); agent != "" {
			last := cmp.Or(safetext.LastLine(running.What), safetext.LastLine(running.Log))
			task.Progress = strings.TrimSuffix("the agent "+agent+" works on it: "+last, ": ")
		}
		task.Output = safetext.Keepable(safetext.ExcerptOf(running.Log, outputShown), outputShown)
	}
}

// LabelledText is a text with a label.
type LabelledText struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// RunResults lists a step's results and state from runs.
func RunResults(step *plan.Step) []LabelledText {
	x := step.Execution
	if x == nil {
		return nil
	}
	var all []LabelledText
	add := func(label, text string) {
		if text != "" {
			all = append(all, LabelledText{label, text})
		}
	}
	if x.Loop != 0 {
		add("part of the loop", x.Loop.String())
		add("its entry", string(x.Item))
	}
	if n := len(x.Instances); n > 0 {
		add("carried out by", plan.IDs(x.Instances))
	}
	if x.ConditionFalse {
		add("skipped", "its condition does not hold")
	}
	add("changed files outside its step", strings.Join(x.OutOfScopeFiles, ", "))
	if x.CommitMoved || x.ChangesUnknown {
		add("warning", "its agent "+history.ChangesOutside(nil, x.CommitMoved, x.ChangesUnknown))
	}
	if step.IsStale() {
		add("stale", "it used a value that was replaced")
	}
	if x.Ask != nil {
		add("asks", string(x.Ask.Kind))
	}
	if x.Approval != nil {
		add("may run once", "granted by "+x.Approval.Way.Decider(x.Approval.By))
		add("with the arguments", string(x.Approval.Args))
	}
	if r := step.Result; r != nil {
		add("value", string(r.Value))
		if r.StoredName != "" {
			add("value", "not shown: too large, or it has a secret")
		}
	}
	return all
}

// RunProgress is the run of the plan, for views.
type RunProgress struct {
	RunView
	Running []RunningStep // steps that engines carry out
}

// Ongoing reports whether the run is being carried out now.
func (l RunProgress) Ongoing() bool { return !l.Paused && l.Reason == "" && !l.Broken }

// RunProgress returns the run of the current plan, open or over; false without a run.
func (s *Service) RunProgress(state plan.State) (RunProgress, bool) {
	view := s.runView(state)
	if view == nil {
		return RunProgress{}, false
	}
	look := RunProgress{RunView: *view}
	if s.opts.Engines != nil {
		look.Running = slices.DeleteFunc(s.opts.Engines.Running(), func(running RunningStep) bool {
			step, ok := state.Plan.Steps.Get(running.Step)
			return !ok || !step.IsRunning()
		})
	}
	return look, true
}
