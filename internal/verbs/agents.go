package verbs

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/planloop/planloop/plan"
)

// Agents is the configured agents that a run starts for steps: see agents.Agents.
type Agents interface {
	For(suggested string) (name string, ok bool) // the agent for a step
	Starts(name string) int                      // the most starts in a run; 0: unlimited
	Program(name string) string                  // its program, for people
	Check(name string) error                     // why it cannot be started here
	Unset(name string) []string                  // variables configured for it that have no value
}

// checkAgents returns an error if an agent for the rest of the plan cannot be started, and warnings about unset variables.
func (s *Service) checkAgents(state plan.State) (warnings []string, err error) {
	var seen []string
	for step := range state.Plan.Steps.Unfinished() {
		name := s.agentFor(state, step)
		if name == "" || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		if err := s.opts.Agents.Check(name); err != nil {
			return nil, err
		}
		if unset := s.opts.Agents.Unset(name); len(unset) > 0 {
			warnings = append(warnings, "the agent "+plan.Quote(name)+" needs "+strings.Join(unset, ", ")+
				", not set in the environment")
		}
	}
	return warnings, nil
}

func (s *Service) agentFor(state plan.State, step *plan.Step) string {
	if s.opts.Agents == nil || !step.IsForAgents() {
		return ""
	}
	name, ok := s.opts.Agents.For(step.SuggestedAgent)
	if !ok || !state.MayStartAgent(name, s.opts.Agents.Starts(name)) {
		return ""
	}
	return name
}

// startsAgent reports whether the caller's run starts an agent for a step. An agent's run starts none.
func (v view) startsAgent(step *plan.Step) bool {
	return v.Actor.Kind != plan.Agent && v.agentFor(v.state, step) != ""
}

// hasRunnableSteps reports whether the caller's run would carry out any unfinished step.
func (v view) hasRunnableSteps() bool {
	return plan.Exists(v.state.Plan.Steps.Unfinished(), func(step *plan.Step) bool {
		return step.Tool != "" || step.ForEach != "" || v.startsAgent(step)
	})
}

// unknownAgent returns a step's suggested agent if agents are configured but none of that name; else "".
func (s *Service) unknownAgent(step *plan.Step) string {
	wanted := strings.TrimSpace(step.SuggestedAgent)
	if s.opts.Agents == nil || !step.IsForAgents() || wanted == "" || strings.EqualFold(wanted, "any") {
		return ""
	}
	if name, ok := s.opts.Agents.For(wanted); ok && strings.EqualFold(name, wanted) {
		return ""
	}
	return wanted
}

// HasRunnableSteps reports whether a run would carry out any step of the current plan.
func (s *Service) HasRunnableSteps(state plan.State) bool {
	return state.Plan != nil && s.view(state, Caller{}, Rules{}).hasRunnableSteps()
}

// connectionName matches an agent's name that was derived from its connection, such as claude-code#a9dcbf, with its quotes, or an
// engine's. Colour codes of a terminal match too, because they would otherwise become part of the name after them.
var connectionName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[[0-9;]*m|"[\pL\pN._-]+#[0-9a-f]{6}"|` +
		`[\pL\pN._-]+#[0-9a-f]{6}\b|\b` + plan.EnginePrefix + `[a-z2-7]{8}\b`)
})

// ForPeople returns a text with the names of agents as people see them; see NamesForPeople.
func (s *Service) ForPeople(text string) string { return s.NamesForPeople()(text) }

// NamesForPeople returns a function that names agents in a text by their hosts: Claude Code for claude-code#a9dcbf. If two active agents
// share a host, the suffix is kept. Engines are planloop. A word of that form counts as an agent's name if it is in known
// or if planloop has seen an agent of that name here, but not if the plan contains it: an approver must read exactly what
// agents get, and agents choose part of their name.
func (s *Service) NamesForPeople(known ...string) func(text string) string {
	short, shared := map[string]string{}, sync.OnceValue(s.sharedNames)
	shorten := func(found string) string {
		if _, done := short[found]; !done {
			short[found] = found
			name := strings.Trim(found, `"`)
			stem, suffix, _ := strings.Cut(name, "#")
			isEngine, title := stem+"#" == plan.EnginePrefix, ""
			if s.opts.Tracks != nil {
				title = s.opts.Tracks.Title(stem)
			}
			switch {
			case suffix == "" || !isEngine && !slices.Contains(known, name) && s.seenLast(name).At.IsZero() || s.isInPlan(name):
			case isEngine:
				short[found] = string(plan.Planloop)
			case !shared()[stem]:
				short[found] = cmp.Or(title, stem)
			case title != "":
				short[found] = title + " (" + suffix + ")"
			}
		}
		return short[found]
	}
	return func(text string) string {
		if !strings.Contains(text, "#") {
			return text
		}
		return connectionName().ReplaceAllStringFunc(text, shorten)
	}
}

func (s *Service) isInPlan(text string) bool {
	state, err := s.session.State(context.Background())
	if err != nil {
		return true // when in doubt, people see the whole name
	}
	has := func(texts []string) bool {
		return slices.ContainsFunc(texts, func(one string) bool { return strings.Contains(one, text) })
	}
	for _, p := range []*plan.Plan{state.Plan, state.Draft} {
		if p == nil {
			continue
		}
		for _, f := range plan.PlanFields() {
			if f.Name != "created_by" && has(f.Texts(p)) {
				return true
			}
		}
		for step := range p.Steps.All() {
			for _, f := range plan.SpecFields() {
				if has(f.Texts(step)) {
					return true
				}
			}
		}
	}
	return false
}

// sharedNames returns the names without suffix that two or more active agents share.
func (s *Service) sharedNames() map[string]bool {
	shared, full := map[string]bool{}, map[string]string{}
	if s.opts.Hooks == nil {
		return shared
	}
	for _, a := range s.opts.Hooks.Agents() {
		stem, _, _ := strings.Cut(a.Agent, "#")
		other, known := full[stem]
		shared[stem] = shared[stem] || known && other != a.Agent
		full[stem] = a.Agent
	}
	return shared
}
