package verbs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Hooks knows the agents at work here, and what the hooks of their hosts have told.
type Hooks interface {
	// Called notes that this process got an agent's call of a tool.
	Called(tool string)
	// Agents are those that living servers serve, and those that were lately heard over HTTP.
	Agents() []AtWork
}

// AtWork is an agent at work, and what is known of its host's hooks.
type AtWork struct {
	Agent    string
	Self     bool      // this process serves it
	HTTP     bool      // so that nothing is known of its host
	Host     string    // of the hook that answered last, as it called itself; "" for none
	Answered time.Time // when it did; zero for never
	Unseen   []UnseenCall
}

// UnseenCall is a call of which no hook told, although the host's hooks had answered.
type UnseenCall struct {
	At   time.Time
	Tool string
}

// Held says how far planning mode holds an agent.
type Held string

// How far agents are held.
const (
	Enforced Held = "enforced" // a hook of its host judges what it does
	Advisory Held = "advisory" // nothing is known to, but for planloop's own tools
	Silent   Held = "silent"   // a hook did, and then a call came that none told of
)

// Enforcement is how far planning mode holds one agent, as its hooks attest it.
type Enforcement struct {
	Agent string    `json:"agent"`
	Host  string    `json:"host,omitempty"`
	State Held      `json:"state"`
	Since time.Time `json:"since,omitzero"` // the last that was heard of the hook, or since when it is silent
	Why   string    `json:"why,omitempty"`
}

// enforcementOf judges an agent in a phase that began at a time, by the agent's own call or not: the
// hook that told of that call answered before the phase, and for it. A call that no hook has told of
// in the phase counts for all of it: what else was not told of nobody knows. An agent that rests is not
// silent: nothing was expected of its hook.
func enforcementOf(a AtWork, began time.Time, byIt bool) Enforcement {
	e := Enforcement{Agent: a.Agent, Host: a.Host, State: Silent}
	after := func(t time.Time) int {
		return slices.IndexFunc(a.Unseen, func(call UnseenCall) bool { return !call.At.Before(t) })
	}
	unseen, last := after(began), after(a.Answered)
	switch {
	case a.HTTP:
		e.State, e.Why = Advisory, "it is connected over HTTP"
	case a.Answered.IsZero():
		e.State, e.Why = Advisory, "no hook of its host has answered"
	case unseen >= 0:
		e.Since, e.Why = a.Unseen[unseen].At, untold(a.Unseen[unseen])
	case !a.Answered.Before(began), byIt && last < 0:
		e.State, e.Since = Enforced, a.Answered
	case last >= 0:
		e.Since, e.Why = a.Unseen[last].At, untold(a.Unseen[last])
	default:
		e.State, e.Since, e.Why = Advisory, a.Answered, "nothing was heard of it since planning mode began"
	}
	return e
}

// untold says which call no hook has told of; the tool is called as a client called it.
func untold(call UnseenCall) string {
	return "no hook told of its " + plan.Shorten(safetext.EscapeLine(call.Tool), 64)
}

// Enforcement says for each agent at work how far planning mode holds it, while it holds anybody:
// those first that it does not.
func (s *Service) Enforcement(state plan.State) []Enforcement {
	if s.opts.Hooks == nil || !state.PhaseNow().Restricted() {
		return nil
	}
	var all []Enforcement
	mode := state.ModeNow()
	for _, a := range s.opts.Hooks.Agents() {
		byCall := mode.Reason != "" || mode.Request != nil // and not by a prompt, of which no hook tells
		all = append(all, enforcementOf(a, mode.Since, byCall && mode.By == a.Agent))
	}
	order := []Held{Silent, Advisory, Enforced}
	slices.SortStableFunc(all, func(a, b Enforcement) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), cmp.Compare(a.Agent, b.Agent))
	})
	return all
}

// hooksAnswer refuses planning mode to an agent whose hooks do not answer, where they are required.
// Who sits at a terminal needs none, and where the mode is on already nobody enters it.
func (s *Service) hooksAnswer(c Caller, state plan.State) error {
	if !s.opts.HooksRequired || c.Actor.Present() || state.PhaseNow().Restricted() {
		return nil
	}
	why := "no hook of this agent's host is known"
	if s.opts.Hooks != nil {
		for _, a := range s.opts.Hooks.Agents() {
			if !a.Self && a.Agent != c.Actor.Name || !a.Self && !a.HTTP && c.Actor.Via == plan.ViaMCP {
				continue // another's, or another server of an agent of that name
			}
			e := enforcementOf(a, s.opts.Now(), true) // as if by the call that is to begin the mode
			if why = e.Why; e.State == Enforced {
				return nil
			}
		}
	}
	return plan.Refuse(plan.Conflict, "", "planning mode needs hooks here, and "+why, "ask the user to run `"+
		c.word(Call{Act: ActInstall})+"` and begin a new session, or to run `"+c.word(Call{Act: ActEnterMode})+"`")
}

// agentsTold bounds how many agents are told of in a line, and to a model.
const agentsTold = 4

// fewest are those that a model is told of, the ones that are not held first.
func fewest(all []Enforcement) []Enforcement { return all[:min(len(all), agentsTold)] }

// line is a text on a line of its own below another, nothing for none.
func line(text string) string { return strings.TrimSuffix("\n"+text, "\n") }

// HeldLine tells in a line how far planning mode holds the agents at work, "" where there is none.
func HeldLine(all []Enforcement) string {
	var parts []string
	for _, e := range all[:min(len(all), agentsTold)] {
		text := safetext.EscapeLine(e.Agent) + " " + string(e.State)
		if e.State == Silent {
			text += " since " + e.Since.Local().Format("15:04")
		}
		if e.Why != "" {
			text += " (" + e.Why + ")"
		}
		parts = append(parts, text)
	}
	if more := len(all) - agentsTold; more > 0 {
		parts = append(parts, plan.Counted(more, "more agent"))
	}
	if parts == nil {
		return ""
	}
	return "Hooks: " + strings.Join(parts, "; ") + "."
}
