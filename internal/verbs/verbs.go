// Package verbs implements everything that can be done with a plan, once: each verb has an input struct, an output
// struct and a method of Service. A tool, a command or a button decodes the input, calls the method and shows the
// output. The package decides how to interpret an input and the next action; it must not know a protocol, a host or
// a terminal.
package verbs

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/plan"
)

// Service carries out verbs in one workspace.
type Service struct {
	session *session.Session
	opts    Options
	seen    lastSeen
	asked   atomic.Pointer[string] // id of the last request that this process put to a person

	executing backgroundEngine
	verifying verifications
}

// Options configure a Service. The zero value is usable.
type Options struct {
	Workspace string        // its location; "": not worth mentioning
	Doubt     string        // why it may be the wrong workspace, and the remedy; or ""
	Stale     func() string // says how old the plan is if it may be outdated, else ""; nil: it never is

	Unicode  bool                        // lifts the ASCII rule of the six planning_* tools
	Presence Presence                    // nil: signs of life are not recorded
	Actor    func(plan.Actor) plan.Actor // names a caller as a team does; nil: the track belongs to none
	Lease    time.Duration               // 0: plan.DefaultLease
	Now      func() time.Time            // nil: time.Now

	Gates    func(gate string) gates.Level // level of each gate; nil: the default profile
	GateAll  bool                          // the gates judge the planning_* tools as well
	RuleBook RuleBook                      // nil: planloop maintains no rule book

	Commands      func(name string) bool // whether a program is installed; nil: unknown
	Unconfigured  bool                   // the gates were not configured: in a workspace without files they are lenient
	Tree          Tree                   // nil: the files cannot be seen
	Tools         func() []ToolInfo      // tools that steps can name; nil: none
	StepTools     runnable.Tools         // the same, to check steps; nil: any tool is accepted
	ServerTools   ServerTools            // the tools of other servers; nil: none
	Model         Model                  // nil: not configured
	Templates     Templates              // nil: none
	Tracks        Tracks                 // nil: the workspace has one track
	Engine        Engine                 // nil: cannot carry out steps here
	VerifyWait    time.Duration          // how long a call waits for a verify command; 0: 50 s
	Engines       Engines                // the current engines; nil: none
	LockHolder    func(string) string    // the step of any track that holds a lock, "" if unknown; may be nil
	Agents        Agents                 // the agents that a run may start; nil: none
	Limits        plan.Limits            // current limits, to expire planning mode
	Hooks         Hooks                  // of the agents at work; nil: unknown
	HooksRequired bool                   // refuse planning mode to agents without responding hooks
	Notify        func(Notice)           // informs a person, without waiting; may be nil

	// Detach starts an engine that joins the open run and outlives this process, or returns why it cannot; nil: there is no such engine.
	Detach func(context.Context, EngineOptions) error

	// Verify runs a step's verify command in the workspace and returns the evidence, or why it did not run to its end; nil: cannot.
	Verify func(context.Context, *plan.Step) (plan.Evidence, error)
	Commit func(context.Context) string // describes the files' commit, for evidence on a team's track; nil: it is not recorded
}

// onlyReports reports whether an action only reports the status of steps or signals; for these no tools are checked.
func onlyReports(a plan.Action) bool {
	switch a := a.(type) {
	case plan.MarkStep, plan.ClaimStep, plan.ReportStep, plan.RaiseSignal, plan.ClearSignal:
		return true
	case plan.Batch:
		return !slices.ContainsFunc(a.Parts, func(part plan.Part) bool { return !onlyReports(part.Action) })
	}
	return false
}

// Presence records signs of life.
type Presence interface {
	Touch(name string)
	Join(name string) (leave func())
	Seen(name string) plan.Sighting
	LastActivity() time.Time
}

// New returns a service on a session.
func New(s *session.Session, opts Options) *Service {
	opts.Lease = cmp.Or(opts.Lease, plan.DefaultLease)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Service{session: s, opts: opts}
}

