package verbs

import (
	"sync"

	"github.com/planloop/planloop/plan"
)

// told remembers which plan each caller was last told of. Step ids begin anew
// with every plan, so that S002 of a plan that somebody replaced meanwhile would
// be another step.
type told struct {
	mu    sync.Mutex
	plans map[string]telling // by the caller's name
}

// telling is what a caller was told last.
type telling struct {
	plan     string        // id of the plan's first version
	revision plan.Revision // of the state
	heard    plan.Revision // up to which it was told what people said
}

// maxTold bounds the callers that are remembered; beyond it all are forgotten.
const maxTold = 10_000

// know notes that a caller has been told of the plan of s.
func (t *told) know(c Caller, s plan.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.plans == nil || len(t.plans) >= maxTold {
		t.plans = map[string]telling{}
	}
	now := telling{revision: s.Revision, heard: t.plans[c.Actor.Name].heard}
	if s.Plan != nil {
		now.plan = s.Plan.Root()
	}
	t.plans[c.Actor.Name] = now
}

// check refuses a caller, once, that speaks of steps of a plan which is not the
// current one any more. read names the way to read the plan.
func (t *told) check(c Caller, s plan.State, read string) error {
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
	return &plan.ValidationError{Kind: plan.Conflict,
		Problem: "the plan was replaced meanwhile: it is " + plan.Quote(s.Plan.Objective) + " now, with steps of its own",
		Fix:     "read it before going on: " + read}
}

// hear notes that a caller was told what people said, and returns up to which
// revision it had been; false when it is new here.
func (t *told) hear(c Caller, s plan.State) (since plan.Revision, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, known := t.plans[c.Actor.Name]
	since = last.heard
	last.heard = s.Revision
	t.plans[c.Actor.Name] = last
	return since, known && since > 0
}

// since returns the revision a caller was told of last; false when it is new here.
func (t *told) since(c Caller) (plan.Revision, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.plans[c.Actor.Name]
	return last.revision, ok
}
