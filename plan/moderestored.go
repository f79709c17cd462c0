package plan

// ModeRestored brings planning mode, questions and comments back as they were, after
// a log was repaired.
type ModeRestored struct {
	Phase     Phase      `json:"phase"`
	Mode      *Mode      `json:"mode,omitempty"`
	Questions []Question `json:"questions,omitempty"`
	Asked     int        `json:"asked,omitempty"`
	Comments  []Comment  `json:"comments,omitempty"`
}

// Kind is the event's word in the log.
func (ModeRestored) Kind() string { return "mode_restored" }

func (e ModeRestored) apply(s State) State {
	s.Phase, s.Mode, s.Questions, s.Asked, s.Comments = e.Phase, e.Mode, e.Questions, e.Asked, e.Comments
	return s
}