// State returns the state that is on disk now, with planning mode ended if it has expired. The first process to
// notice records and announces the expiry. If it cannot be recorded now, the returned state still has the mode
// ended.
func (s *Service) State(ctx context.Context) (plan.State, error) {
	state, err := s.session.State(ctx)
	if err != nil {
		return state, err
	}
	expired := plan.Expiry(state, s.opts.Now(), s.opts.Limits, s.lastActivity(state))
	if expired == nil {
		return state, nil
	}
	outcome, err := s.session.Do(ctx, plan.NewActor(plan.ChannelEngine, string(plan.Planloop)), plan.ExpireMode{}, nil)
	if err != nil {
		return plan.Apply(state, expired), nil
	}
	s.notifyExpiry(outcome)
	return outcome.After, nil
}

// PlanState returns a state with the plan of that id as its current plan, to show it: the current plan, the draft,
// or a former plan in its last state.
func (s *Service) PlanState(ctx context.Context, id string) (plan.State, error) {
	state, err := s.State(ctx)
	if err != nil {
		return plan.State{}, err
	}
	if state.Plan != nil && state.Plan.ID == id && !state.Plan.IsCleared() {
		return state, nil
	}
	body, err := s.session.PlanBody(ctx, id)
	if err != nil {
		return plan.State{}, err
	}
	then := plan.State{Revision: state.Revision, UpdatedAt: state.UpdatedAt, Phase: state.Phase, Plan: body, Past: state.Past}
	if head, ok := state.PastPlan(id); ok {
		then.Revision, then.UpdatedAt = head.Revision, head.ArchivedAt
	}
	return then, nil
}

// LogID names the service's log: requests and questions of another log have the same ids.
func (s *Service) LogID(ctx context.Context) (string, error) {
	head, err := s.session.Head(ctx)
	return head.Chain, err
}

// Records yields the log after a revision, oldest first.
func (s *Service) Records(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return s.session.Records(ctx, after)
}

