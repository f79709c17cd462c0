package verbs

import (
	"sync"

	"github.com/planloop/planloop/plan"
)

// lastSeen remembers which plan each caller has seen last. Step ids begin anew
// with every plan, so that S002 of a plan that somebody replaced meanwhile would
// be another step.
type lastSeen struct {
	mu    sync.Mutex
	plans map[string]sighting // by the caller's name
}

// sighting is what a caller has seen last.
type sighting struct {
	plan     string        // id of the plan's first version
	revision plan.Revision // of the state
	feedback plan.Revision // up to which it has seen what people said
}

// maxSeen bounds the callers that are remembered; beyond it all are forgotten.
const maxSeen = 10_000

// know notes that a caller has seen the plan of s.
func (t *lastSeen) know(c Caller, s plan.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.plans == nil || len(t.plans) >= maxSeen {
		t.plans = map[string]sighting{}
	}
	now := sighting{revision: s.Revision, feedback: t.plans[c.Actor.Name].feedback}
	if s.Plan != nil {
		now.plan = s.Plan.Root()
	}
	t.plans[c.Actor.Name] = now
}

// check refuses a caller, once, that speaks of steps of a plan which is not the
// current one any more. read names the way to read the plan.
func (t *lastSeen) check(c Caller, s plan.State, read string) error {
	if s.Plan == nil {
		return nil
	}
	t.mu.Lock()
	last := t.plans[c.Actor.Name].plan
	t.mu.Unlock()
	if last == "" || last == s.Plan.Root() {
		return nil
	}
	t.know(c, s)
	return plan.Refuse(plan.Conflict, "",
		"the plan was replaced meanwhile: it is "+plan.Quote(s.Plan.Objective)+" now, with steps of its own",
		"read it before going on: "+read)
}

// feedback notes that a caller has seen what people said, and returns up to which
// revision it had; false when it is new here.
func (t *lastSeen) feedback(c Caller, s plan.State) (since plan.Revision, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, known := t.plans[c.Actor.Name]
	since = last.feedback
	last.feedback = s.Revision
	t.plans[c.Actor.Name] = last
	return since, known && since > 0
}

// since returns the revision that a caller has seen last; false when it is new here.
func (t *lastSeen) since(c Caller) (plan.Revision, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.plans[c.Actor.Name]
	return last.revision, ok
}
