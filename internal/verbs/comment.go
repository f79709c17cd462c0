package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// CommentReply reports a recorded comment, reply or decision on a comment.
type CommentReply struct {
	ID      string `json:"comment_id"`
	Message string `json:"message"`
	Heartbeat
}

func (r CommentReply) Text() string { return r.under(r.Message) }

// Comment records a person's comment; agents get it with their next status.
func (s *Service) Comment(ctx context.Context, c Caller, a plan.AddComment) (CommentReply, error) {
	message := "Agents get the comment with their next status."
	if a.IsQuestion {
		message = "Agents are asked with their next status, until one replies."
	}
	return s.recordOnComment(ctx, c, a, "", message)
}

// ReplyToComment records an agent's reply to a comment.
func (s *Service) ReplyToComment(ctx context.Context, c Caller, a plan.ReplyToComment) (CommentReply, error) {
	return s.recordOnComment(ctx, c, a, a.Comment, "Your reply is kept; the user sees it beside the comment.")
}

// ResolveComment records that a person marked a comment as met, or reopened it.
func (s *Service) ResolveComment(ctx context.Context, c Caller, id string, met bool) (CommentReply, error) {
	message := map[bool]string{true: "The comment is met.", false: "The comment is open again."}[met]
	return s.recordOnComment(ctx, c, plan.ResolveComment{ID: id, IsResolved: met}, id, message)
}

// recordOnComment carries out an action on the comment id, or on a new one if id is "".
func (s *Service) recordOnComment(ctx context.Context, c Caller, a plan.Action, id, message string) (CommentReply, error) {
	outcome, err := s.do(ctx, c, a)
	for _, e := range outcome.Events {
		switch e := e.(type) {
		case plan.CommentAdded:
			id = e.ID
		case plan.CommentReplied:
			for _, asked := range outcome.After.Comments {
				if asked.ID == e.ID && asked.IsQuestion {
					s.notify(Notice{Event: "reply_came", Title: e.By + " replied to " + e.ID, Text: asked.Text + "\n\n" + e.Text})
				}
			}
		}
	}
	return CommentReply{ID: id, Message: message, Heartbeat: s.heartbeat(outcome.After, c)}, err
}

// PlacedComment is a comment placed in the form of a plan that is shown.
type PlacedComment struct {
	plan.Comment
	Now   plan.StepID  `json:"now,omitzero"` // the step's number in that form; 0: it is gone, or the comment is on the plan
	State CommentState `json:"standing"`
	In    WhichPlan    `json:"-"` // the plan it is shown in

	two bool // two plans are shown
}

// CommentState is the state of a comment, or of the step it is on.
type CommentState string

// The values of CommentState.
const (
	CommentOpen        CommentState = "open"
	CommentMet         CommentState = "met"     // a person said so
	CommentStepChanged CommentState = "changed" // the step has changed since
	CommentStepGone    CommentState = "gone"    // the step no longer exists
)

// Values lists the standings in order.
func (CommentState) Values() []string {
	return []string{string(CommentOpen), string(CommentMet), string(CommentStepChanged), string(CommentStepGone)}
}

// PlacedComments returns the comments on some plans of a state, each once, placed in the first of the plans that has it.
func (s *Service) PlacedComments(ctx context.Context, state plan.State, shown ...*plan.Plan) ([]PlacedComment, error) {
	all := []PlacedComment{}
	for _, p := range shown {
		former, comments := map[string]*plan.Plan{}, state.CommentsOn(p)
		for _, c := range comments {
			if _, known := former[c.PlanID]; known || c.Step == 0 || c.PlanID == p.ID {
				continue
			}
			body, err := s.session.PlanBody(ctx, c.PlanID)
			if refused := new(plan.ValidationError); err != nil && !errors.As(err, &refused) {
				return nil, err
			}
			former[c.PlanID] = body
		}
		for _, r := range PlaceComments(p, comments, former) {
			if r.In = CurrentPlan; p == state.Draft {
				r.In = DraftPlan
			}
			if !slices.ContainsFunc(all, func(other PlacedComment) bool { return other.sameAs(r.Comment) }) {
				all = append(all, r)
			}
		}
	}
	return all, nil
}

// sameAs reports whether r is that comment. Comments in the first logs have no ids, so the text and revision count.
func (r PlacedComment) sameAs(c plan.Comment) bool {
	return r.ID == c.ID && r.Text == c.Text && r.Revision == c.Revision
}

