package notify

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/planloop/planloop/internal/safetext"
)

// Event is what a notice is about, as it is written in the configuration and in
// the body of a webhook.
type Event string

// The events there are.
const (
	PlanWaits     Event = "plan_waits"     // a submitted plan waits for approval
	QuestionWaits Event = "question_waits" // an agent asked something and waits for the answer
	StepWaits     Event = "step_waits"     // a step waits for approval, or for a person to go on
	ModeEntered   Event = "mode_entered"   // planning mode was entered
	ModeExpired   Event = "mode_expired"   // planning mode ended since nobody decided in time
	ReplyCame     Event = "reply_came"     // an agent replied to a question of a person
)

// Events lists the events there are.
func Events() []Event {
	return []Event{PlanWaits, QuestionWaits, StepWaits, ModeEntered, ModeExpired, ReplyCame}
}

// Notice is what a person is told. It goes to places outside the machine: How
// must not hold a launch code, a token, or any other way in.
type Notice struct {
	Event     Event
	Workspace string // its path; Discord and the desktop are shown the last element alone
	Title     string // the plan's summary, the question, the reason
	Text      string // more about it
	PlanID    string
	Steps     []Step
	Questions []string  // that the plan leaves open
	Time      time.Time // the zero time is now
	How       string    // where a person can decide, such as planloop approve; "" is the event's usual command
}

// Step is a step of the plan that waits.
type Step struct {
	ID    string // such as S001
	Title string
	Risk  string // low, medium, high, or ""
}

// envelope is a notice on its way.
type envelope struct {
	Notice
	id string
}

// heading is what the notice is about, in a line.
func (n Notice) heading() string { return n.Event.wording().subject + ": " + n.subject() }

// subject is the title on one line, or what stands for one.
func (n Notice) subject() string { return cmp.Or(line(n.Title), untitled) }

// untitled stands for a title that is blank: Discord refuses a message with one.
const untitled = "(no title)"

// wording is what is said of an event.
type wording struct {
	subject string // what the notice is about
	call    string // what a person can do, to be followed by where
	how     string // where, unless the notice says it
}

func (e Event) wording() wording {
	return cmp.Or(map[Event]wording{
		PlanWaits:     {"Plan", "Approve or reject with: ", "planloop review or planloop approve"},
		QuestionWaits: {"Question", "Answer with: ", "planloop review or planloop answer"},
		StepWaits:     {"Step", "Approve or reject with: ", "planloop review or planloop approve"},
		ModeEntered:   {"Planning", "See: ", ""},
		ModeExpired:   {"Planning expired", "See: ", ""},
		ReplyCame:     {"Reply", "Read it with: ", "planloop review or planloop comment"},
	}[e], wording{"planloop", "See: ", ""})
}

// how is where a person can decide, in a few words.
func (n Notice) how() string { return cmp.Or(line(n.How), n.Event.wording().how) }

// call says what a person can do about the notice, and where.
func (n Notice) call() string {
	if how := n.how(); how != "" {
		return n.Event.wording().call + how
	}
	return ""
}

// highest returns the highest risk of the steps, "" when none has one.
func (n Notice) highest() string {
	for _, risk := range []string{"high", "medium", "low"} {
		if slices.ContainsFunc(n.Steps, func(s Step) bool { return s.Risk == risk }) {
			return risk
		}
	}
	return ""
}

// line returns text that shows as what it is, on one line.
func line(s string) string { return strings.Join(strings.Fields(safetext.Replace(s)), " ") }

// paragraph returns text that shows as what it is, without space around it.
func paragraph(s string) string { return strings.TrimSpace(safetext.Replace(s)) }

// ellipsis stands for what was cut off.
const ellipsis = "…"

// cut returns at most limit units of s, with an ellipsis for what is missing.
func cut(s string, limit int) string {
	return rewritten(s, limit, func(r rune) string { return string(r) })
}

// rewritten returns s with every character replaced by its piece, in at most
// limit units. No piece is divided: where the next has no room, an ellipsis ends
// the text. The limit is one or more.
func rewritten(s string, limit int, piece func(rune) string) string {
	var b strings.Builder
	length, kept := 0, 0 // in units; in bytes, that fit with an ellipsis after them
	for _, r := range s {
		p := piece(r)
		if length += units(p); length > limit {
			return b.String()[:kept] + ellipsis
		}
		b.WriteString(p)
		if length < limit {
			kept = b.Len()
		}
	}
	return b.String()
}

// units is the length of s as the strictest counter of characters counts: in
// UTF-16, where an emoji is two.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
