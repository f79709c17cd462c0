package plan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

var (
	ann    = plan.Actor{Kind: plan.Agent, Name: "ann"}
	bob    = plan.Actor{Kind: plan.Agent, Name: "bob"}
	person = plan.NewActor(plan.ChannelTerminal, "petra")
)

// failer is the common part of *testing.T, *testing.B and *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// workspace plays the part of a session: it decides, keeps the log and folds.
type workspace struct {
	t      failer
	state  plan.State
	log    []plan.Record
	now    time.Time
	still  bool // the clock does not move: the next action comes in the same millisecond
	limits plan.Limits
	seen   map[string]plan.Sighting

	resolved map[plan.StepID]plan.Resolution // findings of the engine before its last Advance
	found    func(*plan.Step, *plan.Resolution)

	policy  *plan.Policy // of the team
	members []string
	machine string

	missing     map[plan.StepID][]string                                       // files that steps create and that do not exist
	definitions map[string]string                                              // of the tools of other servers
	decided     func(plan.Actor, plan.Action, plan.Facts, []plan.Event, error) // receives each decision; may be nil
}

func newWorkspace(t failer) *workspace {
	return &workspace{t: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), seen: map[string]plan.Sighting{}}
}

// lastActivity returns the last sign of life of any actor.
func (w *workspace) lastActivity() time.Time {
	var last time.Time
	for _, seen := range w.seen {
		if seen.At.After(last) {
			last = seen.At
		}
	}
	return last
}

func (w *workspace) facts(actor plan.Actor, a plan.Action) plan.Facts {
	f := plan.Facts{Now: w.now, Actor: actor, Limits: w.limits, Sightings: map[string]plan.Sighting{}, LastActivity: w.lastActivity(),
		Resolutions: w.resolved, Definitions: w.definitions, Missing: w.missing,
		Policy: w.policy, Members: membersOf(w.members), Machine: w.machine}
	for _, owner := range plan.ClaimOwners(w.state, a) {
		f.Sightings[owner] = w.seen[owner]
	}
	if r, ok := a.(plan.Restore); ok {
		f.FormerPlan = w.past(r.PlanID)
	}
	return f
}

// past reads the body of a former plan from the log.
func (w *workspace) past(id string) *plan.Plan {
	head, ok := w.state.PastPlan(id)
	if !ok {
		return nil
	}
	return head.Body(foldAll(w.log[:head.Revision]))
}

// try decides a and keeps its events. Accepted actions are one second apart.
func (w *workspace) try(actor plan.Actor, a plan.Action) ([]plan.Event, error) {
	facts := w.facts(actor, a)
	events, err := plan.Decide(w.state, a, facts)
	w.checkWritten(a, facts, events, err)
	if w.decided != nil {
		w.decided(actor, a, facts, events, err)
	}
	if err != nil || len(events) == 0 {
		return nil, err
	}
	r := plan.Record{Seq: w.state.Revision + 1, Action: plan.ActionWord(a), Actor: actor, Time: w.now, Events: events}
	w.log = append(w.log, r)
	w.state = plan.Fold(w.state, r)
	if !w.still {
		w.now = w.now.Add(time.Second)
	}
	return events, nil
}

// checkWritten checks that an action and its facts, read from their written form, have the same outcome.
func (w *workspace) checkWritten(a plan.Action, facts plan.Facts, events []plan.Event, refused error) {
	w.t.Helper()
	if len(w.log) > 50 { // a second decision on a large state takes long
		return
	}
	data, err := store.EncodeAction(a)
	if err != nil && refused != nil {
		return // a text that JSON cannot hold
	}
	sent, errSent := store.EncodeFacts(facts)
	if err != nil || errSent != nil {
		w.t.Fatalf("%s %+v was not written: %v, %v", plan.ActionWord(a), a, err, errSent)
	}
	read, err := store.DecodeAction(data)
	received, errReceived := store.DecodeFacts(sent)
	if err != nil || errReceived != nil {
		w.t.Fatalf("%s was not read: %v, %v", data, err, errReceived)
	}
	facts.Resolutions, facts.Definitions, facts.Missing = received.Resolutions, received.Definitions, received.Missing
	got, err := plan.Decide(w.state, read, facts)
	if fmt.Sprint(err) != fmt.Sprint(refused) || !bytes.Equal(recorded(w.t, got), recorded(w.t, events)) {
		w.t.Fatalf("%s gives %v %s\ninstead of %v %s", data, err, recorded(w.t, got), refused, recorded(w.t, events))
	}
}

