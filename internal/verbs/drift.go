package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// AgentsMD returns the canonical rule book, which names the file it stands in.
func (s *Service) AgentsMD() string {
	return resources.AgentsMD(resources.AgentsData{File: s.RulesOnDisk().File})
}

// RulesOnDisk looks at the rule book on disk, as it is now; the zero value where none
// is kept.
func (s *Service) RulesOnDisk() Rules {
	if s.opts.RuleBook == nil {
		return Rules{}
	}
	return s.opts.RuleBook.Inspect()
}

// RulesChanged tells when the rule book on disk may have changed, until the context
// ends. It is nil, and never tells anything, where none is kept or watched.
func (s *Service) RulesChanged(ctx context.Context) <-chan struct{} {
	if s.opts.RuleBook == nil {
		return nil
	}
	return s.opts.RuleBook.Changed(ctx)
}

// StatusIn is Status in a state that was read already, for whoever shows it to
// others than the caller: the caller has not been told by it.
func (s *Service) StatusIn(state plan.State, c Caller) StatusReply { return s.status(state, c, false) }
