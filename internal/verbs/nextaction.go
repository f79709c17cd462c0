package verbs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// NextAction is the one thing to do next, and what else could be done: a sentence
// whose calls each face words as its callers make them.
type NextAction struct {
	Reason  Reason
	Phrases []Phrase
}

// Phrase is a piece of a sentence: a text, a call, or a name that is not ours and
// may be shortened.
type Phrase struct {
	Text string
	Call *Call
	Name string
}

// Calls lists what the sentence asks to call, first what is to be done next.
func (n NextAction) Calls() []Call {
	var calls []Call
	for _, p := range n.Phrases {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// What of a reply is left for names that are not ours, in tokens.
const (
	titleTokens      = 13
	titleTokensShort = 4  // beside a long call
	longCall         = 40 // characters
	nameTokens       = 10
)

// titleShown bounds what a reply repeats of a title, in characters.
const titleShown = 60

// For is the sentence in the caller's words. It is never empty.
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

// name is a part of a sentence that is not ours.
type name string

// say puts a sentence together from texts, names and calls.
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

// NextAction says what the caller is to do next.
func (s *Service) NextAction(ctx context.Context, c Caller) (NextAction, error) {
	state, err := s.State(ctx)
	if err != nil {
		return NextAction{}, err
	}
	return s.NextActionIn(state, c), nil
}

// NextActionIn says what the caller is to do next in a state that was read already.
func (s *Service) NextActionIn(state plan.State, c Caller) NextAction {
	return s.view(state, c, Rules{}).now().action()
}

// Heartbeat ends every reply: how far the plan has come, and the one thing to do
// next, which names the current step or what stands in its way. It costs a model
// at most 40 tokens.
type Heartbeat struct {
	Progress   string `json:"progress,omitempty"`
	NextAction string `json:"next_action"`
}

func (s *Service) heartbeat(state plan.State, c Caller) Heartbeat {
	return s.view(state, c, Rules{}).now().heartbeat(state, c)
}

// heartbeat tells the progress of the plan that the next action is about: a draft that
// waits has none.
func (n now) heartbeat(state plan.State, c Caller) Heartbeat {
	h := Heartbeat{NextAction: n.action().For(c)}
	if c.scoped() { // how far the plan has come is not its concern
		return h
	}
	if p := n.about(state); p == state.Plan || p != nil && state.Plan != nil && p.ID == state.Plan.ID {
		h.Progress = progress(state.Plan)
	}
	return h
}

// about is the plan that the next action is about; nil when there is none. What is over
// is not what planning, or a new plan, is about.
func (n now) about(state plan.State) *plan.Plan {
	switch {
	case n.reason == AwaitingApproval && state.Draft != nil:
		return state.Draft
	case (n.reason == Gathering || n.reason == NoPlan) && over(state.Plan):
		return nil
	}
	return state.Plan
}

// ending is the heartbeat as the last lines of a reply's text, before which further
// lines may come.
func (h Heartbeat) ending(lines ...string) string {
	return h.sofar() + "." + strings.Join(lines, "") + "\nNext: " + h.NextAction
}

// under ends a message with the heartbeat.
func (h Heartbeat) under(message string) string {
	if h.Progress != "" {
		message += "\nProgress: " + h.Progress
	}
	return message + "\nNext: " + h.NextAction
}

// sofar is the progress behind what it is the progress of.
func (h Heartbeat) sofar() string {
	if h.Progress == "" {
		return ""
	}
	return " (" + h.Progress + ")"
}

// progress writes how far a plan has come: "1/3 done", "" without a plan.
func progress(p *plan.Plan) string {
	if p == nil || p.Steps.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d done", p.Steps.Count(plan.Done), p.Steps.Len())
}
