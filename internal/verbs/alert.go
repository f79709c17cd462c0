package verbs

import (
	"cmp"
	"context"
	"fmt"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// Alert is the input of Alert (planloop: API Contract, planloop alert).
type Alert struct {
	ID      string            `json:"id"`
	Level   *plan.SignalLevel `json:"level,omitempty" jsonschema:"description=default blocker"`
	Message string            `json:"message,omitempty"`
	TaskID  *TaskID           `json:"task_id,omitempty"`
	Clear   bool              `json:"clear,omitempty" yes:"yes clear cleared close closed resolve resolved fixed ok done inactive"`
	Reach   plan.Reach        `json:"-"` // default the track
}

// AlertReply reports the signal after the call.
type AlertReply struct {
	Status string     `json:"status"` // success
	Signal SignalView `json:"signal"`
	Open   bool       `json:"open"`
	Heartbeat

	Before *plan.Signal `json:"-"` // set if the signal was already cleared, so that nothing changed
}

// Alert raises, updates or clears a signal.
func (s *Service) Alert(ctx context.Context, c Caller, in Alert) (AlertReply, error) {
	id, err := plan.Text{Field: "/id", Max: plan.MaxSignalID}.Required(in.ID)
	if err != nil {
		return AlertReply{}, err
	}
	if in.Clear || given(in.Level) == plan.NoLevel {
		return s.clearSignal(ctx, c, id)
	}
	if in.Message == "" {
		return AlertReply{}, plan.Refuse(plan.InvalidInput, "/message", "is missing", "describe the problem, or set clear once it is fixed")
	}
	a := plan.RaiseSignal{ID: id, Level: cmp.Or(given(in.Level), plan.Blocker), Step: plan.StepID(given(in.TaskID)),
		Reach: cmp.Or(in.Reach, plan.ReachTrack)}
	if a.Message, err = (plan.Text{Field: "/message", Max: plan.MaxMessage, Multiline: true}).Required(in.Message); err != nil {
		return AlertReply{}, err
	}
	return s.alert(ctx, c, id, a)
}

// clearSignal clears a signal on the track that has its record.
func (s *Service) clearSignal(ctx context.Context, c Caller, id string) (AlertReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return AlertReply{}, err
	}
	signal, _ := state.Signal(id)
	if !signal.OfWorkspace {
		return s.alert(ctx, c, id, plan.ClearSignal{ID: id})
	}
	if err := s.checkTrack(ctx, c); err != nil {
		return AlertReply{}, err
	}
	main, err := s.OnTrack(ctx, mainTrack)
	if err != nil {
		return AlertReply{}, err
	}
	outcome, err := main.session.Do(ctx, main.As(c).Actor, plan.ClearSignal{ID: id}, nil)
	if err != nil {
		return AlertReply{}, c.addPersonCalls(err)
	}
	signal, _ = outcome.After.Signal(id)
	state, err = s.State(ctx)
	return AlertReply{Status: "success", Signal: signalView(state, signal, c), Heartbeat: s.heartbeat(state, c)}, err
}

func (s *Service) alert(ctx context.Context, c Caller, id string, a plan.Action) (AlertReply, error) {
	outcome, err := s.do(ctx, c, a)
	signal, _ := outcome.After.Signal(id)
	reply := AlertReply{Status: "success", Signal: signalView(outcome.After, signal, c), Open: signal.Open,
		Heartbeat: s.heartbeat(outcome.After, c)}
	if was, known := outcome.Before.Signal(id); known && !was.Open && !signal.Open {
		reply.Before = &was
	}
	return reply, err
}

func (r AlertReply) Text() string { return r.state() + ": " + r.Signal.text() + r.ending() }

// Cleared returns in one line, for a person, which signal is cleared.
func (r AlertReply) Cleared() string { return r.state() + ": " + r.Signal.ID + r.sofar() + "." }

func (r AlertReply) state() string {
	switch {
	case r.Before != nil:
		return "Already cleared at " + localTime(r.Before.ClearedAt) + " by " + r.Before.ClearedBy
	case r.Open:
		return "Open"
	}
	return "Cleared"
}

// CheckRun is the outcome of a command that planloop ran.
type CheckRun struct {
	Signal   string // id of its signal
	Level    plan.SignalLevel
	Task     plan.StepID // 0: none
	Command  string      // as it was given
	ExitCode int
	Output   string     // excerpt of its output
	Reach    plan.Reach // of its signal; default the track

	isAwaited bool // a call answers a failure, so that no signal is raised for it
}

