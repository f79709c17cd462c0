package main

import (
	"context"
	"time"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/resources"
)

// ruleBook is the rule book in the workspace's file for agents.
type ruleBook struct {
	workspace string
	file      string // below it, with slashes
}

func (r ruleBook) canonical() string { return resources.AgentsMD(resources.AgentsData{File: r.file}) }

// Inspect looks at the file on disk.
func (r ruleBook) Inspect() verbs.Rules {
	found, err := agentsmd.Inspect(r.workspace, r.file, r.canonical())
	rules := verbs.Rules{File: r.file, Exists: found.State != agentsmd.Absent, Content: string(found.Content)}
	switch found.State {
	case agentsmd.InSync:
		return rules
	case agentsmd.Absent:
		rules.State = "missing"
	case agentsmd.NoBlock:
		rules.State = "without planloop's rules"
	case agentsmd.Outdated:
		rules.State = "outdated"
	case agentsmd.Edited:
		rules.State = "changed within planloop's block"
	default:
		rules.State = "not in order"
	}
	switch {
	case err != nil:
		rules.State, rules.Problem = "not in order", err.Error()
	case found.Refusal != nil:
		rules.Problem = found.Refusal.Error()
	}
	return rules
}

// settled is how long a file has to be quiet before it is looked at.
const settled = 50 * time.Millisecond

// Changed tells when the file may have changed.
func (r ruleBook) Changed(ctx context.Context) <-chan struct{} {
	changed, err := agentsmd.Watch(ctx, r.workspace, r.file, settled)
	if err != nil {
		return nil // a status looks at the file all the same
	}
	return changed
}
