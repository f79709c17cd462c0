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
	Agents() []ActiveAgent
}

// ActiveAgent is an agent at work with the state of its host's hooks.
type ActiveAgent struct {
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

// Enforcement is how far planning mode is enforced for an agent.
type Enforcement string

// The values of Enforcement.
const (
	Enforced      Enforcement = "enforced"       // a hook of its host checks its calls
	NotEnforced   Enforcement = "not_enforced"   // no working hook is known: only planloop's own tools refuse
	NotResponding Enforcement = "not_responding" // the hook responded before, and then missed a call
)

// AgentEnforcement is the enforcement of planning mode for one agent, by the evidence of its hooks.
type AgentEnforcement struct {
	Agent string      `json:"agent"`
	Host  string      `json:"host,omitempty"`
	State Enforcement `json:"state"`
	Since time.Time   `json:"since,omitzero"` // when the hook answered last, or since when it does not respond
	Why   string      `json:"why,omitempty"`
}

// enforcementOf classifies an agent in a phase that began at a time. byIt says that the agent's own call began it: the hook
// that reported that call answered just before the phase, which counts. One unreported call counts for the whole phase,
// as other unreported calls cannot be detected. The hooks of an idle agent had nothing to
// report, so they count as responding.
func enforcementOf(a ActiveAgent, began time.Time, byIt bool) AgentEnforcement {
	e := AgentEnforcement{Agent: a.Agent, Host: a.Host, State: NotResponding}
	after := func(t time.Time) int {
		return slices.IndexFunc(a.Unseen, func(call UnseenCall) bool { return !call.At.Before(t) })
	}
	unseen, last := after(began), after(a.Answered)
	switch {
	case a.HTTP:
		e.State, e.Why = NotEnforced, "it is connected over HTTP"
	case a.Answered.IsZero():
		e.State, e.Why = NotEnforced, "its host's hooks have not responded"
	case unseen >= 0:
		e.Since, e.Why = a.Unseen[unseen].At, unreported(a.Unseen[unseen])
	case !a.Answered.Before(began), byIt && last < 0:
		e.State, e.Since = Enforced, a.Answered
	case last >= 0:
		e.Since, e.Why = a.Unseen[last].At, unreported(a.Unseen[last])
	default:
		e.State, e.Since, e.Why = NotEnforced, a.Answered, "its hooks have not responded since planning mode began"
	}
	return e
}

// unreported names a call that no hook reported; the tool name comes from the client, so it is escaped.
func unreported(call UnseenCall) string {
	return "no hook reported its call of " + plan.Shorten(safetext.EscapeLine(call.Tool), 64)
}

// Enforcement returns how far planning mode is enforced for each agent at work, the unenforced first; nil outside of
// planning mode.
func (s *Service) Enforcement(state plan.State) []AgentEnforcement {
	if s.opts.Hooks == nil || !state.PhaseNow().IsRestricted() {
		return nil
	}
	var all []AgentEnforcement
	mode := state.ModeNow()
	for _, a := range s.opts.Hooks.Agents() {
		byCall := mode.Reason != "" || mode.Request != nil // not by a prompt, which hooks do not report
		all = append(all, enforcementOf(a, mode.Since, byCall && mode.By == a.Agent))
	}
	order := []Enforcement{NotResponding, NotEnforced, Enforced}
	slices.SortStableFunc(all, func(a, b AgentEnforcement) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), cmp.Compare(a.Agent, b.Agent))
	})
	return all
}

// hooksAnswer refuses planning mode to an agent whose hooks do not respond, if they are required. A person at a
// terminal needs no hooks, and if the mode is already on, the call does not enter it.
func (s *Service) hooksAnswer(c Caller, state plan.State) error {
	if !s.opts.HooksRequired || c.Actor.IsPresent() || state.PhaseNow().IsRestricted() {
		return nil
	}
	why := "its host has no hooks"
	if s.opts.Hooks != nil {
		for _, a := range s.opts.Hooks.Agents() {
			if !a.Self && a.Agent != c.Actor.Name || !a.Self && !a.HTTP && c.Actor.Channel == plan.ChannelMCP {
				continue // a different agent, or another server of an agent of that name
			}
			e := enforcementOf(a, s.opts.Now(), true) // as if by the call that begins the mode
			if why = e.Why; e.State == Enforced {
				return nil
			}
		}
	}
	return plan.Refuse(plan.Conflict, "", "planning mode requires working hooks here, and this agent has none: "+why,
		"ask the user to run `"+c.word(Call{Kind: CallInstall})+"` and start a new session, or to run `"+
			c.word(Call{Kind: CallEnterMode})+"`")
}

// maxAgentsShown limits the agents in a line and in a model's reply.
const maxAgentsShown = 4

func firstAgents(all []AgentEnforcement) []AgentEnforcement {
	return all[:min(len(all), maxAgentsShown)]
}

// line puts text on a line of its own below another, and returns "" for "".
func line(text string) string { return prefixed("\n", text) }

// prefixed returns a text after a prefix, and "" for "".
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// prefixedAll returns each text after the prefix.
func prefixedAll(prefix string, texts []string) string {
	return prefixed(prefix, strings.Join(texts, prefix))
}

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// EnforcementLine returns the enforcement of planning mode for the agents at work in one line, "" without agents.
func EnforcementLine(all []AgentEnforcement) string {
	if len(all) == 0 {
		return ""
	}
	var parts []string
	for _, e := range firstAgents(all) {
		text := safetext.EscapeLine(e.Agent) + " " + strings.ReplaceAll(string(e.State), "_", " ")
		if e.State == NotResponding {
			text = safetext.EscapeLine(e.Agent) + "'s hooks not responding since " + e.Since.Local().Format("15:04")
		}
		if e.Why != "" {
			text += " (" + e.Why + ")"
		}
		parts = append(parts, text)
	}
	if more := len(all) - maxAgentsShown; more > 0 {
		parts = append(parts, plan.Pluralize(more, "more agent"))
	}
	return "Enforcement: " + strings.Join(parts, "; ") + "."
}
