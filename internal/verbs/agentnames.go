package verbs

import (
	"regexp"
	"slices"
	"strings"
	"sync"
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
// or if planloop has seen an agent of that name here.
func (s *Service) NamesForPeople(known ...string) func(text string) string {
	short, shared := map[string]string{}, sync.OnceValue(s.sharedNames)
	shorten := func(name string) string {
		if _, done := short[name]; !done {
			short[name] = name
			stem, _, ok := strings.Cut(name, "#")
			if ok && (slices.Contains(known, name) || s.hasSeen(name)) && !shared()[stem] {
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

func (s *Service) hasSeen(name string) bool {
	return s.opts.Presence != nil && !s.opts.Presence.Seen(name).At.IsZero()
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
