package verbs

import (
	"context"
	"errors"
	"strings"

	"github.com/planloop/planloop/plan"
)

// errNotOpen keeps a detached engine from resuming a run that was paused before it could join.
var errNotOpen = errors.New("the run is paused or over")

// DetachRun begins or resumes the run, and has an engine carry it out that outlives this process and its host. It starts no agents.
func (s *Service) DetachRun(ctx context.Context, c Caller, o EngineOptions) (ExecutePlanReply, error) {
	if s.opts.Detach == nil {
		return ExecutePlanReply{}, noEngine()
	}
	if err := s.detach(ctx, c, o); err != nil {
		return ExecutePlanReply{}, err
	}
	reply, err := s.RunStatus(ctx, c)
	if reply.Reason == "" {
		reply.Message = "The run continues in the background"
	}
	return reply, err
}

// detach opens the run, and starts a detached engine unless an engine takes part.
func (s *Service) detach(ctx context.Context, c Caller, o EngineOptions) (err error) {
	for range 3 { // an engine may leave, and pause the run, at the same time
		if _, err = s.do(ctx, c, plan.BeginRun{}); err != nil || s.opts.Engines.Lives() && o.From == 0 && len(o.Only) == 0 {
			return err
		}
		if err = s.opts.Detach(ctx, o); err == nil || !strings.Contains(err.Error(), errNotOpen.Error()) {
			return err
		}
	}
	return err
}
