package verbs

import (
	"sync"

	"github.com/planloop/planloop/plan"
)

// lastSeen remembers what each caller saw last. Step ids restart with every plan, so after a plan was replaced, S002 is
// a different step.
type lastSeen struct {
	mu      sync.Mutex
	callers map[string]sighting // by name
}

type sighting struct {
	known      bool          // it saw a state
	plan       string        // id of the plan's first version
	revision   plan.Revision // of the state
	input      plan.Revision // up to which it got people's input; at first the revision at which it came here
	hasInput   bool          // it got people's input at least once
	draftEdits plan.Revision // of the last draft edit by a person that it was shown
	planEdits  plan.Revision // up to which it was shown people's edits of the current plan; 0: never
}

// maxSeen limits the callers remembered; beyond it all are forgotten.
const maxSeen = 10_000

func (t *lastSeen) get(c Caller) sighting {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.callers[c.Actor.Name]
}

func (t *lastSeen) set(c Caller, change func(*sighting)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.callers == nil || len(t.callers) >= maxSeen {
		t.callers = map[string]sighting{}
	}
	last := t.callers[c.Actor.Name]
	change(&last)
	t.callers[c.Actor.Name] = last
}

// know notes that a caller has seen the plan of s.
func (t *lastSeen) know(c Caller, s plan.State) {
	t.set(c, func(last *sighting) {
		if !last.known {
			last.known, last.input = true, s.Revision
		}
		last.revision, last.plan = s.Revision, ""
		last.input, last.planEdits = min(last.input, s.Revision), min(last.planEdits, s.Revision) // the log may have been purged
		if s.Plan != nil {
			last.plan = s.Plan.Root()
		}
	})
}

// check refuses a caller, once, if its last plan was replaced, since its step ids mean other steps. read names the call
// that reads the plan.
func (t *lastSeen) check(c Caller, s plan.State, read string) error {
	if s.Plan == nil {
		return nil
	}
	last := t.get(c).plan
	if c.Of == s.Plan.ID || c.Of == "" && (last == "" || last == s.Plan.Root()) {
		return nil
	}
	t.know(c, s)
	return plan.Refuse(plan.Conflict, "", "the plan was replaced by "+plan.Quote(s.Plan.Objective)+", which has other steps",
		"read it before you continue: "+read)
}

// unread returns people's edits of the waiting draft, nil if the caller was shown them already.
func (t *lastSeen) unread(c Caller, s plan.State) *plan.Edits {
	if s.Draft == nil || s.Draft.Edits.String() == "" || !s.PhaseNow().IsRestricted() ||
		t.get(c).draftEdits == s.Draft.Edits.Revision {
		return nil
	}
	return s.Draft.Edits
}

// readEdits notes that a caller was shown people's edits of the draft.
func (t *lastSeen) readEdits(c Caller, s plan.State) {
	if edits := t.unread(c, s); edits != nil {
		t.set(c, func(last *sighting) { last.draftEdits = edits.Revision })
	}
}