// Events yields the events of a run from the records after a revision, oldest first. With follow it continues with
// new ones until ctx ends; see session.Session.Changes.
func (s *Service) Events(ctx context.Context, after plan.Revision, follow bool) iter.Seq2[history.Event, error] {
	return func(yield func(history.Event, error) bool) {
		for change, err := range s.session.Changes(ctx, after, follow) {
			if err != nil {
				yield(history.Event{}, err)
				return
			}
			for _, e := range history.EventsOf(change.Before, change.Record) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// RunHistory lists the runs of the track, oldest first.
func (s *Service) RunHistory(ctx context.Context) (history.Runs, error) {
	runs := history.Runs{}
	for change, err := range s.session.Changes(ctx, 0, false) {
		if err != nil {
			return nil, err
		}
		runs.Add(change.Before, change.Record)
	}
	state, err := s.State(ctx)
	runs.Finish(state)
	return runs, err
}

// Timeline returns what the steps of a state's plan did over time, up to that state.
func (s *Service) Timeline(ctx context.Context, state plan.State) ([]history.TimelineStep, error) {
	if state.Plan == nil {
		return []history.TimelineStep{}, nil
	}
	timeline := history.Timeline{Plan: state.Plan.Root()}
	for change, err := range s.session.Changes(ctx, 0, false) {
		if err != nil {
			return nil, err
		}
		if change.Before.Revision >= state.Revision {
			break
		}
		timeline.Add(change.Before)
	}
	timeline.Add(state)
	return timeline.Steps(), nil
}

// Purge deletes the workspace's whole history. Only a person may ask for it.
func (s *Service) Purge(ctx context.Context, c Caller) error {
	return s.session.Purge(ctx, c.Actor)
}

// lastActivity returns the last sign of life of any actor, if the phase depends on it.
func (s *Service) lastActivity(state plan.State) time.Time {
	if s.opts.Presence == nil || state.PhaseNow() != plan.PhaseGathering {
		return time.Time{}
	}
	return s.opts.Presence.LastActivity()
}

// ModeEnds returns the time until planning mode expires if nothing happens; false if it does not expire.
func (s *Service) ModeEnds(state plan.State) (time.Duration, bool) {
	at, limit := plan.ExpiresAt(state, s.opts.Limits, s.lastActivity(state))
	return at.Sub(s.opts.Now()), limit > 0
}

// Phase returns the current phase and the revision, 0 without a log. It does not open the log, which is enough to
// list tools; only a phase that may have expired needs the state. Enforcement must use Restricted, which reads the
// log.
func (s *Service) Phase(ctx context.Context) (plan.Phase, plan.Revision, error) {
	head, err := s.session.CachedHead(ctx)
	if err != nil {
		return "", 0, err
	}
	if !head.Phase.IsRestricted() {
		return plan.State{Phase: head.Phase}.PhaseNow(), head.Seq, nil
	}
	state, err := s.State(ctx)
	return state.PhaseNow(), state.Revision, err
}

// Restricted reports whether planning mode allows only reading now. It reads the last row of the log, and all of it
// if the mode may have expired.
func (s *Service) Restricted(ctx context.Context) (bool, error) {
	head, err := s.session.Head(ctx)
	if err != nil || !head.Phase.IsRestricted() {
		return false, err
	}
	state, err := s.State(ctx)
	return state.PhaseNow().IsRestricted(), err
}

// Watch returns a channel that receives after the state has changed; see session.Session.Watch.
func (s *Service) Watch(ctx context.Context) (<-chan struct{}, error) { return s.session.Watch(ctx) }

// do records an action and the caller's sign of life, even if the action fails.
func (s *Service) do(ctx context.Context, c Caller, a plan.Action) (session.Outcome, error) {
	return s.doIf(ctx, c, a, func(plan.State) error { return nil })
}

// doIf is do with a check of the state that the action applies to: an error from holds refuses the action.
func (s *Service) doIf(ctx context.Context, c Caller, a plan.Action, holds func(plan.State) error) (session.Outcome, error) {
	if c.wrong != nil {
		return session.Outcome{}, mergeErrors(c.wrong, plan.CleanAction(a))
	}
	if err := s.checkTrack(ctx, c); err != nil {
		return session.Outcome{}, err
	}
	s.awaitTools(ctx, toolsOf(a))
	maySettle := true // the steps of dead engines, once
	judge := func(state plan.State, facts *plan.Facts) error {
		if maySettle && s.hasLostStep(state) {
			return errLostEngine
		}
		if !onlyReports(a) {
			facts.Definitions = map[string]string{}
			for name, tool := range s.otherTools() {
				facts.Definitions[name] = tool.Definition
			}
		}
		facts.Missing = s.missingFiles(ctx, c, state, a)
		if s.isBesideOthers(c, state) {
			return errPlanChanged
		}
		if err := holds(state); err != nil {
			return err
		}
		on := state.ForEdits(c.Actor)
		if _, ofDraft := a.(plan.EditDraft); ofDraft {
			on.Plan = on.DraftWithProgress()
		}
		if err := s.checkRunnable(currentSteps(on), a, nil); err != nil {
			return cmp.Or(plan.CleanAction(a), err) // the steps were judged as given
		}
		if !plan.DependsOnPlan(a) {
			return nil
		}
		return s.seen.check(c, state, c.word(Call{Kind: CallRead}))
	}
	outcome, err := s.session.Do(ctx, c.Actor, a, judge)
	if errors.Is(err, errLostEngine) {
		maySettle = false
		_ = s.opts.Engines.SettleLost(ctx) // a step whose processes cannot be ended stays as it is
		outcome, err = s.session.Do(ctx, c.Actor, a, judge)
	}
	s.touch(c)
	if err != nil {
		return outcome, c.addPersonCalls(err)
	}
	s.seen.know(c, outcome.After)
	s.bind(c, outcome.After, c.begins)
	s.notifyExpiry(outcome)
	if slices.ContainsFunc(outcome.Events, func(e plan.Event) bool {
		proposed, _ := e.(plan.ChangeProposed)
		return proposed.Request.Base != "" // else it is another plan
	}) {
		shown, err := s.session.ApprovedVersion(ctx, outcome.Before.Plan)
		if err != nil {
			return outcome, err
		}
		return outcome, &ChangeProposed{Reply: s.submitted(ctx, shown, outcome.After, c)}
	}
	return outcome, nil
}

// Join records that the connection of an actor is alive until leave is called.
func (s *Service) Join(name string) (leave func()) {
	if s.opts.Presence == nil {
		return func() {}
	}
	return s.opts.Presence.Join(name)
}

func (s *Service) touch(c Caller) {
	if s.opts.Presence != nil {
		s.opts.Presence.Touch(c.Actor.Name)
	}
}
