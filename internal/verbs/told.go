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
	plans map[string]string // caller's name → id of the plan's first version
}

// maxTold bounds the callers that are remembered; beyond it all are forgotten.
const maxTold = 10_000

// know notes that a caller has been told of the plan of s.
func (t *told) know(c Caller, s plan.State) {
	if s.Plan == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.plans == nil || len(t.plans) >= maxTold {
		t.plans = map[string]string{}
	}
	t.plans[c.Actor.Name] = s.Plan.Root()
}

// check refuses a caller, once, that speaks of steps of a plan which is not the
// current one any more.
func (t *told) check(c Caller, s plan.State) error {
	if s.Plan == nil {
		return nil
	}
	t.mu.Lock()
	last := t.plans[c.Actor.Name]
	t.mu.Unlock()
	if last == "" || last == s.Plan.Root() {
		return nil
	}
	t.know(c, s)
	return &plan.ValidationError{Kind: plan.Conflict,
		Problem: "the plan was replaced meanwhile: it is " + plan.Quote(s.Plan.Objective) + " now, with steps of its own",
		Fix:     "read it before going on: " + c.Face.read()}
}
