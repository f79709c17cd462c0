package verbs

import (
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/plan"
)

// Notice tells a person that something waits, or was begun.
type Notice struct {
	Event  string // plan_waits, question_waits or mode_entered
	PlanID string
	Title  string
	Text   string
	Steps  []NoticeStep

	Questions []string // that the plan leaves open
}

// NoticeStep is a step as a notice shows it.
type NoticeStep struct {
	ID, Title string
	Risk      plan.Risk
}

func (s *Service) notify(n Notice) {
	if s.opts.Notify != nil {
		s.opts.Notify(n)
	}
}

// notifyExpiry tells that planning mode was found to be over, when that was recorded.
func (s *Service) notifyExpiry(outcome session.Outcome) {
	for _, e := range outcome.Events {
		if expired, ok := e.(plan.ModeExpired); ok {
			s.notify(Notice{Event: "mode_expired", Title: "Planning mode has expired", Text: string(expired.Phase) + " for " + expired.Limit})
		}
	}
}
