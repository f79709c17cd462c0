package plan

import (
	"fmt"
	"slices"
	"time"
)

// Question is a question to a person.
type Question struct {
	ID         string    `json:"id"` // Q1, Q2 …
	Text       string    `json:"text"`
	By         string    `json:"by,omitempty"`
	Plan       string    `json:"plan,omitempty"` // root of the plan it was asked for; "" for a plan yet to come
	AskedAt    time.Time `json:"asked_at"`
	Answer     string    `json:"answer,omitempty"`
	AnsweredBy string    `json:"answered_by,omitempty"`
	Way        Way       `json:"way,omitempty"`
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	Revision   Revision  `json:"revision,omitempty"` // of the answer
}

// Bounds on the questions in the state; the log keeps all of them.
const (
	MaxOpenQuestions = 20
	maxQuestions     = 50
)

// OpenQuestions lists the unanswered questions, oldest first.
func (s State) OpenQuestions() []Question {
	return slices.DeleteFunc(slices.Clone(s.Questions), func(q Question) bool { return !q.AnsweredAt.IsZero() })
}

// CurrentQuestions lists the open questions about the current work. A question for a plan or
// planning mode that is gone is not listed but can still be answered.
func (s State) CurrentQuestions() []Question {
	ended := time.Time{}
	if d := s.ModeNow().Decision; d != nil && d.Outcome != Approved && d.Outcome != Returned {
		ended = d.At
	}
	return slices.DeleteFunc(s.OpenQuestions(), func(q Question) bool {
		if q.Plan == "" {
			return q.AskedAt.Before(ended)
		}
		return s.Plan == nil || s.Plan.IsCleared() || s.Plan.Root() != q.Plan
	})
}

// DecisionQuestions lists the unanswered questions of a decision about the draft: those that were asked, then those that the
// draft lists, with the ids they would get.
func (s State) DecisionQuestions() []Question {
	if s.Draft == nil {
		return nil
	}
	open := slices.DeleteFunc(s.CurrentQuestions(), func(q Question) bool { return q.Plan != "" && q.Plan != s.Draft.Root() })
	count, since := s.QuestionCount, s.ModeNow().Since
	for _, text := range s.Draft.Questions {
		if !slices.ContainsFunc(s.Questions, func(q Question) bool { return q.Text == text && !q.AskedAt.Before(since) }) {
			count++
			open = append(open, Question{ID: fmt.Sprintf("Q%d", count), Text: text, By: s.Draft.CreatedBy})
		}
	}
	return open
}

// AskUser asks to put a question to a person (chorus: ask_user).
type AskUser struct {
	Text string
}

func (a AskUser) clean(c *cleaner) Action {
	c.text(&a.Text, "question", Text{Max: MaxLongLine, Multiline: true}, true)
	return a
}

func (a AskUser) decide(s State, f Facts) ([]Event, error) {
	open := s.OpenQuestions()
	if slices.ContainsFunc(s.CurrentQuestions(), func(q Question) bool { return q.Text == a.Text }) { // asked already
		return nil, nil
	}
	if len(open) >= MaxOpenQuestions {
		return nil, conflict(fmt.Sprintf("%d questions are open already, which is the limit", len(open)), "wait for their answers")
	}
	asked := QuestionAsked{ID: fmt.Sprintf("Q%d", s.QuestionCount+1), Text: a.Text, By: f.Actor.Name, At: f.Now}
	if p := s.Plan; p != nil && !s.PhaseNow().IsRestricted() && (p.Status == StatusActive || p.Status == StatusReplanning) {
		asked.Plan = p.Root()
	}
	return []Event{asked}, nil
}

// QuestionAsked keeps a question until a person answers it.
type QuestionAsked struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	By   string    `json:"by"`
	Plan string    `json:"plan,omitempty"`
	At   time.Time `json:"at"`

	Listed bool `json:"listed,omitempty"` // the plan lists it; it was recorded with the decision
}

func (e QuestionAsked) apply(s State) State {
	s.QuestionCount++
	s.Questions = append(slices.Clone(s.Questions), Question{ID: e.ID, Text: e.Text, By: e.By, Plan: e.Plan, AskedAt: e.At})
	if len(s.Questions) > maxQuestions {
		if i := slices.IndexFunc(s.Questions, func(q Question) bool { return !q.AnsweredAt.IsZero() }); i >= 0 {
			s.Questions = slices.Delete(s.Questions, i, i+1)
		}
	}
	return s
}

// AnswerQuestion asks to record a person's answer.
type AnswerQuestion struct {
	ID     string // "" if only one is open
	Answer string
}

func (a AnswerQuestion) clean(c *cleaner) Action {
	c.text(&a.Answer, "answer", Text{Max: MaxLongText, Multiline: true}, true)
	return a
}

func (a AnswerQuestion) decide(s State, f Facts) ([]Event, error) {
	open := s.OpenQuestions()
	if len(open) == 0 {
		return nil, conflict("no question is open", "there is nothing to answer")
	}
	if a.ID == "" && len(open) == 1 {
		a.ID = open[0].ID
	}
	for _, q := range open {
		if q.ID == a.ID {
			return []Event{QuestionAnswered{ID: a.ID, Answer: a.Answer, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now}}, nil
		}
	}
	if a.ID == "" {
		return nil, conflict(fmt.Sprintf("%d questions are open", len(open)), "name one, such as "+open[0].ID)
	}
	return nil, Refuse(NotFound, "/id", "no open question is "+Quote(a.ID), "answer one that is open, such as "+open[0].ID)
}

// QuestionAnswered records the answer to a question.
type QuestionAnswered struct {
	ID     string    `json:"id"`
	Answer string    `json:"answer"`
	By     string    `json:"by"`
	Way    Way       `json:"way"`
	At     time.Time `json:"at"`
}

func (e QuestionAnswered) apply(s State) State {
	s.Questions = slices.Clone(s.Questions)
	for i := range s.Questions {
		if q := &s.Questions[i]; q.ID == e.ID {
			q.Answer, q.AnsweredBy, q.Way, q.AnsweredAt, q.Revision = e.Answer, e.By, e.Way, e.At, s.Revision+1
		}
	}
	return s
}