// PlaceComments places comments in the form of a plan that is shown; former holds the other forms the comments were made
// on, by id.
func PlaceComments(shown *plan.Plan, comments []plan.Comment, former map[string]*plan.Plan) []PlacedComment {
	newIDs := map[string]map[plan.StepID]plan.StepID{} // by the id of the other form
	remarks := make([]PlacedComment, 0, len(comments))
	for _, c := range comments {
		r := PlacedComment{Comment: c, State: CommentOpen}
		other := former[c.PlanID]
		if other == nil || c.PlanID == shown.ID {
			other = shown // the other form is unknown: assume the same numbers
		}
		if c.Step != 0 {
			if newIDs[c.PlanID] == nil {
				newIDs[c.PlanID] = formerIDs(matchSteps(shown, other))
			}
			ids := newIDs[c.PlanID]
			step, kept := shown.Steps.Get(ids[c.Step])
			old, known := other.Steps.Get(c.Step)
			switch {
			case !kept:
				r.State = CommentStepGone
			case !known || !old.HasDigest(c.StepDigest) || plan.StepDigest(renumbered(old, ids)) != plan.StepDigest(step):
				r.Now, r.State = step.ID, CommentStepChanged
			default:
				r.Now = step.ID
			}
		}
		if c.IsResolved {
			r.State = CommentMet
		}
		remarks = append(remarks, r)
	}
	return remarks
}

func (r PlacedComment) ofPlan() string {
	return " of the " + map[WhichPlan]string{DraftPlan: "draft", CurrentPlan: "current plan"}[r.In]
}

// Lines returns a comment and the reply to it: `C3 (alice, S002 "Use it", changed since): why?`. With beside, for
// display next to its step, it leaves out the step.
func (r PlacedComment) Lines(beside bool) []string {
	about := []string{r.Way.Decider(r.By)}
	if r.IsQuestion {
		about[0] += " asks"
	}
	switch {
	case r.Now == 0 && r.Step != 0:
		about = append(about, "on "+plan.Quote(r.Title)+", which was removed")
	case r.Step != 0 && !beside && r.two:
		about = append(about, r.Now.String()+r.ofPlan()+" "+plan.Quote(r.Title))
	case r.Step != 0 && !beside:
		about = append(about, r.Now.String()+" "+plan.Quote(r.Title))
	}
	switch r.State {
	case CommentStepChanged:
		about = append(about, "changed since")
	case CommentMet:
		about = append(about, "met")
	}
	lines := []string{strings.TrimSpace(r.ID+" ("+strings.Join(about, ", ")+"): ") + " " + r.Text}
	if r.Reply != nil {
		lines = append(lines, "   "+r.Reply.By+" replied: "+r.Reply.Text)
	}
	return lines
}

// Open comments from people on the current work must stay within an agent's reach. They are shown next to their steps,
// shortened if long, and whole in a list of their own that is read in pages.

// currentComments decides which comments are about the current work.
type currentComments struct {
	state plan.State
	forms []string  // ids of all forms of the plans that take comments now
	since time.Time // from when comments without a plan count
}

func commentsNow(state plan.State) currentComments {
	now := currentComments{state: state}
	now.since, _ = feedbackStart(state)
	for _, p := range state.CommentablePlans() {
		now.forms = append(now.forms, state.PlanForms(p)...)
	}
	return now
}

// has reports whether a comment is about the current work: it is on any form of a plan that takes comments now, or it
// came since the plan before and is on no plan or on a rejected draft, which the next draft must consider.
func (now currentComments) has(c plan.Comment) bool {
	return now.on(c) || !now.isReplaced(c) && !c.At.Before(now.since)
}

func (now currentComments) on(c plan.Comment) bool { return slices.Contains(now.forms, c.PlanID) }

// isReplaced reports whether a comment is on a plan that was replaced: it is not for the agents of the current plan.
func (now currentComments) isReplaced(c plan.Comment) bool {
	head, former := now.state.PastPlan(c.PlanID)
	return former && head.Status != plan.StatusDraft && !now.on(c)
}

// OpenComments returns the comments that no person marked as met, on the plans that take comments now and otherwise
// about the current work, placed in the current form of the plan.
func (s *Service) OpenComments(ctx context.Context, state plan.State) ([]PlacedComment, error) {
	shown := state.CommentablePlans()
	known, err := s.PlacedComments(ctx, state, shown...)
	if err != nil {
		return nil, err
	}
	var open []PlacedComment
	comments := commentsNow(state)
	for _, c := range state.Comments {
		at := slices.IndexFunc(known, func(r PlacedComment) bool { return r.sameAs(c) })
		if c.IsResolved || at < 0 && !comments.has(c) {
			continue
		}
		r := PlacedComment{Comment: c, State: CommentOpen}
		if at >= 0 {
			r = known[at]
			r.two = len(shown) > 1
		} else if c.Step != 0 { // on a plan that was rejected since
			r.State = CommentStepGone
		}
		open = append(open, r)
	}
	return open, nil
}

