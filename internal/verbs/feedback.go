package verbs

import (
	"time"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// Feedback is what a person said since the caller was last told. While planning mode
// gathers, all that was said for the planning is repeated until the next submission: an
// agent that begins anew has to know it.
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

// feedbackShown bounds how many answers and comments a status repeats, gatheringShown
// while planning mode gathers.
const (
	feedbackShown  = 3
	gatheringShown = 10
)

// feedback collects what a person said after a revision; for a caller that was never told
// anything, also what was said before about the work at hand.
func feedback(state plan.State, told plan.Revision, never bool) Feedback {
	f, shown := said(state, told, never), feedbackShown
	if state.PhaseNow() == plan.PhaseGathering {
		shown = gatheringShown
	}
	f.Answers = f.Answers[max(0, len(f.Answers)-shown):]
	f.Comments = f.Comments[max(0, len(f.Comments)-shown):]
	return f
}

func said(state plan.State, told plan.Revision, never bool) Feedback {
	var f Feedback
	gathers := state.PhaseNow() == plan.PhaseGathering
	about, decided := begins(state)
	tells := func(at plan.Revision, when, from time.Time) bool {
		return at > told || at > 0 && !when.Before(from) && (never || gathers && !when.Before(state.ModeNow().Since))
	}
	if d := state.ModeNow().Decision; d != nil && !heeded(state, d) && (tells(d.Revision, d.At, decided) || turnedDown(state)) &&
		(state.PhaseNow() != plan.PhaseInactive || !d.At.Before(decided)) {
		f.Decision = &DecisionFeedback{Outcome: d.Outcome, By: d.By, Way: d.Way, Comment: d.Comment, Change: d.Change}
	}
	for _, q := range state.Questions {
		if tells(q.Revision, q.AnsweredAt, about) {
			f.Answers = append(f.Answers, AnswerFeedback{q.Text, q.Answer, q.Way.Decider(q.AnsweredBy)})
		}
	}
	for _, c := range state.Comments {
		if tells(c.Revision, c.At, about) {
			f.Comments = append(f.Comments, CommentFeedback{c.Text, c.By})
		}
	}
	return f
}

// heeded reports whether what was returned for changes has been submitted again.
func heeded(state plan.State, d *plan.Decision) bool {
	return d.Outcome == plan.Returned && state.PhaseNow() == plan.PhaseSubmitted
}

// begins says from when on what was said is about the work at hand: answers and comments
// may have come before its plan was made or its planning began, so those count since the
// plan before; a decision is about its own plan.
func begins(state plan.State) (about, decided time.Time) {
	if n := len(state.Past); n > 0 {
		about = state.Past[n-1].CreatedAt
	}
	switch {
	case state.PhaseNow() != plan.PhaseInactive:
		decided = state.ModeNow().Since
	case state.Plan != nil:
		decided = state.Plan.CreatedAt
	}
	return about, decided
}

func (f Feedback) lines() string {
	text := ""
	if f.Decision != nil {
		text += "\n" + f.Decision.text()
	}
	for _, a := range f.Answers {
		text += "\n" + a.By + " answered " + plan.Quote(a.Question) + ": " + a.Answer
	}
	for _, c := range f.Comments {
		text += "\n" + c.By + " comments: " + c.Text
	}
	return text
}

func (d *DecisionFeedback) text() string {
	return decisionMessage(&plan.Decision{Outcome: d.Outcome, By: d.By, Way: d.Way, Comment: d.Comment, Change: d.Change})
}

// tells reports whether a caller hears of an approval here: who brought it was answered
// with the plan already.
func (d *DecisionFeedback) tells(c Caller) bool {
	return d != nil && d.Outcome == plan.Approved && (d.Way != plan.ByClient || d.By != c.Actor.Name)
}

// What a status has room for of what people said, in tokens: beside a task, and without.
const (
	feedbackRoom  = 320
	feedbackAlone = 870
)

// fit cuts what people said at the ends of lines, each text to its share of the room.
func (f *Feedback) fit(room int) {
	var texts []*string
	if f.Decision != nil {
		texts = append(texts, &f.Decision.Comment)
	}
	for i := range f.Answers {
		texts = append(texts, &f.Answers[i].Question, &f.Answers[i].Answer)
	}
	for i := range f.Comments {
		texts = append(texts, &f.Comments[i].Text)
	}
	for i, text := range texts {
		share := room / (len(texts) - i)
		*text = tokens.Block(*text, share)
		room -= min(share, tokens.CountCautiously(*text))
	}
}
