package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// Tracks holds the workspace's plans, each on a track of its own, and knows which session is on which.
type Tracks interface {
	// Name returns the name of the service's own track.
	Name() string
	// Begin makes a track named after an objective, and returns its service. discard removes a track without a plan.
	Begin(ctx context.Context, objective string) (s *Service, discard func(), err error)
	// HasChosen reports whether the caller's session is on a track, or there is only one.
	HasChosen(c Caller) bool
	// Open returns the open tracks, main first.
	Open(ctx context.Context) ([]TrackView, error)
	// Changed receives after a track may have begun, changed or ended, until ctx ends; nil if that cannot be watched.
	Changed(ctx context.Context) <-chan struct{}
	// Join returns the service of the track of that name. If create is set, a track that does not exist is begun, as by Begin.
	Join(ctx context.Context, name string, create bool) (s *Service, discard func(), err error)
	// HeldBy returns the track with the planning mode that holds the caller wherever it calls, "" if none does.
	HeldBy(ctx context.Context, c Caller) (string, error)
	// Binding returns what is known of the caller's session.
	Binding(c Caller) Binding
	// Bind records what is known of it from now on, in place of what Binding returned, unless there is no log yet.
	Bind(c Caller, from, to Binding)
	// IsAgent reports whether a name is an agent's: that of a connection, or one bound to a track.
	IsAgent(name string) bool
	// Title returns the name of an agent's host for people, "" if it is unknown.
	Title(agent string) string
	// Serves reports whether an agent, known by its connection, belongs to the caller's session.
	Serves(agent string, c Caller) bool
}

// TrackView is what others see of a track.
type TrackView struct {
	Name     string `json:"name"`
	Goal     string `json:"goal"` // "" if it is not open
	By       string `json:"by"`   // the opener
	Progress string `json:"progress,omitempty"`
	IsIdle   bool   `json:"idle,omitempty"`    // without a sign of life for a week: no other session is led to it
	Problem  string `json:"problem,omitempty"` // the reason why it cannot be read, with its name

	plan *plan.Plan // the current one; may be nil
}

// Binding says which track a session is on, which plan it began there last, and which it saw there last. Plans are named by their
// first versions.
type Binding struct{ Track, Began, Saw string }

// Track returns the name of the service's track, "" if the workspace has only one.
func (s *Service) Track() string {
	if s.opts.Tracks == nil {
		return ""
	}
	return s.opts.Tracks.Name()
}

// tracksOf returns the tracks that a caller may be on, nil for people, CI, and agents that a run has started.
func (s *Service) tracksOf(c Caller) Tracks {
	if c.Actor.Kind != plan.Agent || c.scoped() {
		return nil
	}
	return s.opts.Tracks
}

// beginning says what a call begins.
type beginning int

const (
	nothing   beginning = iota
	aProposal           // planning, or a plan that a person decides on
	aPlan               // a plan that replaces the current one
)

// besideOthers carries out a call that begins something for an objective: beside another session's unfinished plan on a track of its
// own.
func besideOthers[R any](ctx context.Context, s *Service, c Caller, begins beginning, objective string,
	do func(*Service, Caller) (R, error)) (R, error) {
	c.begins = begins
	return retryIfChanged(func() (R, error) {
		var none R
		state, err := s.State(ctx)
		if err != nil {
			return none, err
		}
		c := c
		if tracks := s.tracksOf(c); tracks != nil {
			held, err := tracks.HeldBy(ctx, c)
			if err != nil {
				return none, err
			}
			c.held = held != ""
		}
		if !s.isBesideOthers(c, state) {
			return do(s, c)
		}
		other, discard, err := s.opts.Tracks.Begin(ctx, objective)
		if err != nil {
			return none, err
		}
		c.began = other.Track() + ", beside " + s.ownerAndPlan(state.Opener()) + " on " + s.Track()
		reply, err := do(other, other.As(c))
		if err != nil {
			discard()
		}
		return reply, err
	})
}

// ownerAndPlan names the opener of a track and its plan, as State.Opener returns them.
func (s *Service) ownerAndPlan(by, about string) string {
	return cmp.Or(s.opts.Tracks.Title(by), s.ForPeople(by)) + "'s plan (" + plan.Shorten(about, titleShown) + ")"
}

