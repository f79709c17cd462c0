package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// PauseReply reports a paused or ended run and its running steps.
type PauseReply struct {
	Status  string   `json:"status"` // paused, or ended
	Running []string `json:"running,omitempty"`
	Message string   `json:"message"`
	Heartbeat
}

// PauseRun pauses the run: running steps continue to their end, no new ones start. Only a person can resume a run that
// a person paused.
func (s *Service) PauseRun(ctx context.Context, c Caller, reason string) (PauseReply, error) {
	outcome, err := s.do(ctx, c, plan.PauseRun{Note: reason})
	if err != nil {
		return PauseReply{}, err
	}
	ids := runningSteps(outcome.After)
	reply := PauseReply{Status: "paused", Message: stopMessage("paused", ids), Heartbeat: s.heartbeat(outcome.After, c)}
	for _, id := range ids {
		reply.Running = append(reply.Running, id.String())
	}
	return reply, nil
}

// EndRun ends the run for a person; running steps continue to their end.
func (s *Service) EndRun(ctx context.Context, c Caller) (PauseReply, error) {
	outcome, err := s.do(ctx, c, plan.EndRun{})
	if err != nil {
		return PauseReply{}, err
	}
	message := stopMessage("over", runningSteps(outcome.After))
	return PauseReply{Status: "ended", Message: message, Heartbeat: s.heartbeat(outcome.After, c)}, nil
}

// Text returns the reply in a line or two.
func (r PauseReply) Text() string { return r.under(r.Message) }

// stopMessage says that the run is paused or over, and which steps still run.
func stopMessage(state string, running []plan.StepID) string {
	message := "The run is " + state + ": no more steps start"
	if len(running) > 0 {
		message += ", and " + plan.IDs(running) + " will run to the end"
	}
	return message + "."
}

func runningSteps(state plan.State) []plan.StepID {
	var ids []plan.StepID
	for step := range currentSteps(state).Running() {
		if step.IsRunning() {
			ids = append(ids, step.ID)
		}
	}
	return ids
}

// pauseAndWait pauses a run with running steps and waits for their end, so that a person can change the plan. It returns a
// sentence about that, to append to another.
func (s *Service) pauseAndWait(ctx context.Context, c Caller) (message string, err error) {
	state, err := s.State(ctx)
	if err != nil || len(runningSteps(state)) == 0 {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := s.session.Watch(ctx) // before the pause, so that no change is missed
	if err != nil {
		return "", err
	}
	waited := runningSteps(state)
	if state.OpenRun() != nil {
		if _, err := s.do(ctx, c, plan.PauseRun{}); err != nil {
			return "", err
		}
	}
	for {
		state, err := s.State(ctx)
		left := runningSteps(state)
		switch {
		case err != nil:
			return "", err
		case len(left) == 0:
			return " The run was paused until " + plan.IDs(waited) + " ended; to go on: " + c.word(Call{Kind: CallRun}) + ".", nil
		}
		c.progress(len(waited)-len(left), len(waited), "waiting for "+plan.IDs(left)+" to end")
		if _, open := <-changes; !open {
			return "", context.Cause(ctx)
		}
	}
}