// Limits of comments in tokens: next to a step of a plan, in a task, and in the list of all comments before one
// continues in a further text. besideShown is the most comments next to one step.
const (
	besideRoom  = 110
	partRoom    = 150
	listedRoom  = 1_200
	besideShown = 6
)

// parts splits a comment and its reply into texts of limited size, each with the comment's id.
func (r PlacedComment) parts(beside bool, room int) []string {
	return inParts(strings.Join(r.Lines(beside), "\n"), cmp.Or(r.ID, "The comment of "+r.Way.Decider(r.By))+" (continued): ", room)
}

// inParts splits a text at line ends into texts of limited size; all but the first begin with further.
func inParts(text, further string, room int) []string {
	var texts []string
	before := ""
	for left := []tokens.Part{{Texts: []string{text}, Long: true}}; len(left[0].Texts) > 0; before = further {
		shown, rest := tokens.Page(left, room, 1)
		texts, left = append(texts, before+strings.Join(shown[0].Texts, "\n")), rest
	}
	return texts
}

// commentsBeside returns the comments on a step of one plan, each in one shortened text; for step 0 the comments on the
// whole plan and on steps that are gone. whole counts the unshortened ones.
func commentsBeside(remarks []PlacedComment, in WhichPlan, step plan.StepID, beside bool) (texts []string, whole int) {
	for _, r := range remarks {
		if r.Now != step || step != 0 && r.In != in || len(texts) == besideShown {
			continue
		}
		parts := r.parts(beside, besideRoom)
		if texts = append(texts, parts[0]); len(parts) == 1 {
			whole++
		}
	}
	return texts, whole
}

// stepComments returns the unshortened comments on a step of the current plan; for step 0 those on the whole plan and on
// steps that are gone.
func stepComments(remarks []PlacedComment, step plan.StepID, room int) (texts []string) {
	for _, r := range remarks {
		if r.isOn(step) {
			texts = append(texts, r.parts(step != 0, room)...)
		}
	}
	return texts
}

// isOn reports whether the comment is on a step of the current plan, or for 0 on a whole plan.
func (r PlacedComment) isOn(step plan.StepID) bool {
	return r.Now == step && (step == 0 || r.In == CurrentPlan)
}

func commentLines(remarks []PlacedComment, step plan.StepID) []string {
	lines := stepComments(remarks, step, listedRoom)
	for i := range lines {
		lines[i] = "comment: " + lines[i]
	}
	return lines
}

// allComments returns the call that shows all input from people, "" if the caller cannot make it.
func (c Caller) allComments() string {
	text, can := c.Can(Call{Kind: CallRead, ID: string(CommentsOnly)})
	if !can {
		return ""
	}
	return text
}

// moreComments says how many comments are not shown whole, and names the call that shows them.
func (c Caller) moreComments(open, whole int) string {
	if whole >= open {
		return ""
	}
	return fmt.Sprintf("%s, %d shown in full above. All in full: %s", plan.Pluralize(open, "open comment"), whole, c.allComments())
}

// withComments adds people's input to a reply, starting at entry from.
func (r ReadPlanReply) withComments(state plan.State, remarks []PlacedComment, c Caller, from int) (ReadPlanReply, error) {
	var texts []string
	feedback := collectFeedback(state, remarks, state.Revision)
	if feedback.Decision != nil {
		texts = append(texts, inParts(DecisionText(feedback.Decision.decision), "The decision (continued): ", listedRoom)...)
	}
	for _, comment := range feedback.decidedEarlier(state) {
		texts = append(texts, inParts("Decided earlier: "+comment, "The decision (continued): ", listedRoom)...)
	}
	for _, a := range feedback.Answers {
		texts = append(texts, inParts(a.line(), "The answer (continued): ", listedRoom)...)
	}
	for _, remark := range remarks {
		texts = append(texts, remark.parts(false, listedRoom)...)
	}
	first := max(1, from)
	if len(texts) == 0 {
		r.Message = "No comment is open."
		return r, nil
	}
	if first > len(texts) {
		return r, plan.Refuse(plan.NotFound, "/from", fmt.Sprintf("there are %d entries", len(texts)),
			"leave out from to begin with the first")
	}
	if first == 1 {
		r.Message = "All input from people, in full, with " + plan.Pluralize(len(remarks), "open comment") + "."
		if id := firstUnreplied(state); id != "" {
			r.Message += " Reply to " + id + ": " + c.word(Call{Kind: CallReply, ID: id}) + "."
		}
	}
	texts = slices.Clone(texts[first-1:])
	r.Comments = firstFitting(texts, agreedRoom)
	if left := len(texts) - len(r.Comments); left > 0 {
		r.Rest = plan.Pluralize(left, "more entry") + ": " +
			c.word(Call{Kind: CallRead, ID: string(CommentsOnly), Page: first + len(r.Comments)})
	}
	return r, nil
}