// isAlone reports whether the caller is the actor of that name, and that actor is one session.
func (c Caller) isAlone(name string) bool { return name == c.Actor.Name && c.local() == c.Session }

// joinTrack returns the service of another track that a caller may be on, and that it may begin.
func (s *Service) joinTrack(ctx context.Context, c Caller, name string, create bool) (joined *Service, discard func(), err error) {
	if s.opts.Tracks == nil || c.scoped() {
		return nil, nil, plan.Refuse(plan.Conflict, "/track", "this session cannot change its track", "leave out track")
	}
	tracks := s.tracksOf(c)
	if tracks == nil {
		return s.opts.Tracks.Join(ctx, name, create)
	}
	state, err := s.State(ctx)
	if err != nil {
		return nil, nil, err
	}
	on, opened := tracks.Binding(c), state.Opened()
	if on.Track == s.Track() && name != s.Track() && state.PhaseNow().IsRestricted() {
		return nil, nil, heldError(on.Track)
	}
	if err := checkHold(ctx, tracks, c, name); err != nil {
		return nil, nil, err
	}
	// If a host names no sessions, its chats share a connection.
	isShared := c.Session == c.local() && strings.Contains(c.Session, "#")
	if isShared && on.Track == s.Track() && name != s.Track() && opened != "" && opened == on.Began {
		return nil, nil, plan.Refuse(plan.Conflict, "/track", "this connection's own plan is open on track "+on.Track,
			"finish or clear it first")
	}
	return tracks.Join(ctx, name, create)
}

func heldError(track string) error {
	return plan.Refuse(plan.Conflict, "", "planning mode holds this session on track "+track,
		"submit a plan, or ask the user to end planning mode")
}

// checkHold refuses a call on a track if planning mode on another one holds the caller.
func checkHold(ctx context.Context, tracks Tracks, c Caller, track string) error {
	held, err := tracks.HeldBy(ctx, c)
	if err == nil && held != "" && held != track {
		err = heldError(held)
	}
	return err
}

// checkTrack refuses a change on a track that the caller may not change: planning mode on another one holds it, or it is on none of
// several.
func (s *Service) checkTrack(ctx context.Context, c Caller) error {
	tracks := s.tracksOf(c)
	if tracks == nil {
		return nil
	}
	if err := checkHold(ctx, tracks, c, s.Track()); err != nil || c.begins != nothing {
		return err
	}
	open, _, err := s.choices(ctx, c)
	if err == nil && len(open) > 0 {
		return plan.Refuse(plan.Conflict, "", "this session is on none of the open tracks", "choose one:\n"+strings.Join(open, "\n"))
	}
	return err
}

// choices returns the lines about the open tracks for a session that is on none of several, and for one on none about those that cannot be
// read.
func (s *Service) choices(ctx context.Context, c Caller) (lines, problems []string, err error) {
	tracks := s.tracksOf(c)
	if tracks == nil || tracks.HasChosen(c) {
		return nil, nil, nil
	}
	open, err := tracks.Open(ctx)
	open = slices.DeleteFunc(open, func(t TrackView) bool {
		if t.Problem != "" && len(problems) < tracksShown {
			problems = append(problems, t.Problem)
		}
		return t.IsIdle || t.Problem != ""
	})
	if len(open) < 2 {
		return nil, problems, err
	}
	for _, t := range open[:min(len(open), tracksShown)] {
		lines = append(lines, t.Name+": "+s.ownerAndPlan(t.By, t.Goal)+inBrackets(t.Progress)+
			". To help: "+c.word(Call{Kind: CallJoin, ID: t.Name}))
	}
	if more := len(open) - len(lines); more > 0 {
		lines = append(lines, plan.Pluralize(more, "further track"))
	}
	return lines, problems, err
}

const (
	tracksShown = 5
	mainTrack   = "main" // the track that every workspace has
)

// bind records that the caller's session is on the service's track, and the plan that it has begun or seen there.
func (s *Service) bind(c Caller, state plan.State, begins beginning) {
	tracks := s.tracksOf(c)
	if tracks == nil {
		return
	}
	on, to := tracks.Binding(c), Binding{Track: s.Track()}
	if on.Track == to.Track {
		to = on
	}
	if to.Saw = ""; state.Plan != nil {
		to.Saw = state.Plan.Root()
	}
	if begins != nothing {
		to.Began = state.Opened()
	}
	if begins == aProposal && state.Draft != nil {
		to.Began = state.Draft.Root() // beside the current plan
	}
	tracks.Bind(c, on, to)
}

