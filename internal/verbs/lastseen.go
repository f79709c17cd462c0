package verbs

import (
	"sync"

	"github.com/planloop/planloop/plan"
)

// lastSeen remembers which plan each caller saw last. Step ids restart with every plan, so after a plan was replaced,
// S002 is a different step.
type lastSeen struct {
	mu    sync.Mutex
	plans map[string]sighting // by the caller's name
}

type sighting struct {
	plan     string        // id of the plan's first version
	revision plan.Revision // of the state
	told     plan.Revision // up to which it got people's input; at first the revision at which it came here
	greeted  bool          // it got people's input at least once
	edits    plan.Revision // of the last draft edit by a person that it was shown

	planEdits plan.Revision // up to which it was shown people's edits of the current plan; 0: never
}

// maxSeen is the most callers remembered; beyond it all are forgotten.
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
	now.revision, now.plan, now.told = s.Revision, "", min(now.told, s.Revision) // the log may have been purged
	now.planEdits = min(now.planEdits, s.Revision)
	if s.Plan != nil {
		now.plan = s.Plan.Root()
	}
	t.plans[c.Actor.Name] = now
}

// check refuses a caller, once, if its last plan was replaced, since its step ids mean other steps. read names the call
// that reads the plan.
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

// feedback returns the revision up to which a caller got people's input, and whether it never got any.
func (t *lastSeen) feedback(c Caller) (told plan.Revision, never bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.plans[c.Actor.Name]
	return last.told, !last.greeted
}

// tell notes that a caller got people's input up to the state's revision.
func (t *lastSeen) tell(c Caller, s plan.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.plans[c.Actor.Name]
	last.told, last.greeted = s.Revision, true
	t.plans[c.Actor.Name] = last
}

// since returns the revision a caller saw last; false for a new caller.
func (t *lastSeen) since(c Caller) (plan.Revision, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.plans[c.Actor.Name]
	return last.revision, ok
}

// unread returns people's edits of the waiting draft, nil if the caller was shown them already.
func (t *lastSeen) unread(c Caller, s plan.State) *plan.Edits {
	if s.Draft == nil || s.Draft.Edits.String() == "" || !s.PhaseNow().IsRestricted() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.plans[c.Actor.Name].edits == s.Draft.Edits.Revision {
		return nil
	}
	return s.Draft.Edits
}

// readEdits notes that a caller was shown people's edits of the draft.
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

// planEditsTold returns the revision up to which a caller was shown people's edits of the current plan; false if it
// never was.
func (t *lastSeen) planEditsTold(c Caller) (plan.Revision, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	told := t.plans[c.Actor.Name].planEdits
	return told, told > 0
}

// tellPlanEdits notes that a caller was shown people's edits of the current plan.
func (t *lastSeen) tellPlanEdits(c Caller, s plan.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.plans[c.Actor.Name]
	last.planEdits = s.Revision
	t.plans[c.Actor.Name] = last
}
