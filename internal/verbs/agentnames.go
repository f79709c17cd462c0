package verbs

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/planloop/planloop/plan"
)

// connectionName matches an agent's name that was derived from its connection, such as claude-code#a9dcbf. Colour codes
// of a terminal match too, because they would otherwise become part of the name after them.
var connectionName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[[0-9;]*m|[\pL\pN._-]+#[0-9a-f]{6}\b`)
})

// ForPeople returns a text with the names of agents as people see them; see NamesForPeople.
func (s *Service) ForPeople(text string) string { return s.NamesForPeople()(text) }

// NamesForPeople returns a function that leaves out, in a text, the suffix of agents' names, as in claude-code#a9dcbf,
// unless two active agents share the rest of the name. A word of that form counts as an agent's name if it is in known
// or if planloop has seen an agent of that name here, but not if the plan contains it: an approver must read exactly what
// agents get, and agents choose part of their name.
func (s *Service) NamesForPeople(known ...string) func(text string) string {
	short, shared := map[string]string{}, sync.OnceValue(s.sharedNames)
	shorten := func(name string) string {
		if _, done := short[name]; !done {
			short[name] = name
			stem, _, ok := strings.Cut(name, "#")
			if ok && (slices.Contains(known, name) || !s.seenLast(name).At.IsZero()) && !shared()[stem] && !s.isInPlan(name) {
				short[name] = stem
			}
		}
		return short[name]
	}
	return func(text string) string {
		if !strings.Contains(text, "#") {
			return text
		}
		return connectionName().ReplaceAllStringFunc(text, shorten)
	}
}

// isInPlan reports whether a text is part of the current plan or of its draft.
func (s *Service) isInPlan(text string) bool {
	state, err := s.session.State(context.Background())
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
	return err != nil
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
