package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Comment is a person's remark to the agents working on the plan, about the whole plan or one step.
type Comment struct {
	ID       string    `json:"id,omitempty"` // C1, C2 …; empty in the oldest logs
	Text     string    `json:"text"`
	By       string    `json:"by"`
	Way      Way       `json:"way,omitempty"`
	At       time.Time `json:"at"`
	Revision Revision  `json:"revision"`
	About
	IsQuestion bool          `json:"question,omitempty"` // expects a reply and changes nothing
	Reply      *CommentReply `json:"reply,omitempty"`
	IsResolved bool          `json:"met,omitempty"` // a person marked it as met
}

// About is the subject of a comment as it was then: the step's number, title and text may have
// changed since.
type About struct {
	PlanID     string `json:"of,omitempty"`     // id of the plan or draft; "" if there was none yet, or for a plan yet to come
	Step       StepID `json:"step_id,omitzero"` // 0: the whole plan
	Title      string `json:"title,omitempty"`  // of the step
	StepDigest string `json:"shown,omitempty"`  // digest of the step
}

// CommentReply is an agent's reply to a comment.
type CommentReply struct {
	Text     string    `json:"text"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Revision Revision  `json:"revision"`
}

// IsOpenQuestion reports whether a comment is a question to the agent that is still open.
func (c Comment) IsOpenQuestion() bool { return c.IsQuestion && c.Reply == nil && !c.IsResolved }

// Bounds on the comments in the state; the log keeps all of them.
const (
	maxComments      = 200
	maxFirstComments = 50 // without an id
)

// CommentsOn lists the comments on a plan in all its forms, and those made for it before there was
// a draft.
func (s State) CommentsOn(p *Plan) []Comment {
	forms := s.PlanForms(p)
	begun, before := p.CreatedAt, time.Time{} // creation of its first form, and of the plan before that
	heads := slices.Clip(s.Past)
	if s.Plan != nil {
		heads = append(heads, PastPlan{ID: s.Plan.ID, CreatedAt: s.Plan.CreatedAt})
	}
	for _, head := range heads {
		if slices.Contains(forms, head.ID) && head.CreatedAt.Before(begun) {
			begun = head.CreatedAt
		}
	}
	for _, head := range heads {
		if at := head.CreatedAt; !slices.Contains(forms, head.ID) && at.Before(begun) && at.After(before) {
			before = at
		}
	}
	return slices.DeleteFunc(slices.Clone(s.Comments), func(c Comment) bool {
		if c.PlanID == "" {
			return c.At.After(begun) || c.At.Before(before)
		}
		return !slices.Contains(forms, c.PlanID)
	})
}

// comment returns the comment with that id. field is the input field that holds the id.
func (s State) comment(id, field string) (Comment, error) {
	var ids []string
	for _, c := range s.Comments {
		if c.ID != "" && c.ID == id {
			return c, nil
		}
		if c.ID != "" && !c.IsResolved {
			ids = append(ids, c.ID)
		}
	}
	fix := "no comment is open"
	if n := len(ids); n > 0 {
		fix = "name one, such as " + ids[n-1]
	}
	return Comment{}, Refuse(NotFound, field, "comment "+Quote(id)+" does not exist", fix)
}

// withComment returns s with a comment changed by f.
func (s State) withComment(id string, f func(*Comment)) State {
	s.Comments = slices.Clone(s.Comments)
	for i := range s.Comments {
		if c := &s.Comments[i]; c.ID != "" && c.ID == id {
			f(c)
		}
	}
	return s
}

// AddComment asks to pass a person's comment to the agents working on the plan (chorus: Thread
// interaction).
type AddComment struct {
	Text       string
	PlanID     string // id of the plan or draft the person looks at; "" for the draft, else the plan unless it is over
	Step       StepID // 0 for the whole
	IsQuestion bool   // asks the agent something and changes nothing
}

func (a AddComment) clean(c *cleaner) Action {
	c.text(&a.Text, "comment", Text{Max: MaxLongText, Multiline: true}, true)
	return a
}

func (a AddComment) decide(s State, f Facts) ([]Event, error) {
	about, err := a.about(s)
	if err != nil {
		return nil, err
	}
	return []Event{CommentAdded{ID: fmt.Sprintf("C%d", s.CommentCount+1), Text: a.Text, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now,
		About: about, IsQuestion: a.IsQuestion}}, nil
}

// CommentablePlans lists the plans that can be commented on: a draft, then the current plan. A draft
// adopted from a host comes last, since no agent waits for its outcome.
func (s State) CommentablePlans() []*Plan {
	plans := []*Plan{s.Draft, s.Plan}
	if s.Draft != nil && s.Draft.HostList != nil {
		slices.Reverse(plans)
	}
	return slices.DeleteFunc(plans, func(p *Plan) bool { return p == nil })
}

// about finds the subject of the comment.
func (a AddComment) about(s State) (About, error) {
	plans := s.CommentablePlans()
	plans = slices.DeleteFunc(plans, func(p *Plan) bool { return a.PlanID != "" && p.ID != a.PlanID })
	switch {
	case len(plans) == 0 && a.PlanID != "":
		return About{}, conflict("the plan "+Quote(a.PlanID)+" is neither current nor waiting", "check the current plan")
	case a.Step == 0 && (len(plans) == 0 || a.PlanID == "" && s.Draft == nil && (s.PhaseNow() == PhaseGathering || s.Plan.IsOver())):
		return About{}, nil // on a plan yet to come
	case len(plans) == 0:
		_, err := currentPlan(s)
		return About{}, err
	case a.Step == 0:
		return About{PlanID: plans[0].ID}, nil
	}
	for _, p := range plans {
		if step, ok := p.Steps.Get(a.Step); ok {
			return About{PlanID: p.ID, Step: step.ID, Title: step.Title, StepDigest: StepDigest(step)}, nil
		}
	}
	_, err := findStep(plans[0], a.Step, "/step_id")
	return About{}, err
}

// CommentAdded records a person's comment.
type CommentAdded struct {
	ID   string    `json:"id,omitempty"`
	Text string    `json:"text"`
	By   string    `json:"by"`
	Way  Way       `json:"way,omitempty"`
	At   time.Time `json:"at"`
	About
	IsQuestion bool `json:"question,omitempty"`
}

func (e CommentAdded) apply(s State) State {
	s.Comments = append(slices.Clone(s.Comments), Comment{ID: e.ID, Text: e.Text, By: e.By, Way: e.Way, At: e.At,
		Revision: s.Revision + 1, About: e.About, IsQuestion: e.IsQuestion})
	limit := maxFirstComments
	if e.ID != "" {
		s.CommentCount, limit = s.CommentCount+1, maxComments
	}
	if len(s.Comments) > limit { // open questions are dropped last
		i := slices.IndexFunc(s.Comments, func(c Comment) bool { return !c.IsOpenQuestion() })
		s.Comments = slices.Delete(s.Comments, max(0, i), max(0, i)+1)
	}
	return s
}

// ReplyToComment asks to record an agent's reply to a comment.
type ReplyToComment struct {
	Comment string // its id
	Text    string
}

func (a ReplyToComment) clean(c *cleaner) Action {
	a.Comment = commentID(a.Comment)
	c.text(&a.Text, "question", Text{Max: MaxLongText, Multiline: true}, true)
	return a
}

func (a ReplyToComment) decide(s State, f Facts) ([]Event, error) {
	comment, err := s.comment(a.Comment, "/reply_to")
	if err != nil || comment.Reply != nil && comment.Reply.Text == a.Text {
		return nil, err
	}
	return []Event{CommentReplied{ID: a.Comment, Text: a.Text, By: f.Actor.Name, At: f.Now}}, nil
}

func commentID(text string) string { return strings.ToUpper(strings.TrimSpace(text)) }

// CommentReplied records an agent's reply to a comment, which replaces any earlier one.
type CommentReplied struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

func (e CommentReplied) apply(s State) State {
	return s.withComment(e.ID, func(c *Comment) { c.Reply = &CommentReply{Text: e.Text, By: e.By, At: e.At, Revision: s.Revision + 1} })
}

// ResolveComment asks to mark a comment as met, or as open again, for a person.
type ResolveComment struct {
	ID         string
	IsResolved bool
}

func (a ResolveComment) clean(*cleaner) Action {
	a.ID = commentID(a.ID)
	return a
}

func (a ResolveComment) decide(s State, f Facts) ([]Event, error) {
	comment, err := s.comment(a.ID, "/id")
	if err != nil || comment.IsResolved == a.IsResolved {
		return nil, err
	}
	return []Event{CommentResolved{ID: a.ID, IsResolved: a.IsResolved, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now}}, nil
}

// CommentResolved records that a person marked a comment as met, or as open again.
type CommentResolved struct {
	ID         string    `json:"id"`
	IsResolved bool      `json:"met"`
	By         string    `json:"by"`
	Way        Way       `json:"way"`
	At         time.Time `json:"at"`
}

func (e CommentResolved) apply(s State) State {
	return s.withComment(e.ID, func(c *Comment) { c.IsResolved = e.IsResolved })
}
