package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// Alert is the input of Alert (planloop: API Contract, planloop alert).
type Alert struct {
	ID      string            `json:"id"`
	Level   *plan.SignalLevel `json:"level,omitempty" jsonschema:"description=default blocker"`
	Message string            `json:"message,omitempty"`
	TaskID  *TaskID           `json:"task_id,omitempty"`
	Clear   bool              `json:"clear,omitempty"`
}

// AlertReply says what became of the signal.
type AlertReply struct {
	Status string     `json:"status"` // success
	Signal SignalView `json:"signal"`
	Open   bool       `json:"open"`
	Heartbeat
}

// Alert raises, updates or clears a signal.
func (s *Service) Alert(ctx context.Context, c Caller, in Alert) (AlertReply, error) {
	id, err := plan.Text{Field: "/id", Max: plan.MaxSignalID}.Required(in.ID)
	if err != nil {
		return AlertReply{}, err
	}
	if in.Clear {
		return s.alert(ctx, c, id, plan.ClearSignal{ID: id})
	}
	if in.Message == "" {
		return AlertReply{}, &plan.ValidationError{Kind: plan.InvalidInput, Field: "/message",
			Problem: "is missing", Fix: "say what is wrong, or set clear when it is fixed"}
	}
	a := plan.RaiseSignal{ID: id, Level: plan.Blocker}
	if in.Level != nil {
		a.Level = *in.Level
	}
	if in.TaskID != nil {
		a.Step = plan.StepID(*in.TaskID)
	}
	if a.Message, err = (plan.Text{Field: "/message", Max: plan.MaxMessage, Multiline: true}).Required(in.Message); err != nil {
		return AlertReply{}, err
	}
	return s.alert(ctx, c, id, a)
}

func (s *Service) alert(ctx context.Context, c Caller, id string, a plan.Action) (AlertReply, error) {
	outcome, err := s.do(ctx, c, a)
	if err != nil {
		return AlertReply{}, err
	}
	signal, _ := outcome.After.Signal(id)
	return AlertReply{Status: "success", Signal: signalView(outcome.After, signal, c, messageTokens), Open: signal.Open, Heartbeat: s.heartbeat(outcome.After, c)}, nil
}

// Text is the reply in a line or two.
func (r AlertReply) Text() string {
	if r.Open {
		return "Open: " + r.Signal.text() + r.ending()
	}
	return "Signal " + plan.Quote(r.Signal.ID) + " is cleared" + r.ending()
}
