package verbs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Hooks reports the agents at work here, and the calls that their hosts' hooks reported.
type Hooks interface {
	// Called notes that this process received an agent's tool call.
	Called(tool string)
	// Agents returns the agents that running servers serve, and those that were active over HTTP lately.
	Agents() []AtWork
}

// AtWork is an agent at work with the state of its host's hooks.
type AtWork struct {
	Agent    string
	Self     bool      // this process serves it
	HTTP     bool      // its host is then unknown
	Host     string    // as the hook that answered last named it; "" if none did
	Answered time.Time // when that was; zero for never
	Unseen   []UnseenCall
}

// UnseenCall is a call that no hook reported, although the host's hooks had answered before.
type UnseenCall struct {
	At   time.Time
	Tool string
}

// Held is how far planning mode is enforced for an agent.
type Held string

// The values of Held.
const (
	Enforced Held = "enforced" // a hook of its host judges its calls
	Advisory Held = "advisory" // no working hook is known: only planloop's own tools refuse
	Silent   Held = "silent"   // the hook answered before, and then missed a call
)

// Enforcement is how far planning mode is enforced for one agent, by the evidence of its hooks.
type Enforcement struct {
	Agent string    `json:"agent"`
	Host  string    `json:"host,omitempty"`
	State Held      `json:"state"`
	Since time.Time `json:"since,omitzero"` // when the hook answered last, or since when it is silent
	Why   string    `json:"why,omitempty"`
}

// enforcementOf judges an agent in a phase that began at a time. byIt says that the agent's own call began it: the hook
// that reported that call answered just before the phase, which counts. One unreported call counts for the whole phase,
// as other unreported calls cannot be detected. An idle agent is not silent: its hook had nothing to report.
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

// untold names a call that no hook reported; the tool name comes from the client, so it is escaped.
func untold(call UnseenCall) string {
	return "no hook told of its " + plan.Shorten(safetext.EscapeLine(call.Tool), 64)
}

// Enforcement returns how far planning mode is enforced for each agent at work, the unenforced first; nil outside of
// planning mode.
func (s *Service) Enforcement(state plan.State) []Enforcement {
	if s.opts.Hooks == nil || !state.PhaseNow().Restricted() {
		return nil
	}
	var all []Enforcement
	mode := state.ModeNow()
	for _, a := range s.opts.Hooks.Agents() {
		byCall := mode.Reason != "" || mode.Request != nil // not by a prompt, which hooks do not report
		all = append(all, enforcementOf(a, mode.Since, byCall && mode.By == a.Agent))
	}
	order := []Held{Silent, Advisory, Enforced}
	slices.SortStableFunc(all, func(a, b Enforcement) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), cmp.Compare(a.Agent, b.Agent))
	})
	return all
}

// hooksAnswer refuses planning mode to an agent whose hooks do not respond, if they are required. A person at a
// terminal needs no hooks, and if the mode is already on, the call does not enter it.
func (s *Service) hooksAnswer(c Caller, state plan.State) error {
	if !s.opts.HooksRequired || c.Actor.Present() || state.PhaseNow().Restricted() {
		return nil
	}
	why := "no hook of this agent's host is known"
	if s.opts.Hooks != nil {
		for _, a := range s.opts.Hooks.Agents() {
			if !a.Self && a.Agent != c.Actor.Name || !a.Self && !a.HTTP && c.Actor.Via == plan.ViaMCP {
				continue // a different agent, or another server of an agent of that name
			}
			e := enforcementOf(a, s.opts.Now(), true) // as if by the call that begins the mode
			if why = e.Why; e.State == Enforced {
				return nil
			}
		}
	}
	return plan.Refuse(plan.Conflict, "", "planning mode needs hooks here, and "+why, "ask the user to run `"+
		c.word(Call{Act: ActInstall})+"` and begin a new session, or to run `"+c.word(Call{Act: ActEnterMode})+"`")
}

// agentsTold is the most agents listed in a line and to a model.
const agentsTold = 4

func fewest(all []Enforcement) []Enforcement { return all[:min(len(all), agentsTold)] }

// line puts text on a line of its own below another, and returns "" for "".
func line(text string) string { return strings.TrimSuffix("\n"+text, "\n") }

// HeldLine returns in one line how far planning mode is enforced for the agents at work, "" without agents.
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
