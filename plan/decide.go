package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Facts is the information from outside the state that a decision needs.
type Facts struct {
	Now          time.Time
	Actor        Actor
	Limits       Limits
	Sightings    map[string]Sighting // of the actors that Owners lists
	LastActivity time.Time           // any actor's last sign of life, while planning mode is gathering
	FormerPlan   *Plan               // the body of the plan that a Restore names

	Resolutions map[StepID]Resolution // of the steps that an Advance may start

	Definitions map[string]string // of the tools of other servers, by name

	Missing map[StepID][]string // files that steps create and that do not exist, of the steps that the action marks done

	Policy  *Policy // the team's; nil: one person's approval is enough
	Members Members // the team's; nil: not known
	Machine string  // of the team's member who acts, as "ann's laptop"; "": this one

	findings GateFindings // by the gates, in the action
}

// Limits are the limits in force. A zero field means its default.
type Limits struct {
	Lease      time.Duration // how long a claim lasts after the owner's last sign of life; default 30 minutes
	MaxSteps   int           // per plan; default 2,000
	MaxReplans int           // default 3
	Evidence   bool          // a step is done only with evidence
	NeverAsk   bool          // no step asks a person before it runs

	ApprovalTimeout  time.Duration // how long a submitted plan waits; negative: forever, the default
	GatheringTimeout time.Duration // longest gathering without a sign of life; negative: forever; default 1 hour
	PersonOnly       bool          // a decision confirmed through a client does not count
}

// Defaults of Limits.
const (
	DefaultLease      = 30 * time.Minute
	DefaultMaxSteps   = 2_000
	DefaultMaxReplans = 3

	DefaultApprovalTimeout  = -1
	DefaultGatheringTimeout = time.Hour
)

func (l Limits) withDefaults() Limits {
	l.Lease = cmp.Or(l.Lease, DefaultLease)
	l.MaxSteps = cmp.Or(l.MaxSteps, DefaultMaxSteps)
	l.MaxReplans = cmp.Or(l.MaxReplans, DefaultMaxReplans)
	l.ApprovalTimeout = cmp.Or(l.ApprovalTimeout, DefaultApprovalTimeout)
	l.GatheringTimeout = cmp.Or(l.GatheringTimeout, DefaultGatheringTimeout)
	return l
}

// Decide returns the events that a causes in s, in final form, or the *ValidationError that refuses
// it. Neither events nor an error means that everything is already as asked. Only Decide mints ids.
// Whatever the input, no text reaches an event that Text would refuse, and no list, count or id
// beyond the limits.
func Decide(s State, a Action, f Facts) ([]Event, error) {
	c := cleaner{}
	c.actor(f.Actor)
	a = c.action(a)
	if err := c.Err(); err != nil {
		return nil, err
	}
	f.Limits = f.Limits.withDefaults()
	f.Now = f.Now.UTC().Truncate(time.Millisecond)
	before := s
	var events []Event
	if expired := Expiry(s, f.Now, f.Limits, f.LastActivity); expired != nil {
		events = append(events, expired)
		s = Apply(s, expired)
	}
	f.Limits = s.LimitsInForce(f.Limits)
	f.Limits.PersonOnly = f.Limits.PersonOnly || f.Policy != nil
	f.Limits.NeverAsk = f.Limits.NeverAsk && s.maySkipQuestions(f.Actor)
	if batch, is := a.(Batch); is {
		f.findings = batch.Findings
	}
	t := traitsOf(a)
	if err := cmp.Or(t.permit(f), s.checkAgentScope(a, f), checkPhase(s, a, t, f)); err != nil {
		return nil, err
	}
	caused, err := decideChange(s, a, f)
	if err != nil {
		return nil, err
	}
	begun := s
	s = Apply(s, caused...)
	if err := cmp.Or(checkApprovedKept(begun, s, caused, f), checkWithdrawn(begun, t, caused, f)); err != nil {
		return nil, err
	}
	ended := endMode(s, f)
	s = Apply(s, ended...)
	all := slices.Concat(archiveDraft(before, s, f.Now), events, caused, ended)
	if len(all) == 0 {
		return nil, nil
	}
	isOwn := begun.ModeNow().IsAgentsOwn && s.ModeNow().IsAgentsOwn && s.PhaseNow() == PhaseGathering
	if isOwn && f.Actor.Way() != "" && len(caused) > 0 { // a person's first act in an agent's own planning mode
		all = append(all, ModeTouched{By: f.Actor.Name, At: f.Now})
	}
	return append(all, reserveIDs(before, s)...), nil
}

