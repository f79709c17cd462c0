package verbs

import (
	"context"
	"strings"

	"github.com/planloop/planloop/plan"
)

// Tracks holds the workspace's other plans, each on a track of its own.
type Tracks interface {
	// Name returns the name of the service's own track.
	Name() string
	// Begin makes a track named after an objective, and returns its service. discard removes a track without a plan.
	Begin(ctx context.Context, objective string) (s *Service, discard func(), err error)
	// Stay puts an agent that begins a plan on the service's track. Before there is a log it does nothing.
	Stay(c Caller) error
	// Has reports whether an agent is on the service's track.
	Has(agent string) bool
	// Others describes the other open tracks, each in a line with its name first, if the caller has not chosen any.
	Others(ctx context.Context, c Caller) []string
	// Join puts an agent on the track of that name, and returns its service.
	Join(ctx context.Context, c Caller, name string) (*Service, error)
}

// Track returns the name of the service's track, "" if the workspace has only one.
func (s *Service) Track() string {
	if s.opts.Tracks == nil {
		return ""
	}
	return s.opts.Tracks.Name()
}

// besideOthers carries out a call that begins a plan for an objective: beside another agent's unfinished plan on a track of its own.
func besideOthers[R any](ctx context.Context, s *Service, c Caller, objective string, do func(*Service, Caller) (R, error)) (R, error) {
	return retryIfChanged(func() (R, error) {
		var none R
		state, err := s.State(ctx)
		if err != nil {
			return none, err
		}
		c.ownPlanOnly = true
		if !s.isBesideOthers(c, state) {
			return do(s, c)
		}
		other, discard, err := s.opts.Tracks.Begin(ctx, objective)
		if err != nil {
			return none, err
		}
		c.began = other.Track() + ", beside " + state.Plan.CreatedBy + "'s plan " +
			plan.Quote(plan.Shorten(state.Plan.Objective, titleShown)) + " on " + s.Track()
		reply, err := do(other, c)
		if err != nil {
			discard()
			_ = s.opts.Tracks.Stay(c) // a track without a log counts for none
		}
		return reply, err
	})
}

// joinTrack puts a caller on another track. Planning mode keeps an agent where it is.
func (s *Service) joinTrack(ctx context.Context, c Caller, name string) (*Service, error) {
	state, err := s.State(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.opts.Tracks == nil || c.scoped():
		return nil, plan.Refuse(plan.Conflict, "/track", "this session cannot change its track", "leave out track")
	case state.PhaseNow().IsRestricted() && !c.decides():
		return nil, plan.Refuse(plan.Conflict, "/track", "planning mode holds this session on track "+s.Track(),
			"submit a plan, or ask the user to end planning mode")
	}
	return s.opts.Tracks.Join(ctx, c, name)
}

// otherTracks returns the lines about other open tracks for an agent that has chosen none.
func (s *Service) otherTracks(ctx context.Context, c Caller) (lines []string) {
	if s.opts.Tracks == nil || c.Actor.Kind != plan.Agent || c.scoped() {
		return nil
	}
	others := s.opts.Tracks.Others(ctx, c)
	for _, other := range others[:min(len(others), tracksShown)] {
		name, _, _ := strings.Cut(other, ":")
		lines = append(lines, other+". To work on it: "+c.word(Call{Kind: CallJoin, ID: name}))
	}
	if more := len(others) - len(lines); more > 0 {
		lines = append(lines, plan.Pluralize(more, "further track"))
	}
	return lines
}

const tracksShown = 5

// stay puts a caller that begins a plan on its track before the plan exists, so that no other call takes it for nobody's. It refuses
// with errPlanChanged where the plan would replace another's.
func (s *Service) stay(c Caller, state plan.State) error {
	switch {
	case !c.ownPlanOnly || s.opts.Tracks == nil || c.Actor.Kind != plan.Agent || c.scoped():
		return nil
	case s.isBesideOthers(c, state):
		return errPlanChanged
	}
	return s.opts.Tracks.Stay(c)
}

// isBesideOthers reports whether an agent that begins a plan would replace another actor's unfinished one. Planning mode holds all
// tracks, so then the reducers decide.
func (s *Service) isBesideOthers(c Caller, state plan.State) bool {
	p := state.Plan
	if s.opts.Tracks == nil || c.Actor.Kind != plan.Agent || c.scoped() || isOver(p) || p.Status == plan.StatusCompleted ||
		p.Steps.Len() == 0 || state.PhaseNow().IsRestricted() {
		return false
	}
	takesPart := p.CreatedBy == c.Actor.Name || !s.opts.Tracks.Has(p.CreatedBy) // a person's plan, for any agent
	for step := range p.Steps.All() {
		switch {
		case step.ClaimedBy == c.Actor.Name:
			takesPart = true
		case !step.Status.IsFinished() && !s.isUnowned(step) && s.opts.Tracks.Has(step.ClaimedBy):
			return true // another works on it
		}
	}
	return !takesPart
}
