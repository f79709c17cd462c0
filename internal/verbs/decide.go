package verbs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/planloop/planloop/plan"
)

// Decision is what a person decides about the draft, by which way it came is told
// by the face. It is no tool: no model reaches it.
type Decision struct {
	Outcome plan.Outcome // approved, rejected or returned
	Request string       // the request that was shown; may be empty on a terminal
	Digest  string       // of what was shown
	Comment string
}

// DecisionReply says what was decided.
type DecisionReply struct {
	Outcome plan.Outcome `json:"outcome"`
	PlanID  string       `json:"plan_id"`
	Phase   plan.Phase   `json:"phase"`
	Message string       `json:"message"`
	Heartbeat
}

// Decide keeps a person's decision about the draft.
func (s *Service) Decide(ctx context.Context, c Caller, d Decision) (DecisionReply, error) {
	comment, err := plan.Text{Field: "/comment", Max: plan.MaxLongText, Multiline: true}.Clean(d.Comment)
	if err != nil {
		return DecisionReply{}, err
	}
	answer := plan.Answer{Request: d.Request, Digest: d.Digest, Comment: comment}
	action, known := map[plan.Outcome]plan.Action{
		plan.Approved: plan.Approve{Answer: answer},
		plan.Rejected: plan.Reject{Answer: answer},
		plan.Returned: plan.Return{Answer: answer},
	}[d.Outcome]
	if !known {
		return DecisionReply{}, plan.Refuse(plan.InvalidInput, "", plan.Quote(string(d.Outcome))+" is not a decision",
			"use approved, rejected or returned")
	}
	outcome, err := s.do(ctx, c, action)
	if err != nil {
		return DecisionReply{}, err
	}
	reply := DecisionReply{Outcome: d.Outcome, Phase: outcome.After.PhaseNow(), Heartbeat: s.heartbeat(outcome.After, c)}
	if outcome.Before.Draft != nil {
		reply.PlanID = outcome.Before.Draft.ID
	}
	reply.Message = decisionMessage(outcome.After.ModeNow().Decision)
	return reply, nil
}

// LeaveUndecided notes that a client asked its user and brought no decision.
func (s *Service) LeaveUndecided(ctx context.Context, c Caller, request, how string) error {
	_, err := s.do(ctx, c, plan.LeaveUndecided{Request: request, How: how})
	return err
}

func decisionMessage(d *plan.Decision) string {
	if d == nil {
		return ""
	}
	by := d.By
	if d.Way == plan.ByClient {
		by = "the user of " + d.By + ", through the client"
	}
	what := "The plan"
	if d.Change {
		what = "The change to the approved plan"
	}
	text := map[plan.Outcome]string{
		plan.Approved:  what + " was approved by " + by,
		plan.Rejected:  what + " was rejected by " + by,
		plan.Returned:  what + " was returned by " + by + " to be edited and submitted again",
		plan.CalledOff: "Planning mode was cancelled by " + by,
		plan.Expired:   "Planning mode has expired",
		plan.Ended:     "Planning mode has ended",
	}[d.Outcome]
	if d.Change && d.Outcome == plan.Rejected {
		text += ", and the plan goes on as it was"
	}
	if d.Comment != "" {
		return text + ": " + d.Comment
	}
	return text + "."
}

// decided is the last decision as a sentence behind another.
func decided(d *plan.Decision) string {
	if d == nil {
		return ""
	}
	return " " + decisionMessage(d)
}

// Text is the reply in a line or two.
func (r DecisionReply) Text() string { return r.Message + "\nNext: " + r.NextAction }

// Draft returns the draft that waits, and the one that was shown before it, if any.
func (s *Service) Draft(ctx context.Context) (state plan.State, former *plan.Plan, err error) {
	state, err = s.State(ctx)
	if err != nil || state.Draft == nil {
		return state, nil, err
	}
	if state.Plan != nil && state.Plan.ID == state.Draft.ID {
		return state, state.Plan, nil
	}
	if head, ok := state.ShownBefore(); ok {
		if former, err = s.session.PlanBody(ctx, head.ID); err != nil {
			return state, nil, fmt.Errorf("look for what was shown before: %w", err)
		}
	}
	return state, former, nil
}

// Feedback is what a person said since the caller was last told.
type Feedback struct {
	Decision *DecisionFeedback `json:"decision,omitempty"`
	Answers  []AnswerFeedback  `json:"answers,omitempty"`
	Comments []CommentFeedback `json:"comments,omitempty"`
}

// DecisionFeedback is the last decision about a plan.
type DecisionFeedback struct {
	Outcome plan.Outcome `json:"outcome"`
	By      string       `json:"by"`
	Way     plan.Way     `json:"way,omitempty"`
	Comment string       `json:"comment,omitempty"`
	Change  bool         `json:"change,omitempty"` // it was about a change to the approved plan
}

// AnswerFeedback is the answer to a question.
type AnswerFeedback struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by"`
}

// CommentFeedback is a person's comment.
type CommentFeedback struct {
	Text string `json:"text"`
	By   string `json:"by"`
}

// feedbackShown bounds how many answers and comments a status repeats.
const feedbackShown = 3

// feedback collects what a person said after a revision; for a caller that is new, what
// was said about the plan at hand. While planning goes on, the last decision is
// repeated: an agent that starts anew has to know it.
func feedback(state plan.State, since plan.Revision, known bool) Feedback {
	var s Feedback
	mode := state.ModeNow()
	if !known {
		state, mode = recent(state)
	}
	if d := mode.Decision; d != nil && d.Outcome == plan.Returned && state.PhaseNow() == plan.PhaseSubmitted {
		mode.Decision = nil // it was heeded
	}
	if d := mode.Decision; d != nil && (d.Revision > since || d.Outcome == plan.Returned && state.PhaseNow() == plan.PhaseGathering) {
		s.Decision = &DecisionFeedback{Outcome: d.Outcome, By: d.By, Way: d.Way, Comment: d.Comment, Change: d.Change}
	}
	for _, q := range state.Questions {
		if q.Revision > since {
			s.Answers = append(s.Answers, AnswerFeedback{q.Text, q.Answer, q.AnsweredBy})
		}
	}
	for _, c := range state.Comments {
		if c.Revision > since {
			s.Comments = append(s.Comments, CommentFeedback{c.Text, c.By})
		}
	}
	s.Answers = s.Answers[max(0, len(s.Answers)-feedbackShown):]
	s.Comments = s.Comments[max(0, len(s.Comments)-feedbackShown):]
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

func (s Feedback) lines() string {
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