// recorded returns events as the log has them.
func recorded(t failer, events []plan.Event) []byte {
	t.Helper()
	data, err := store.EncodeRecord(plan.Record{Events: events})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return data
}

// do is try for an action that must be accepted and change something.
func (w *workspace) do(actor plan.Actor, a plan.Action) []plan.Event {
	w.t.Helper()
	events, err := w.try(actor, a)
	if err != nil {
		w.t.Fatalf("%s %+v: %v", plan.ActionWord(a), a, err)
	}
	if len(events) == 0 {
		w.t.Fatalf("%s %+v changed nothing", plan.ActionWord(a), a)
	}
	return events
}

// refused is try for an action that must be refused: it returns the error, and fails if the state
// changed.
func (w *workspace) refused(actor plan.Actor, a plan.Action) *plan.ValidationError {
	w.t.Helper()
	before := written(w.t, w.state)
	events, err := w.try(actor, a)
	var refusal *plan.ValidationError
	if !errors.As(err, &refusal) {
		w.t.Fatalf("%s %+v: want a refusal, got events %v, error %v", plan.ActionWord(a), a, kinds(events), err)
	}
	if refusal.Problem == "" || refusal.Fix == "" {
		w.t.Fatalf("the refusal %q lacks a problem or a fix", refusal)
	}
	if after := written(w.t, w.state); after != before {
		w.t.Fatalf("a refused %s changed the state:\n%s\n%s", plan.ActionWord(a), before, after)
	}
	return refusal
}

// unchanged is try for an action that asks for the present state.
func (w *workspace) unchanged(actor plan.Actor, a plan.Action) {
	w.t.Helper()
	if events, err := w.try(actor, a); err != nil || len(events) != 0 {
		w.t.Fatalf("%s %+v: want no events and no error, got %v, %v", plan.ActionWord(a), a, kinds(events), err)
	}
}

func (w *workspace) mark(id plan.StepID, status plan.StepStatus) []plan.Event {
	w.t.Helper()
	return w.do(ann, plan.MarkStep{Step: id, Status: status})
}

func (w *workspace) step(id plan.StepID) *plan.Step {
	w.t.Helper()
	step, ok := w.state.Plan.Steps.Get(id)
	if !ok {
		w.t.Fatalf("there is no step %s", id)
	}
	return step
}

func (w *workspace) wantStatus(want plan.PlanStatus) {
	w.t.Helper()
	if got := w.state.Plan.Status; got != want {
		w.t.Fatalf("the plan is %s, want %s", got, want)
	}
}

// withPlan returns a workspace with an active plan of the given steps.
func withPlan(t failer, steps ...plan.NewStep) *workspace {
	t.Helper()
	w := newWorkspace(t)
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: steps})
	return w
}

func titled(title string, deps ...plan.StepID) plan.NewStep {
	return plan.NewStep{Spec: plan.Spec{Title: title, DependsOn: deps}}
}

func critical(title string, deps ...plan.StepID) plan.NewStep {
	step := titled(title, deps...)
	step.Critical = true
	return step
}

// closed returns w with a final summary on its plan.
func (w *workspace) closed() *workspace {
	body := w.state.Body()
	body.Plan.FinalSummary = "all well"
	w.state = body.Build()
	return w
}

// inStatus returns w with its plan in another status.
func (w *workspace) inStatus(status plan.PlanStatus) *workspace {
	body := w.state.Body()
	body.Plan.Status = status
	w.state = body.Build()
	return w
}

func foldAll(log []plan.Record) plan.State {
	var s plan.State
	for _, r := range log {
		s = plan.Fold(s, r)
	}
	return s
}

// written returns all of a state as text.
func written(t failer, s plan.State) string {
	t.Helper()
	data, err := json.Marshal(s.Body())
	if err != nil {
		t.Fatalf("write the state: %v", err)
	}
	return string(data)
}

func kinds(events []plan.Event) []string {
	var words []string
	for _, e := range events {
		words = append(words, plan.EventKind(e))
	}
	return words
}

func stepIDs(steps plan.Steps) []plan.StepID {
	var ids []plan.StepID
	for step := range steps.All() {
		ids = append(ids, step.ID)
	}
	return ids
}

func wantRefusal(t *testing.T, got *plan.ValidationError, kind plan.ErrorKind, field string, words ...string) {
	t.Helper()
	if got.Kind != kind || got.Field != field {
		t.Errorf("refused as %s at %q, want %s at %q: %v", got.Kind, got.Field, kind, field, got)
	}
	wantWords(t, got.Error(), words...)
}
