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
	told     plan.Revision // up to which it was told what people say; at first, where it came here
	greeted  bool          // it was told what they say, at least once
	edits    plan.Revision // of the last change of a draft by a person that it was told of

	planEdits plan.Revision // up to which it was told what people changed of the current plan; 0: it never was
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
	now, known := t.plans[c.Actor.Name]
	if !known {
		now.told = s.Revision
	}
	now.revision, now.plan, now.told = s.Revision, "", min(now.told, s.Revision) // a purged log begins anew
	now.planEdits = min(now.planEdits, s.Revision)
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
	if c.Of == s.Plan.ID || c.Of == "" && (last == "" || last == s.Plan.Root()) {
		return nil
	}
	t.know(c, s)
	return plan.Refuse(plan.Conflict, "",
		"the plan was replaced meanwhile: it is "+plan.Quote(s.Plan.Objective)+" now, with steps of its own",
		"read it before going on: "+read)
}

// feedback returns up to which revision a caller was told what people say, and whether it
// never was.
func (t *lastSeen) feedback(c Caller) (told plan.Revision, never bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.plans[c.Actor.Name]
	return last.told, !last.greeted
}

// tell notes that a caller was told what people had said up to a revision.
func (t *lastSeen) tell(c Caller, s plan.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.plans[c.Actor.Name]
	last.told, last.greeted = s.Revision, true
	t.plans[c.Actor.Name] = last
}

// since returns the revision that a caller has seen last; false when it is new here.
func (t *lastSeen) since(c Caller) (plan.Revision, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.plans[c.Actor.Name]
	return last.revision, ok
}

// unread returns what people changed of the draft that waits, unless a caller was told of it.
func (t *lastSeen) unread(c Caller, s plan.State) *plan.Edits {
	if s.Draft == nil || s.Draft.Edits.String() == "" || !s.PhaseNow().Restricted() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.plans[c.Actor.Name].edits == s.Draft.Edits.Revision {
		return nil
	}
	return s.Draft.Edits
}

// readEdits notes that a caller was told what people have changed of the draft.
func (t *lastSeen) readEdits(c Caller, s plan.State) {
	if t.unread(c, s) == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.plans[c.Actor.Name]
	last.edits = s.Draft.Edits.Revision
	t.plans[c.Actor.Name] = last
}

// planEditsTold returns up to which revision a caller was told what people changed of the current plan; false
// when it never was.
func (t *lastSeen) planEditsTold(c Caller) (plan.Revision, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	told := t.plans[c.Actor.Name].planEdits
	return told, told > 0
}

// tellPlanEdits notes that a caller was told what people had changed of the current plan.
func (t *lastSeen) tellPlanEdits(c Caller, s plan.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.plans[c.Actor.Name]
	last.planEdits = s.Revision
	t.plans[c.Actor.Name] = last
}
