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

// What people said of the work at hand and nobody has said to be met: no agent may find it out of reach. It stands
// beside the steps that it is on, shortened where it is long, and whole in a list of its own that is read by the page.

// commentsAtHand tells which comments are about the work at hand.
type commentsAtHand struct {
	state plan.State
	forms []string  // of what can be commented on now
	since time.Time // when what was said of no plan is about the work at hand
}

func commentsNow(state plan.State) commentsAtHand {
	now := commentsAtHand{state: state}
	now.since, _ = begins(state)
	for _, p := range state.Commentable() {
		now.forms = append(now.forms, state.Forms(p)...)
	}
	return now
}

// has reports whether a comment is about the work at hand: on what can be commented on now, in any of its forms; else since
// the plan before, on none or on a draft that was turned down, of which the next has to take heed.
func (now commentsAtHand) has(c plan.Comment) bool {
	return now.on(c) || !now.left(c) && !c.At.Before(now.since)
}

func (now commentsAtHand) on(c plan.Comment) bool { return slices.Contains(now.forms, c.Of) }

// left reports whether a comment is on a plan that another has taken the place of, whose agents it is not for.
func (now commentsAtHand) left(c plan.Comment) bool {
	head, former := now.state.PastPlan(c.Of)
	return former && head.Status != plan.StatusDraft && !now.on(c)
}

// OpenRemarks are the comments of which no person has said that they are met: on what can be commented on, and
// others that are about the work at hand, all as they stand in the form of the plan that there is now.
func (s *Service) OpenRemarks(ctx context.Context, state plan.State) ([]Remark, error) {
	shown := state.Commentable()
	known, err := s.Remarks(ctx, state, shown...)
	if err != nil {
		return nil, err
	}
	var open []Remark
	comments := commentsNow(state)
	for _, c := range state.Comments {
		at := slices.IndexFunc(known, func(r Remark) bool { return r.sameAs(c) })
		if c.Met || at < 0 && !comments.has(c) {
			continue
		}
		r := Remark{Comment: c, Standing: StandsOpen}
		if at >= 0 {
			r = known[at]
			r.two = len(shown) > 1
		} else if c.Step != 0 { // on what was turned down since
			r.Standing = StandsGone
		}
		open = append(open, r)
	}
	return open, nil
}

// What is shown of comments, in tokens: of one beside its step in a plan, of one in a task or in the list of all
// before it goes on in a text of its own, and how many stand beside one step.
const (
	besideRoom  = 110
	partRoom    = 150
	listedRoom  = 1_200
	besideShown = 6
)

// parts is a comment with its reply in texts of a limited size, each of which says what it belongs to.
func (r Remark) parts(beside bool, room int) []string {
	return inParts(strings.Join(r.Lines(beside), "\n"), cmp.Or(r.ID, "The comment of "+r.Way.Decider(r.By))+" goes on: ", room)
}

// inParts is a text cut at the ends of lines into texts of a limited size; further stands before all but the first.
func inParts(text, further string, room int) []string {
	var texts []string
	before := ""
	for left := []tokens.Part{{Texts: []string{text}, Long: true}}; len(left[0].Texts) > 0; before = further {
		shown, rest := tokens.Page(left, room, 1)
		texts, left = append(texts, before+strings.Join(shown[0].Texts, "\n")), rest
	}
	return texts
}

// remarksBeside are the comments on a step of one of the plans, each in a text that is shortened where it is long; for step 0
// those on the whole of it, and those on what is gone. whole counts those of which nothing is left out.
func remarksBeside(remarks []Remark, in WhichPlan, step plan.StepID, beside bool) (texts []string, whole int) {
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

// onStep are the comments on a step of the current plan, whole.
func onStep(remarks []Remark, step plan.StepID, room int) []string {
	var texts []string
	for _, r := range remarks {
		if step != 0 && r.In == CurrentPlan && r.Now == step {
			texts = append(texts, r.parts(true, room)...)
		}
	}
	return texts
}

// ofWhole are the comments on the whole of the current plan and on what is gone, whole.
func ofWhole(remarks []Remark) []string {
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

// allComments is the call that shows everything that people said, "" where the caller cannot make it.
func (c Caller) allComments() string {
	text, can := c.Can(Call{Act: ActRead, ID: string(CommentsOnly)})
	if !can {
		return ""
	}
	return text
}

// moreComments says how many comments there are beside those that are shown whole, and what shows them.
func (c Caller) moreComments(open, whole int) string {
	if whole >= open {
		return ""
	}
	return fmt.Sprintf("%s, %d of them whole above. All of them whole: %s", plan.Counted(open, "open comment"), whole, c.allComments())
}

// withComments is a reply with what people said, from a text of it on.
func (r ReadPlanReply) withComments(state plan.State, remarks []Remark, c Caller, from int) (ReadPlanReply, error) {
	var texts []string
	told := said(state, state.Revision, true)
	if told.Decision != nil {
		texts = append(texts, inParts(told.Decision.text(), "The decision goes on: ", listedRoom)...)
	}
	for _, a := range told.Answers {
		texts = append(texts, inParts(a.line(), "The answer goes on: ", listedRoom)...)
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
		r.Message = "What people said of the work, whole, with " + plan.Counted(len(remarks), "open comment") + "."
		if id := unreplied(state); id != "" {
			r.Message += " Reply to " + id + ": " + c.word(Call{Act: ActReply, ID: id}) + "."
		}
	}
	texts = slices.Clone(texts[first-1:])
	r.Comments = fitting(texts, agreedRoom)
	if left := len(texts) - len(r.Comments); left > 0 {
		r.Rest = plan.Counted(left, "more entry") + ": " +
			c.word(Call{Act: ActRead, ID: string(CommentsOnly), Page: first + len(r.Comments)})
	}
	return r, nil
}
