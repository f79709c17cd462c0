package verbs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Hooks reports the agents at work here.
type Hooks interface {
	// Agents returns the agents that running servers serve, and those that were active over HTTP lately.
	Agents() []ActiveAgent
}

// ActiveAgent is an agent at work with the state of its host's hooks.
type ActiveAgent struct {
	Agent    string
	Self     bool      // this process serves it
	HTTP     bool      // its host is then unknown
	Host     string    // as the hook that answered last named it; "" if none did
	Title    string    // the host's name for people; "" if unknown
	Answered time.Time // when a hook last answered before a tool; zero for never
	Unseen   []UnseenCall

	Elsewhere string              // the other track that it works on; "" if none
	Settings  func() HookSettings // reads the host's settings; nil: they are unknown
}

// HookSettings is what all settings of a host say about planloop's hooks.
type HookSettings struct {
	Problem string    // why a tool that writes may run without a hook; "" if none can
	Fix     string    // what a person does about it, or about hooks that do not respond
	Changed time.Time // when the hooks last changed
}

// UnseenCall is a call that no hook reported before it.
type UnseenCall struct {
	At   time.Time
	Tool string
	Late time.Time // when a hook reported it after all; zero for never
}

// Enforcement is how far planning mode is enforced for an agent.
type Enforcement string

// The values of Enforcement.
const (
	Enforced      Enforcement = "enforced"       // a hook of its host checks each tool that writes
	NotEnforced   Enforcement = "not_enforced"   // no working hook is known: only planloop's own tools refuse
	NotResponding Enforcement = "not_responding" // the hook responded before, and then missed a call
)

// AgentEnforcement is the enforcement of planning mode for one agent, by the evidence of its hooks and by its host's settings.
type AgentEnforcement struct {
	Agent string      `json:"agent"`
	Host  string      `json:"host,omitempty"`
	State Enforcement `json:"state"`
	Since time.Time   `json:"since,omitzero"`       // when the hook answered last, or since when it does not respond
	Age   string      `json:"last_heard,omitempty"` // how long ago the hook answered last
	Why   string      `json:"why,omitempty"`
	Fix   string      `json:"fix,omitempty"`

	title string // of the host; "" if unknown, or if two agents share it
}

// enteringWindow bounds the time between the call that begins planning mode and the mode itself.
const enteringWindow = 10 * time.Second

// EnforcementOf classifies an agent in a phase that began at a time: the one function for all faces. byIt says that the agent's own call
// began it: the hook that reported that call answered just before the phase, which counts. One unreported call counts for the whole phase,
// as other unreported calls cannot be detected. The hooks of an idle agent had nothing to report, so they count as responding.
func EnforcementOf(a ActiveAgent, began time.Time, byIt bool, now time.Time) AgentEnforcement {
	e := AgentEnforcement{Agent: a.Agent, Host: a.Host, State: NotResponding, title: a.Title}
	var settings HookSettings
	if a.Settings != nil && !a.HTTP {
		settings = a.Settings()
	}
	if e.Fix = settings.Fix; !a.Answered.IsZero() {
		e.Age = plan.FormatAgo(a.Answered, now)
	}
	after := func(t time.Time) int {
		return slices.IndexFunc(a.Unseen, func(call UnseenCall) bool { return !call.At.Before(t) })
	}
	unseen, last := after(began), after(a.Answered)
	if unseen < 0 && byIt {
		unseen = slices.IndexFunc(a.Unseen, func(call UnseenCall) bool {
			entering := call.Tool == "planning_enter_plan_mode" || call.Tool == "planning_submit_plan"
			return entering && !call.Late.IsZero() && began.Sub(call.At) < enteringWindow
		})
	}
	switch {
	case a.Elsewhere != "":
		e.State, e.Why = NotEnforced, "it works on track "+a.Elsewhere+" and can change files"
	case a.HTTP:
		e.State, e.Why = NotEnforced, "it is connected over HTTP"
	case settings.Problem != "":
		e.State, e.Since, e.Why = NotEnforced, a.Answered, settings.Problem
	case a.Answered.IsZero():
		e.State, e.Why = NotEnforced, "its hooks have not responded"
	case unseen >= 0:
		e.Since, e.Why = a.Unseen[unseen].At, a.Unseen[unseen].text()
	case a.Answered.Before(settings.Changed):
		e.State, e.Since, e.Why = NotEnforced, a.Answered, "its hooks have not responded since they were changed"
	case !a.Answered.Before(began), byIt && last < 0:
		e.State, e.Since, e.Fix = Enforced, a.Answered, ""
	case last >= 0:
		e.Since, e.Why = a.Unseen[last].At, a.Unseen[last].text()
	default:
		e.State, e.Since, e.Why = NotEnforced, a.Answered, "its hooks have not responded since planning mode began"
	}
	return e
}

