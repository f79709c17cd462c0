package verbs

// Notice tells a person that something waits, or was begun.
type Notice struct {
	Event  string // plan_waits, question_waits or mode_entered
	PlanID string
	Title  string
	Text   string
	Steps  []string // risk, a tab, the title
}

func (s *Service) notify(n Notice) {
	if s.opts.Notify != nil {
		s.opts.Notify(n)
	}
}
