package verbs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// NextAction is the one thing to do next, with alternatives: a sentence with calls that each face writes in its own form.
type NextAction struct {
	Reason  Reason
	Phrases []Phrase
}

// Phrase is a piece of a sentence: a text, a call, or a user-given name that may be shortened.
type Phrase struct {
	Text string
	Call *Call
	Name string
}

// Calls lists the calls in the sentence, the next one first.
func (n NextAction) Calls() []Call {
	var calls []Call
	for _, p := range n.Phrases {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Limits of user-given names in a reply, in tokens.
const (
	titleTokens      = 13
	titleTokensShort = 4  // beside a long call
	longCall         = 40 // characters
	nameTokens       = 10
)

// titleShown is the most of a title that a reply repeats, in characters.
const titleShown = 60

// For returns the sentence in the caller's words. It is never empty.
func (n NextAction) For(c Caller) string {
	room := titleTokens
	for _, call := range n.Calls() {
		if c.brief() && len(c.word(call)) > longCall {
			room = titleTokensShort
		}
	}
	var b strings.Builder
	for _, p := range n.Phrases {
		switch {
		case p.Call != nil:
			b.WriteString(c.word(*p.Call))
		case p.Name != "":
			b.WriteString(strconv.QuoteToGraphic(tokens.Shorten(p.Name, room, titleShown)))
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// name is a user-given part of a sentence.
type name string

func say(parts ...any) []Phrase {
	phrases := make([]Phrase, 0, len(parts))
	for _, part := range parts {
		switch part := part.(type) {
		case Call:
			phrases = append(phrases, Phrase{Call: &part})
		case name:
			phrases = append(phrases, Phrase{Name: string(part)})
		default:
			phrases = append(phrases, Phrase{Text: fmt.Sprint(part)})
		}
	}
	return phrases
}

// NextAction returns the caller's next action.
func (s *Service) NextAction(ctx context.Context, c Caller) (NextAction, error) {
	state, err := s.State(ctx)
	if err != nil {
		return NextAction{}, err
	}
	return s.NextActionIn(state, c), nil
}

// NextActionIn is NextAction for a state that was already read.
func (s *Service) NextActionIn(state plan.State, c Caller) NextAction {
	return s.view(state, c, Rules{}).now().action()
}

// Heartbeat ends every reply: the plan's progress, and the one thing to do next, which names the current step or its
// obstacle. It costs a model at most 40 tokens.
type Heartbeat struct {
	Progress   string `json:"progress,omitempty"`
	NextAction string `json:"next_action"`
}

func (s *Service) heartbeat(state plan.State, c Caller) Heartbeat {
	return s.view(state, c, Rules{}).now().heartbeat(state, c)
}

// heartbeat adds the progress of the plan that the next action is about; a waiting draft has none.
func (n now) heartbeat(state plan.State, c Caller) Heartbeat {
	h := Heartbeat{NextAction: n.action().For(c)}
	if c.scoped() { // the plan's progress does not concern it
		return h
	}
	if p := n.about(state); p == state.Plan || p != nil && state.Plan != nil && p.ID == state.Plan.ID {
		h.Progress = progress(state.Plan)
	}
	return h
}

// about returns the plan that the next action is about, or nil: planning, or a new plan, is not about a
// plan that is over.
func (n now) about(state plan.State) *plan.Plan {
	switch {
	case n.reason == AwaitingApproval && state.Draft != nil:
		return state.Draft
	case (n.reason == Gathering || n.reason == NoPlan) && isOver(state.Plan):
		return nil
	}
	return state.Plan
}

// ending returns the heartbeat as the last lines of a reply's text, with lines before the next action.
func (h Heartbeat) ending(lines ...string) string {
	return h.sofar() + "." + strings.Join(lines, "") + "\nNext: " + h.NextAction
}

// under appends the heartbeat to a message.
func (h Heartbeat) under(message string) string {
	if h.Progress != "" {
		message += "\nProgress: " + h.Progress
	}
	return message + "\nNext: " + h.NextAction
}

// sofar returns the progress in brackets, to follow the name of its subject.
func (h Heartbeat) sofar() string {
	if h.Progress == "" {
		return ""
	}
	return " (" + h.Progress + ")"
}

// progress returns the plan's progress: "1/3 done", "" without steps.
func progress(p *plan.Plan) string {
	if p == nil || p.Steps.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d done", p.Steps.Count(plan.Done), p.Steps.Len())
}
