package verbs

import (
	"slices"
	"time"

	"github.com/planloop/planloop/plan"
)

// Said is what a person said since the caller was last told.
type Said struct {
	Decision *SaidDecision `json:"decision,omitempty"`
	Answers  []SaidAnswer  `json:"answers,omitempty"`
	Comments []SaidComment `json:"comments,omitempty"`
}

// SaidDecision is the last decision about a plan.
type SaidDecision struct {
	Outcome plan.Outcome `json:"outcome"`
	By      string       `json:"by"`
	Way     plan.Way     `json:"way,omitempty"`
	Comment string       `json:"comment,omitempty"`
	Change  bool         `json:"change,omitempty"` // it was about a change to the approved plan
}

// SaidAnswer is the answer to a question.
type SaidAnswer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by"`
}

// SaidComment is a person's comment.
type SaidComment struct {
	Text string `json:"text"`
	By   string `json:"by"`
}

// saidShown bounds how many answers and comments a status repeats.
const saidShown = 3

// said collects what a person said after a revision; for a caller that is new, what
// was said about the plan at hand. While planning goes on, the last decision is
// repeated: an agent that starts anew has to know it.
func said(state plan.State, since plan.Revision, known bool) Said {
	var s Said
	mode := state.ModeNow()
	if !known {
		state, mode = recent(state)
	}
	if d := mode.Decision; d != nil && d.Outcome == plan.Returned && state.PhaseNow() == plan.PhaseSubmitted {
		mode.Decision = nil // it was heeded
	}
	if d := mode.Decision; d != nil && (d.Revision > since || d.Outcome == plan.Returned && state.PhaseNow() == plan.PhaseGathering) {
		s.Decision = &SaidDecision{Outcome: d.Outcome, By: d.By, Way: d.Way, Comment: d.Comment, Change: d.Change}
	}
	for _, q := range state.Questions {
		if q.Revision > since {
			s.Answers = append(s.Answers, SaidAnswer{q.Text, q.Answer, q.AnsweredBy})
		}
	}
	for _, c := range state.Comments {
		if c.Revision > since {
			s.Comments = append(s.Comments, SaidComment{c.Text, c.By})
		}
	}
	s.Answers = s.Answers[max(0, len(s.Answers)-saidShown):]
	s.Comments = s.Comments[max(0, len(s.Comments)-saidShown):]
	return s
}

// recent returns a state without what was said before the plan at hand was made, and
// before planning for the next began.
func recent(state plan.State) (plan.State, plan.Mode) {
	from, mode := time.Time{}, state.ModeNow()
	if state.Plan != nil {
		from = state.Plan.CreatedAt
	}
	if state.PhaseNow() != plan.PhaseInactive {
		from = mode.Since
	}
	if mode.Decision != nil && mode.Decision.At.Before(from) {
		mode.Decision = nil
	}
	state.Questions = slices.DeleteFunc(slices.Clone(state.Questions), func(q plan.Question) bool { return q.AnsweredAt.Before(from) })
	state.Comments = slices.DeleteFunc(slices.Clone(state.Comments), func(c plan.Comment) bool { return c.At.Before(from) })
	return state, mode
}

func (s Said) lines() string {
	text := ""
	if d := s.Decision; d != nil {
		text += "\n" + decisionMessage(&plan.Decision{Outcome: d.Outcome, By: d.By, Way: d.Way, Comment: d.Comment, Change: d.Change})
	}
	for _, a := range s.Answers {
		text += "\n" + a.By + " answered " + plan.Quote(a.Question) + ": " + a.Answer
	}
	for _, c := range s.Comments {
		text += "\n" + c.By + " comments: " + c.Text
	}
	return text
}
