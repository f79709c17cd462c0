package verbs

import (
	"sync"

	"github.com/planloop/planloop/plan"
)

// asked remembers which requests were put before a person from this process.
type asked struct {
	mu       sync.Mutex
	requests map[string]bool
}

// first notes a request, and reports whether it is new here.
func (a *asked) first(request string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requests[request] {
		return false
	}
	if a.requests == nil || len(a.requests) >= maxSeen {
		a.requests = map[string]bool{}
	}
	a.requests[request] = true
	return true
}

// askOnceMore returns what a person is to be asked because whoever asked is gone: a
// plan was submitted, and its server or host was restarted since (chorus: Bot restart
// during planning). The notice is given again too.
func (s *Service) askOnceMore(state plan.State, c Caller) *Ask {
	request := state.ModeNow().Request
	if !c.brief() || state.PhaseNow() != plan.PhaseSubmitted || request == nil || !s.abandoned(request.By, c) || !s.asked.first(request.ID) {
		return nil
	}
	s.notify(waits(state.Draft))
	if s.opts.Limits.PersonOnly {
		return nil
	}
	return &Ask{Request: request.ID, Digest: request.Digest, Message: Shown(state.Draft, nil)}
}

// abandoned reports whether an actor is the caller or gone, so that nobody else
// waits for the answer to what it asked.
func (s *Service) abandoned(who string, c Caller) bool {
	return who == c.Actor.Name || s.opts.Presence != nil && s.opts.Presence.Seen(who).Gone
}

// waits is the notice that a plan waits.
func waits(draft *plan.Plan) Notice {
	return Notice{Event: "plan_waits", PlanID: draft.ID, Title: firstLine(draft), Text: draft.ContextNotes, Steps: noticeSteps(draft), Questions: draft.Questions}
}