// CleanAction checks an action by itself, whatever its actor and the state.
func CleanAction(a Action) error {
	c := cleaner{}
	c.action(a)
	return c.Err()
}

// Apply folds events into a new state. It never refuses, and depends on nothing but its arguments;
// s is not changed. An event about something that does not exist changes nothing.
func Apply(s State, events ...Event) State {
	for _, e := range events {
		s = e.apply(s)
	}
	return s
}

// currentPlan returns the current plan, or a refusal that says how to get one.
func currentPlan(s State) (*Plan, error) {
	if s.Plan == nil {
		return nil, Refuse(NotFound, "", "no plan exists yet", "set one up first")
	}
	return s.Plan, nil
}

// openPlan returns the current plan if steps may be added and edited; ended allows a plan that ended by itself.
func openPlan(s State, verb string, ended bool) (*Plan, error) {
	p, err := currentPlan(s)
	if err != nil {
		return nil, err
	}
	if p.Status != StatusActive && (!ended || !p.IsCompletedWithoutSummary()) {
		return nil, conflict(fmt.Sprintf("the plan %s, so %s", p.Status.Predicate(), verb), remedy(p))
	}
	return p, nil
}

// remedy returns the remedy for a plan that is not active.
func remedy(p *Plan) string {
	switch {
	case p.IsCompletedWithoutSummary(), p.Status == StatusAbandoned && p.Steps.Len() > 0:
		return "mark a step pending to re-open it, or set up a new plan"
	case p.Status == StatusReplanning:
		return "replan, or retry the failed critical step"
	}
	return "set up a new plan"
}

// findStep returns the step, or a refusal that lists the existing ones.
func findStep(p *Plan, id StepID, field string) (*Step, error) {
	if step, ok := p.Steps.Get(id); ok {
		return step, nil
	}
	fix := "the plan has no steps yet; add some first"
	if n := p.Steps.Len(); n == 1 {
		fix = fmt.Sprintf("the plan's only step is %s", p.Steps.At(0).ID)
	} else if n > 1 {
		fix = fmt.Sprintf("the plan has %d steps, %s to %s", n, p.Steps.At(0).ID, p.Steps.At(n-1).ID)
	}
	return nil, Refuse(NotFound, field, "step "+id.String()+" does not exist", fix)
}

// decideAll decides about an action in a state and adds all consequences for loops, the plan and the
// run.
func decideAll(s State, a Action, f Facts) ([]Event, error) {
	events, err := a.decide(s, f)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	switch a.(type) {
	case Batch, Schedule, AdoptHostPlan: // they settle as they go
		return events, nil
	}
	c := stateFold{state: s, facts: f}
	c.record(events...)
	return c.events, nil
}

// stateFold is a state with the events that have changed it so far.
type stateFold struct {
	state  State
	facts  Facts
	events []Event
}

// record folds events that belong together, and their consequences for loops, the plan and the run.
func (c *stateFold) record(events ...Event) {
	before, touched := c.state, []StepID(nil) // the steps with a status changed by events
	for _, e := range events {
		if e, ok := e.(interface{ marks() StepID }); ok {
			touched = append(touched, e.marks())
		}
	}
	c.add(events...)
	for _, id := range touched {
		if loop := settleLoop(c.state, id); loop != nil {
			c.add(*loop)
			touched = append(touched, loop.Step)
		}
	}
	c.add(renewals(before, c.state, c.facts.Now)...)
	c.add(planConsequences(before, c.state, touched, c.facts)...)
	c.add(endRun(c.state, c.facts)...)
}

func (c *stateFold) add(events ...Event) {
	c.state = Apply(c.state, events...)
	c.events = append(c.events, events...)
}