// TrackView returns what others see of the service's track in a state.
func (s *Service) TrackView(state plan.State) TrackView {
	by, about := state.Opener()
	p := state.Plan
	if !p.IsUnfinished() && state.Draft != nil {
		p = state.Draft // which the goal is of
	}
	if !state.IsOpen() {
		about = ""
	}
	return TrackView{Name: cmp.Or(s.Track(), mainTrack), Goal: about, By: by, Progress: progress(p), plan: state.Plan}
}

// OpenTracks returns the open tracks of the workspace, main first.
func (s *Service) OpenTracks(ctx context.Context) ([]TrackView, error) {
	if s.opts.Tracks != nil {
		return s.opts.Tracks.Open(ctx)
	}
	state, err := s.State(ctx)
	if view := s.TrackView(state); view.Goal != "" && err == nil {
		return []TrackView{view}, nil
	}
	return nil, err
}

// TracksChanged receives after OpenTracks may have changed, until ctx ends; nil if there is only this track.
func (s *Service) TracksChanged(ctx context.Context) <-chan struct{} {
	if s.opts.Tracks == nil {
		return nil
	}
	return s.opts.Tracks.Changed(ctx)
}

// OnTrack returns the service of another track.
func (s *Service) OnTrack(ctx context.Context, name string) (*Service, error) {
	if s.opts.Tracks == nil {
		return s, nil
	}
	other, _, err := s.opts.Tracks.Join(ctx, name, false)
	return other, err
}

// isBesideOthers reports whether what a call begins would replace another session's unfinished plan, or draft in its planning mode.
func (s *Service) isBesideOthers(c Caller, state plan.State) bool {
	tracks := s.tracksOf(c)
	if tracks == nil || c.begins == nothing || c.held || !state.IsOpen() {
		return false
	}
	if c.besideDraft {
		return true
	}
	on := tracks.Binding(c)
	by, _ := state.Opener()
	isOwn := c.isAlone(by) || on.Track == s.Track() && on.Began == state.Opened() || !tracks.IsAgent(by) // a person's is for any session
	if !isOwn {
		return c.begins == aPlan || on.Track != s.Track() // a draft replaces nothing until a person approves it
	}
	return c.begins == aPlan && s.isHelpedBySomeone(c, state)
}

// isHelpedBySomeone reports whether another living session holds a step.
func (s *Service) isHelpedBySomeone(c Caller, state plan.State) bool {
	return state.Plan != nil && plan.Exists(state.Plan.Steps.Unfinished(), func(step *plan.Step) bool {
		return step.ClaimedBy != c.Actor.Name && !s.isUnowned(step) && !s.opts.Tracks.Serves(step.ClaimedBy, c)
	})
}

// replacedSince returns a sentence about the plan that has replaced the one that the caller's session saw last, "" if none has.
func (s *Service) replacedSince(c Caller, state plan.State) string {
	tracks := s.tracksOf(c)
	if tracks == nil || state.Plan == nil {
		return ""
	}
	on := tracks.Binding(c)
	root := state.Plan.Root()
	if on.Track != s.Track() || on.Saw == "" || on.Saw == root || on.Began == root || c.isAlone(state.Plan.CreatedBy) {
		return ""
	}
	return fmt.Sprintf("The plan you worked on was replaced by %s. Read it before you continue.", s.ownerAndPlan(state.Opener()))
}

// besideOwner returns a sentence for an agent on no track that looks at the plan of another session at work, else "".
func (s *Service) besideOwner(c Caller, state plan.State) string {
	tracks := s.tracksOf(c)
	by, _ := state.Opener()
	if tracks == nil || !state.IsOpen() || c.isAlone(by) || tracks.Binding(c).Track != "" || tracks.Serves(by, c) {
		return ""
	}
	if seen := s.seenLast(by); seen.IsGone || s.opts.Now().Sub(seen.At) > s.opts.Lease {
		return ""
	}
	begin, can := c.Can(Call{Kind: CallSetUp})
	if !can {
		begin = c.word(Call{Kind: CallStart})
	}
	return "This is " + s.ownerAndPlan(state.Opener()) + ". To help, take a step. For another task, " + begin + " begins a track."
}
