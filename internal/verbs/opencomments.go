package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

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

// stepComments returns the unshortened comments on a step of the current plan.
func stepComments(remarks []PlacedComment, step plan.StepID, room int) []string {
	var texts []string
	for _, r := range remarks {
		if step != 0 && r.In == CurrentPlan && r.Now == step {
			texts = append(texts, r.parts(true, room)...)
		}
	}
	return texts
}

// planComments returns the unshortened comments on the whole current plan and on steps that are gone.
func planComments(remarks []PlacedComment) []string {
	var texts []string
	for _, r := range remarks {
		if r.Now == 0 {
			for _, text := range r.parts(false, listedRoom) {
				texts = append(texts, "comment: "+text)
			}
		}
	}
	return texts
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
	feedback := collectFeedback(state, state.Revision, true)
	if feedback.Decision != nil {
		texts = append(texts, inParts(feedback.Decision.text(), "The decision (continued): ", listedRoom)...)
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
		if id := unreplied(state); id != "" {
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