// text names the call; the tool's name comes from the client, so it is escaped.
func (u UnseenCall) text() string {
	tool := plan.Shorten(safetext.EscapeLine(u.Tool), 64)
	if !u.Late.IsZero() {
		return "its hook reported the call of " + tool + " too late"
	}
	return "its hook did not report the call of " + tool
}

// Enforcement returns how far planning mode is enforced for each agent at work, the unenforced first; nil outside of
// planning mode.
func (s *Service) Enforcement(state plan.State) []AgentEnforcement {
	if s.opts.Hooks == nil || !state.PhaseNow().IsRestricted() {
		return nil
	}
	var all []AgentEnforcement
	titles := map[string]int{}
	active := s.opts.Hooks.Agents()
	for _, a := range active {
		titles[a.Title]++
	}
	for _, a := range active {
		if titles[a.Title] > 1 {
			a.Title = ""
		}
		all = append(all, s.EnforcementIn(state, a))
	}
	order := []Enforcement{NotResponding, NotEnforced, Enforced}
	slices.SortStableFunc(all, func(a, b AgentEnforcement) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), cmp.Compare(a.Agent, b.Agent))
	})
	return all
}

// EnforcementIn returns how far planning mode is enforced for an agent, or would be if it began now.
func (s *Service) EnforcementIn(state plan.State, a ActiveAgent) AgentEnforcement {
	if !state.PhaseNow().IsRestricted() {
		return EnforcementOf(a, a.Answered, false, s.opts.Now())
	}
	mode := state.ModeNow()
	if mode.All {
		a.Elsewhere = ""
	}
	byCall := mode.Reason != "" || mode.Request != nil // not by a prompt, which hooks do not report
	return EnforcementOf(a, mode.Since, byCall && mode.By == a.Agent, s.opts.Now())
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
			a.Elsewhere = ""                                        // it is entering here
			e := EnforcementOf(a, s.opts.Now(), true, s.opts.Now()) // as if by the call that begins the mode
			if why = e.Why; e.State == Enforced {
				return nil
			}
		}
	}
	return plan.Refuse(plan.Conflict, "", "planning mode requires working hooks here, and this agent has none: "+why,
		"ask the user to run `"+c.word(Call{Kind: CallInstall})+"` and start a new session, or to run `"+
			c.word(Call{Kind: CallEnterMode})+"`")
}

// maxAgentsShown limits the agents in a line.
const maxAgentsShown = 4

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
	var parts []string
	for _, e := range all[:min(len(all), maxAgentsShown)] {
		parts = append(parts, e.Text())
	}
	if more := len(all) - maxAgentsShown; more > 0 {
		parts = append(parts, "And "+plan.Pluralize(more, "more agent")+".")
	}
	return strings.Join(parts, " ")
}

// Text returns the state, its reason and the fix.
func (e AgentEnforcement) Text() string {
	name := cmp.Or(e.title, safetext.EscapeLine(e.Agent))
	if e.State == Enforced {
		return "Enforced: " + name + "'s hooks check its tools (last heard " + e.Age + ")."
	}
	text := "Not enforced: "
	if e.State == NotResponding {
		text = "Hooks not responding since " + e.Since.Local().Format("15:04") + ": "
	}
	if rest, ok := strings.CutPrefix(e.Why, "its "); ok {
		text += name + "'s " + rest
	} else if rest, ok := strings.CutPrefix(e.Why, "it "); ok {
		text += name + " " + rest
	} else {
		text += name + ": " + e.Why
	}
	text += ", so its shell and editor can still write."
	if e.Fix != "" {
		text += " Fix: " + strings.TrimSuffix(e.Fix, ".") + "."
	}
	return text
}
