package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// AskUser is the input of AskUser (chorus: ask_user).
type AskUser struct {
	Question string `json:"question"`
}

// AskUserReply says what became of the question.
type AskUserReply struct {
	QuestionID string `json:"question_id"`
	Answer     string `json:"answer,omitempty"`
	Message    string `json:"message"`
	Heartbeat

	ask *Ask
}

// Ask returns what a person is to be asked through the host, nil when nothing.
func (r AskUserReply) Ask() *Ask { return r.ask }

// AskUser puts a question to a person. The answer comes by the host's dialogue or
// with a later status.
func (s *Service) AskUser(ctx context.Context, c Caller, in AskUser) (AskUserReply, error) {
	text, err := plan.Text{Field: "/question", Max: plan.MaxLongLine, Multiline: true}.Required(in.Question)
	if err != nil {
		return AskUserReply{}, err
	}
	outcome, err := s.do(ctx, c, plan.AskUser{Text: text})
	if err != nil {
		return AskUserReply{}, err
	}
	reply := AskUserReply{Heartbeat: s.heartbeat(outcome.After, c)}
	for _, q := range outcome.After.OpenQuestions() {
		if q.Text == text {
			reply.QuestionID = q.ID
		}
	}
	reply.Message = "Question " + reply.QuestionID + " is open. The user can answer with `" + c.word(Call{Act: ActAnswer}) +
		"`; the answer comes with " + c.word(Call{Act: ActAskStatus}) + "."
	reply.ask = &Ask{Question: reply.QuestionID, Message: text}
	if outcome.Before.Revision != outcome.After.Revision {
		s.notify(Notice{Event: "question_waits", Title: "An agent asks", Text: text})
	}
	return reply, nil
}

// Answer keeps a person's answer to a question; id may be empty when one is open.
func (s *Service) Answer(ctx context.Context, c Caller, id, text string) (AskUserReply, error) {
	clean, err := plan.Text{Field: "/answer", Max: plan.MaxLongText, Multiline: true}.Required(text)
	if err != nil {
		return AskUserReply{}, err
	}
	outcome, err := s.do(ctx, c, plan.AnswerQuestion{ID: id, Answer: clean})
	if err != nil {
		return AskUserReply{}, err
	}
	for _, q := range outcome.After.Questions {
		if q.Revision == outcome.After.Revision {
			id = q.ID
		}
	}
	return AskUserReply{QuestionID: id, Answer: clean, Message: "Question " + id + " is answered: " + clean, Heartbeat: s.heartbeat(outcome.After, c)}, nil
}

// Comment passes a person's words on with the next status.
func (s *Service) Comment(ctx context.Context, c Caller, text string) (ModeReply, error) {
	clean, err := plan.Text{Field: "/comment", Max: plan.MaxLongText, Multiline: true}.Required(text)
	if err != nil {
		return ModeReply{}, err
	}
	outcome, err := s.do(ctx, c, plan.CommentOn{Text: clean})
	if err != nil {
		return ModeReply{}, err
	}
	return ModeReply{Phase: outcome.After.PhaseNow(), Message: "The comment goes to the agent with its next status.", Heartbeat: s.heartbeat(outcome.After, c)}, nil
}

// Text is the reply in a line or two.
func (r AskUserReply) Text() string { return r.Message + "\nNext: " + r.NextAction }
