package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Event is a fact that follows from an accepted action, in final form. Its meaning never changes; a
// new meaning gets a new kind.
type Event interface{ apply(State) State }

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

	findings GateFindings // by the gates, in the action
}

// Limits are the limits in force. A zero field means its default.
type Limits struct {
	Lease      time.Duration // how long a claim lasts after the owner's last sign of life; default 30 minutes
	MaxSteps   int           // per plan; default 2,000
	MaxReplans int           // default 3
	Evidence   bool          // a step is done only with evidence
	NeverAsk   bool          // no step asks a person before it runs

	ApprovalTimeout  time.Duration // how long a submitted plan waits; negative: forever; default 30 minutes
	GatheringTimeout time.Duration // longest gathering without a sign of life; negative: forever; default 1 hour
	PersonOnly       bool          // a decision confirmed through a client does not count
}

// Defaults of Limits.
const (
	DefaultLease      = 30 * time.Minute
	DefaultMaxSteps   = 2_000
	DefaultMaxReplans = 3

	DefaultApprovalTimeout  = 30 * time.Minute
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
	a = a.clean(&c)
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
	f.Limits.NeverAsk = f.Limits.NeverAsk && s.maySkipQuestions(f.Actor)
	if batch, is := a.(Batch); is {
		f.findings = batch.Findings
	}
	t := traitsOf(a)
	if err := t.permit(f); err != nil {
		return nil, err
	}
	if err := s.checkAgentScope(a, f); err != nil {
		return nil, err
	}
	if err := checkPhase(s, a, t, f); err != nil {
		return nil, err
	}
	caused, err := decideAll(s, a, f)
	if err != nil {
		return nil, err
	}
	caused = handleDeviation(s, a, caused, f)
	for _, e := range caused {
		s = Apply(s, e)
	}
	all := slices.Concat(archiveDraft(before, s, f.Now), events, caused)
	for _, e := range endMode(s, f) {
		all, s = append(all, e), Apply(s, e)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return append(all, reserveIDs(before, s)...), nil
}

// CleanAction checks an action by itself, whatever its actor and the state.
func CleanAction(a Action) error {
	c := cleaner{}
	a.clean(&c)
	return c.Err()
}

// Apply folds one event into a new state. It never refuses, and depends on nothing but its
// arguments; s is not changed. An event about something that does not exist changes nothing.
func Apply(s State, e Event) State { return e.apply(s) }

// kinds is the table of events: each kind with its word in the log.
func kinds() []kind {
	return []kind{
		{"plan_archived", PlanArchived{}},
		{"plan_set_up", PlanSetUp{}},
		{"draft_made", DraftMade{}},
		{"host_plan_adopted", HostPlanAdopted{}},
		{"plan_restored", PlanRestored{}},
		{"plan_cleared", PlanCleared{}},
		{"plan_completed", PlanCompleted{}},
		{"plan_reopened", PlanReopened{}},
		{"plan_abandoned", PlanAbandoned{}},
		{"plan_needs_replan", PlanNeedsReplan{}},
		{"plan_failed", PlanFailed{}},
		{"steps_added", StepsAdded{}},
		{"step_updated", StepUpdated{}},
		{"step_moved", StepMoved{}},
		{"step_marked", StepMarked{}},
		{"step_claimed", StepClaimed{}},
		{"step_reported", StepReported{}},
		{"signal_raised", SignalRaised{}},
		{"signal_cleared", SignalCleared{}},
		{"plan_judged", PlanJudged{}},
		{"plan_closed", PlanClosed{}},
		{"history_purged", HistoryPurged{}},
		{"mode_entered", ModeEntered{}},
		{"mode_cancelled", ModeCancelled{}},
		{"mode_expired", ModeExpired{}},
		{"mode_ended", ModeEnded{}},
		{"plan_submitted", PlanSubmitted{}},
		{"draft_edited", DraftEdited{}},
		{"plan_approved", PlanApproved{}},
		{"plan_rejected", PlanRejected{}},
		{"plan_returned", PlanReturned{}},
		{"left_undecided", NoDecisionReceived{}},
		{"plan_deviated", PlanDeviated{}},
		{"question_asked", QuestionAsked{}},
		{"question_answered", QuestionAnswered{}},
		{"commented", CommentAdded{}},
		{"comment_replied", CommentReplied{}},
		{"comment_met", CommentResolved{}},
		{"mode_restored", ModeRestored{}},
		{"run_begun", RunBegun{}},
		{"run_paused", RunPaused{}},
		{"run_resumed", RunResumed{}},
		{"run_ended", RunEnded{}},
		{"step_started", StepStarted{}},
		{"step_finished", StepFinished{}},
		{"step_retried", StepRetried{}},
		{"step_lost", StepLost{}},
		{"stray_result", StrayResult{}},
		{"agent_reported", AgentReported{}},
		{"agent_unavailable", AgentUnavailable{}},
		{"condition_met", ConditionMet{}},
		{"condition_unmet", ConditionUnmet{}},
		{"loop_expanded", LoopExpanded{}},
		{"loop_settled", LoopSettled{}},
		{"step_asked", StepAsked{}},
		{"step_answered", StepAnswered{}},
		{"plan_replanned", PlanReplanned{}},
		{"step_ids_taken", StepIDsTaken{}},
	}
}

type kind struct {
	word string
	zero Event
}

var kindWords = sync.OnceValue(func() map[reflect.Type]string {
	words := map[reflect.Type]string{}
	for _, k := range kinds() {
		words[reflect.TypeOf(k.zero)] = k.word
	}
	return words
})

// EventKind returns the event's word in the log.
func EventKind(e Event) string { return kindWords()[reflect.TypeOf(e)] }

// Events returns one zero value of each kind of event, for decoders.
func Events() []Event {
	var all []Event
	for _, k := range kinds() {
		all = append(all, k.zero)
	}
	return all
}

// currentPlan returns the current plan, or a refusal that says how to get one.
func currentPlan(s State) (*Plan, error) {
	if s.Plan == nil {
		return nil, Refuse(NotFound, "", "there is no plan yet", "set one up first")
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
	case p.IsCompletedWithoutSummary():
		return "mark a step pending to re-open it, or set up a new plan"
	case p.Status == StatusAbandoned && p.Steps.Len() > 0:
		return "mark a step pending to re-open it, or set up a new plan"
	case p.Status == StatusReplanning:
		return "replan, or mark the failed critical step in_progress to try it again"
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
	return nil, Refuse(NotFound, field, "there is no step "+id.String(), fix)
}