// StepToCheck returns the step to run a command for, or an error if the command's outcome could not be recorded.
func (s *Service) StepToCheck(ctx context.Context, c Caller, id plan.StepID) (*plan.Step, error) {
	state, err := s.State(ctx)
	if err != nil {
		return nil, err
	}
	return plan.FindReportableStep(state, id, c.Actor)
}

// RecordCheck records the outcome of a command: a failure raises a signal, a success clears it, and both are evidence for
// run.Task. The workspace's signal stays open if this is another track than main.
func (s *Service) RecordCheck(ctx context.Context, c Caller, run CheckRun) (AlertReply, error) {
	id, err := plan.Text{Field: "/id", Max: plan.MaxSignalID}.Required(run.Signal)
	if err != nil {
		return AlertReply{}, err
	}
	run.Command, run.Output = machineText(plan.Mask(run.Command)), machineText(safetext.ExcerptOf(plan.Mask(run.Output), plan.MaxOutput))
	state, err := s.State(ctx)
	if err != nil {
		return AlertReply{}, err
	}
	batch := plan.Batch{Word: "check"}
	if run.Task != 0 {
		evidence := plan.Evidence{Command: run.Command, ExitCode: &run.ExitCode, Output: run.Output, Recorded: true}
		if s.opts.Commit != nil {
			evidence.On = s.opts.Commit(ctx)
		}
		batch.Parts = append(batch.Parts, plan.Part{Action: plan.ReportStep{Step: run.Task, Evidence: []plan.Evidence{evidence}}})
	}
	if signal, known := state.Signal(id); run.ExitCode != 0 && !run.isAwaited {
		batch.Parts = append(batch.Parts, plan.Part{Action: plan.RaiseSignal{ID: id, Level: run.Level, Step: run.Task, Output: run.Output,
			Reach:   cmp.Or(run.Reach, plan.ReachTrack),
			Message: fmt.Sprintf("%s exited with %d.", plan.Shorten(run.Command, plan.MaxMessage-40), run.ExitCode)}})
	} else if known && !signal.OfWorkspace && run.ExitCode == 0 {
		batch.Parts = append(batch.Parts, plan.Part{Action: plan.ClearSignal{ID: id}})
	}
	return s.alert(ctx, c, id, batch)
}

// machineText makes text from a command, program or model storable: parts that plan.Text would refuse are escaped or
// cut, because no person can correct them.
func machineText(text string) string {
	rule := plan.Text{Max: plan.MaxLongText, Multiline: true}
	clean, err := rule.Clean(text)
	if err != nil {
		clean, _ = rule.Clean(plan.Shorten(safetext.Escape(text), plan.MaxLongText)) // escaped text is clean
	}
	return clean
}

// SignalView is a signal in the contract's shape.
type SignalView struct {
	ID      string           `json:"id"`
	TaskID  int              `json:"task_id,omitempty"`
	Level   plan.SignalLevel `json:"level"`
	Message string           `json:"message"`
	Output  string           `json:"output,omitempty"` // excerpt of a command's output
}

// messageTokens is the limit of a signal's message in a model's reply.
const messageTokens = 80

// Limits of a message and of a command's output, in characters; outputTokens is in tokens.
const (
	messageShown = 300
	outputShown  = 400
	outputTokens = 200
)

func signalView(state plan.State, signal plan.Signal, c Caller) SignalView {
	view := SignalView{ID: signal.ID, TaskID: int(state.SignalStep(signal)), Level: signal.Level, Message: signal.Message,
		Output: signal.Output}
	if c.brief() {
		view.Message = tokens.Shorten(view.Message, messageTokens, messageShown)
		view.Output = shownOutput(view.Output, outputTokens)
	}
	return view
}

func shownOutput(output string, room int) string {
	return tokens.Block(safetext.ExcerptOf(output, outputShown), room)
}

func (v SignalView) text() string {
	text := "Signal " + plan.Quote(v.ID) + " (" + string(v.Level)
	if v.TaskID != 0 {
		text += ", " + plan.StepID(v.TaskID).String()
	}
	return text + "): " + safetext.AfterLabel(v.Message) + line(safetext.Marked(v.Output))
}
