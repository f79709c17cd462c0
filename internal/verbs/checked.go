package verbs

import (
	"context"
	"fmt"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Run is what came of a command that planloop ran.
type Run struct {
	Signal   string // id of the signal that stands for it
	Level    plan.SignalLevel
	Task     plan.StepID // 0: none
	Command  string      // as it was given
	ExitCode int
	Output   string // the tail of what it printed
}

// Checkable returns the step that a command is to be run for, or says why its
// outcome could not be kept.
func (s *Service) Checkable(ctx context.Context, id plan.StepID) (*plan.Step, error) {
	state, err := s.State(ctx)
	if err != nil {
		return nil, err
	}
	return plan.Reportable(state, id)
}

// Checked keeps the outcome of a command: failing raises a signal, succeeding
// clears it, and either is evidence for the step it was run for.
func (s *Service) Checked(ctx context.Context, c Caller, run Run) (AlertReply, error) {
	id, err := plan.Text{Field: "/id", Max: plan.MaxSignalID}.Required(run.Signal)
	if err != nil {
		return AlertReply{}, err
	}
	run.Command, run.Output = machineText(run.Command), machineText(run.Output)
	state, err := s.State(ctx)
	if err != nil {
		return AlertReply{}, err
	}
	batch := plan.Batch{Word: "check"}
	if run.Task != 0 {
		code := run.ExitCode
		batch.Parts = append(batch.Parts, plan.Part{Action: plan.ReportStep{Step: run.Task,
			Evidence: []plan.Evidence{{Command: run.Command, ExitCode: &code, Output: run.Output, Recorded: true}}}})
	}
	if _, known := state.Signal(id); run.ExitCode != 0 {
		batch.Parts = append(batch.Parts, plan.Part{Action: plan.RaiseSignal{ID: id, Level: run.Level, Step: run.Task, Output: run.Output,
			Message: fmt.Sprintf("%s exited with %d.", plan.Shorten(run.Command, plan.MaxMessage-40), run.ExitCode)}})
	} else if known {
		batch.Parts = append(batch.Parts, plan.Part{Action: plan.ClearSignal{ID: id}})
	}
	return s.alert(ctx, c, id, batch)
}

// machineText returns what a command, a program or a model wrote, fit to be kept: what
// plan.Text would refuse is escaped or cut, since nobody is there to mend it.
func machineText(text string) string {
	rule := plan.Text{Max: plan.MaxLongText, Multiline: true}
	clean, err := rule.Clean(text)
	if err != nil {
		clean, err = rule.Clean(plan.Shorten(safetext.Escape(text), plan.MaxLongText))
	}
	if err != nil {
		return "" // it cannot be: escaped text is clean
	}
	return clean
}
