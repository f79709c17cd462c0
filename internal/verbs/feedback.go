package verbs

import (
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Feedback holds the decisions, answers and comments about the current work.
type Feedback struct {
	Decision *DecisionFeedback `json:"decision,omitempty"`
	Edited   string            `json:"edited,omitempty"` // people's changes to the waiting draft and to the current plan
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
	Edits   string       `json:"edits,omitempty"`  // people's changes to the submission

	Unanswered []string `json:"unanswered,omitempty"` // ids of the questions that the approval left open

	decision *plan.Decision
}

// AnswerFeedback is the answer to a question.
type AnswerFeedback struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by"`
}

// CommentFeedback is a person's comment on a step with its title as it was then, or on the whole plan.
type CommentFeedback struct {
	ID       string `json:"id,omitempty"`
	Text     string `json:"text"`
	By       string `json:"by"`
	TaskID   int    `json:"task_id,omitempty"`
	Title    string `json:"title,omitempty"`
	Question bool   `json:"question,omitempty"` // without a reply so far

	State  CommentState `json:"standing,omitempty"` // empty if the step is unchanged
	placed PlacedComment
}

// collectFeedback collects people's input that is about the current work, or newer than told. remarks are the open comments.
func collectFeedback(state plan.State, remarks []PlacedComment, told plan.Revision) Feedback {
	var f Feedback
	about, decided := feedbackStart(state)
	applies := func(at plan.Revision, when, from time.Time) bool { return at > told || at > 0 && !when.Before(from) }
	mode := state.ModeNow()
	if d := mode.Decision; d != nil && (d.Outcome != plan.Returned || mode.Request == nil) && // not submitted again
		(applies(d.Revision, d.At, decided) || isRejected(state)) && (state.PhaseNow() != plan.PhaseInactive || !d.At.Before(decided)) {
		f.Decision = &DecisionFeedback{Outcome: d.Outcome, By: d.By, Way: d.Way, Comment: d.Comment, Change: d.Change,
			Edits: d.Edits.String(), Unanswered: d.Unanswered, decision: d}
	}
	if d := state.Draft; d != nil && d.Edits != nil && mode.Request != nil {
		f.Edited = editsText(d.Edits)
	}
	for _, q := range state.Questions {
		if applies(q.Revision, q.AnsweredAt, about) {
			f.Answers = append(f.Answers, AnswerFeedback{q.Text, q.Answer, q.Way.Decider(q.AnsweredBy)})
		}
	}
	for _, r := range remarks {
		if r.IsQuestion && !r.IsOpenQuestion() {
			continue
		}
		comment := CommentFeedback{ID: r.ID, Text: r.Text, By: r.Way.Decider(r.By), TaskID: int(r.Now), Title: r.Title,
			Question: r.IsQuestion, placed: r}
		if r.State != CommentOpen {
			comment.State = r.State
		}
		f.Comments = append(f.Comments, comment)
	}
	return f
}

// decidedEarlier lists people's comments with decisions that still apply, except that of f.Decision.
func (f Feedback) decidedEarlier(state plan.State) []string {
	var comments []string
	if state.Plan != nil {
		comments = state.Plan.Approval.Comments()
	}
	comments = slices.Concat(comments, state.ModeNow().Requested)
	d, last := f.Decision, len(comments)-1
	if d != nil && d.Comment != "" && last >= 0 && strings.HasSuffix(comments[last], ": "+d.Comment) {
		return comments[:last]
	}
	return comments
}

// feedbackStart returns the times from which input is about the current work. Answers and comments may precede the plan or its
// planning, so they count since the plan before, not counting former drafts and versions of this one; a decision counts
// for its own plan only. Comments that name their plan are matched by that: see currentComments.
func feedbackStart(state plan.State) (about, decided time.Time) {
	for _, head := range slices.Backward(state.Past) {
		if !head.WasSuperseded() {
			about = head.CreatedAt
			break
		}
	}
	switch {
	case state.PhaseNow() != plan.PhaseInactive:
		decided = state.ModeNow().Since
	case state.Plan != nil:
		decided = state.Plan.CreatedAt
	}
	return about, decided
}

func (a AnswerFeedback) line() string {
	return a.By + " answered " + plan.Quote(a.Question) + ": " + a.Answer
}

// unreplied lists the questions to agents on the current plan without a reply.
func unreplied(state plan.State) (questions []plan.Comment) {
	comments := commentsNow(state)
	for _, c := range state.Comments {
		if c.IsOpenQuestion() && comments.has(c) {
			questions = append(questions, c)
		}
	}
	return questions
}

// firstUnreplied returns the id of the first of these questions, or "".
func firstUnreplied(state plan.State) string {
	if questions := unreplied(state); len(questions) > 0 {
		return questions[0].ID
	}
	return ""
}

// PlanningContext is the context a planning agent always needs: the subject of planning mode while it gathers, and the open
// questions to people.
type PlanningContext struct {
	Mode      *ModeSubject   `json:"mode,omitempty"`
	Questions []OpenQuestion `json:"open_questions,omitempty"`
}

// ModeSubject is the subject of planning mode.
type ModeSubject struct {
	Task   string `json:"task,omitempty"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by"` // name of the actor that entered it
}

type OpenQuestion struct {
	ID       string `json:"id"`
	Question string `json:"question"`
}

func planningContext(state plan.State) PlanningContext {
	var u PlanningContext
	if mode := state.ModeNow(); state.PhaseNow() == plan.PhaseGathering {
		u.Mode = &ModeSubject{Task: mode.Task, Reason: mode.Reason, By: mode.By}
	}
	for _, q := range state.CurrentQuestions() {
		u.Questions = append(u.Questions, OpenQuestion{q.ID, q.Text})
	}
	return u
}
