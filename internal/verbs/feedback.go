package verbs

import (
	"fmt"
	"slices"
	"time"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// Feedback is what a person said since the caller was last told. While planning mode
// gathers, all that was said for the planning is repeated until the next submission: an
// agent that begins anew has to know it.
type Feedback struct {
	Decision *DecisionFeedback `json:"decision,omitempty"`
	Edited   string            `json:"edited,omitempty"` // what people changed of the draft that waits, and of the current plan
	Answers  []AnswerFeedback  `json:"answers,omitempty"`
	Comments []CommentFeedback `json:"comments,omitempty"`
	More     int               `json:"more_comments,omitempty"`
	ReadAll  string            `json:"all_comments,omitempty"` // the call that shows whole what is left out or shortened here
	Reply    string            `json:"reply_with,omitempty"`   // the call that replies to the question in front
}

// DecisionFeedback is the last decision about a plan.
type DecisionFeedback struct {
	Outcome plan.Outcome `json:"outcome"`
	By      string       `json:"by"`
	Way     plan.Way     `json:"way,omitempty"`
	Comment string       `json:"comment,omitempty"`
	Change  bool         `json:"change,omitempty"` // it was about a change to the approved plan
	Edits   string       `json:"edits,omitempty"`  // by people, of what was submitted
}

// AnswerFeedback is the answer to a question.
type AnswerFeedback struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by"`
}

// CommentFeedback is a person's comment, on a step as it was then or on the whole.
type CommentFeedback struct {
	ID       string `json:"id,omitempty"`
	Text     string `json:"text"`
	By       string `json:"by"`
	TaskID   int    `json:"task_id,omitempty"`
	Title    string `json:"title,omitempty"`
	Question bool   `json:"question,omitempty"` // that nobody has replied to

	Standing Standing `json:"standing,omitempty"` // unless the step is as it was
	place    string
}

// feedbackShown bounds how many answers and comments a status repeats, gatheringShown
// while planning mode gathers.
const (
	feedbackShown  = 3
	gatheringShown = 10
)

// feedback collects what a person said after a revision; for a caller that was never told
// anything, also what was said before about the work at hand.
func feedback(state plan.State, remarks []Remark, told plan.Revision, never bool) Feedback {
	f, shown := said(state, told, never), feedbackShown
	for i := range f.Comments {
		f.Comments[i].standing(remarks)
	}
	if state.PhaseNow() == plan.PhaseGathering {
		shown = gatheringShown
	}
	f.Answers = f.Answers[max(0, len(f.Answers)-shown):]
	for len(f.Comments) > shown { // a question goes last, and the newest of them first
		i := slices.IndexFunc(f.Comments, func(c CommentFeedback) bool { return !c.Question })
		if i < 0 {
			i = len(f.Comments) - 1
		}
		f.Comments, f.More = slices.Delete(f.Comments, i, i+1), f.More+1
	}
	return f
}

func said(state plan.State, told plan.Revision, never bool) Feedback {
	var f Feedback
	gathers := state.PhaseNow() == plan.PhaseGathering
	about, decided := begins(state)
	comments := commentsNow(state)
	tells := func(at plan.Revision, when, from time.Time) bool {
		return at > told || at > 0 && !when.Before(from) && (never || gathers && !when.Before(state.ModeNow().Since))
	}
	if d := state.ModeNow().Decision; d != nil && !heeded(state, d) && (tells(d.Revision, d.At, decided) || turnedDown(state)) &&
		(state.PhaseNow() != plan.PhaseInactive || !d.At.Before(decided)) {
		f.Decision = &DecisionFeedback{Outcome: d.Outcome, By: d.By, Way: d.Way, Comment: d.Comment, Change: d.Change,
			Edits: d.Edits.String()}
	}
	if d := state.Draft; d != nil && d.Edits != nil && state.PhaseNow() == plan.PhaseSubmitted && (never || d.Edits.Revision > told) {
		f.Edited = editsText(d.Edits)
	}
	for _, q := range state.Questions {
		if tells(q.Revision, q.AnsweredAt, about) {
			f.Answers = append(f.Answers, AnswerFeedback{q.Text, q.Answer, q.Way.Decider(q.AnsweredBy)})
		}
	}
	for _, c := range state.Comments {
		from := about
		if comments.on(c) {
			from = c.At
		}
		if comments.has(c) && c.Waits() || !comments.left(c) && tells(c.Revision, c.At, from) && !c.Met && !c.Question {
			f.Comments = append(f.Comments, commentFeedback(c))
		}
	}
	return f
}

func commentFeedback(c plan.Comment) CommentFeedback {
	return CommentFeedback{ID: c.ID, Text: c.Text, By: c.Way.Decider(c.By), TaskID: int(c.Step), Title: c.Title, Question: c.Question}
}

// standing finds which step a comment is on now.
func (c *CommentFeedback) standing(remarks []Remark) {
	c.place = fmt.Sprintf("task %d", c.TaskID)
	for _, r := range remarks {
		if r.ID == "" || r.ID != c.ID || r.Step == 0 {
			continue
		}
		c.TaskID, c.place = int(r.Now), fmt.Sprintf("task %d", int(r.Now))
		if r.two {
			c.place += r.ofPlan()
		}
		if r.Standing != StandsOpen {
			c.Standing = r.Standing
		}
	}
}

// heeded reports whether what was returned for changes has been submitted again.
func heeded(state plan.State, d *plan.Decision) bool {
	return d.Outcome == plan.Returned && state.PhaseNow() == plan.PhaseSubmitted
}

// begins says from when on what was said is about the work at hand: answers and comments
// may have come before its plan was made or its planning began, so those count since the
// plan before, of which former drafts and versions of this one are none; a decision is about its own plan. Comments that
// name what they are on are told apart by that: see commentsAtHand.
func begins(state plan.State) (about, decided time.Time) {
	for _, head := range slices.Backward(state.Past) {
		if !head.GaveWay() {
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

func (f Feedback) lines() string {
	text := ""
	if f.Decision != nil {
		text += "\n" + f.Decision.text()
	}
	text += line(f.Edited)
	for _, a := range f.Answers {
		text += "\n" + a.line()
	}
	for _, c := range f.Comments {
		text += "\n" + c.line()
	}
	switch {
	case f.More > 0 && f.ReadAll != "":
		text += "\nand " + plan.Counted(f.More, "more comment") + ". All of them, whole: " + f.ReadAll
	case f.More > 0:
		text += "\nand " + plan.Counted(f.More, "more comment")
	case f.ReadAll != "":
		text += "\nWhat was said, whole: " + f.ReadAll
	}
	if f.Reply != "" {
		text += "\nReply: " + f.Reply
	}
	return text
}

func (a AnswerFeedback) line() string {
	return a.By + " answered " + plan.Quote(a.Question) + ": " + a.Answer
}

// line is a comment with who made it and on what: `pat asks (C4, task 2 "Use it"): why?`.
func (c CommentFeedback) line() string {
	return c.By + map[bool]string{true: " asks", false: " comments"}[c.Question] + c.about() + ": " + c.Text
}

// about is in brackets what a comment is called and what it is on; those of the first logs have no name.
func (c CommentFeedback) about() string {
	switch {
	case c.ID == "":
		return ""
	case c.Standing == StandsGone:
		return " (" + c.ID + ", on " + plan.Quote(c.Title) + ", which is gone)"
	case c.TaskID == 0:
		return " (" + c.ID + ")"
	case c.Standing == StandsChanged:
		return fmt.Sprintf(" (%s, %s %s, changed since)", c.ID, c.place, plan.Quote(c.Title))
	}
	return fmt.Sprintf(" (%s, %s %s)", c.ID, c.place, plan.Quote(c.Title))
}

// unreplied returns the id of the first question to agents that waits for a reply, "" for none.
func unreplied(state plan.State) string {
	comments := commentsNow(state)
	for _, c := range state.Comments {
		if c.Waits() && comments.has(c) {
			return c.ID
		}
	}
	return ""
}

func (d *DecisionFeedback) text() string {
	return decisionWords(&plan.Decision{Outcome: d.Outcome, By: d.By, Way: d.Way, Comment: d.Comment, Change: d.Change}, d.Edits)
}

// tells reports whether a caller hears of an approval here: who brought it was answered
// with the plan already.
func (d *DecisionFeedback) tells(c Caller) bool {
	return d != nil && d.Outcome == plan.Approved && (d.Way != plan.ByClient || d.By != c.Actor.Name)
}

// What a status has room for of what people said, in tokens: beside a task, and without.
const (
	feedbackRoom  = 320
	feedbackAlone = 640
)

// fit cuts what people said at the ends of lines, each text to its share of the room. It reports whether any was.
func (f *Feedback) fit(room int) (cut bool) {
	var texts []*string
	if f.Decision != nil {
		texts = append(texts, &f.Decision.Comment)
	}
	for i := range f.Answers {
		texts = append(texts, &f.Answers[i].Question, &f.Answers[i].Answer)
	}
	for i := range f.Comments {
		c := &f.Comments[i]
		c.Title = tokens.ShortenCautiously(c.Title, titleTokens, titleShown)
		texts = append(texts, &c.Text)
	}
	for i, text := range texts {
		share := room / (len(texts) - i)
		was := *text
		*text = tokens.Block(was, share)
		cut = cut || *text != was
		room -= min(share, tokens.CountCautiously(*text))
	}
	return cut
}
