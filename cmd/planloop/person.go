package main

import (
	"github.com/planloop/planloop/plan"
)

// hostVariables are set by agents' hosts in the shells they run: a person's own
// shell has none of them.
func hostVariables() []string {
	return []string{"CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE", "COPILOT_AGENT", "PLANLOOP_AGENT"}
}

// personPresent refuses what only a person may do, unless one sits at the terminal.
// It keeps a model from answering for its user by mistake or by way of a script; a
// program that takes over the user's own terminal it cannot tell from the user.
func (a *app) personPresent(what string) error {
	for _, variable := range hostVariables() {
		if a.getenv(variable) != "" {
			return &plan.ValidationError{Kind: plan.Conflict, Problem: what + " is a person's to do, and this shell belongs to an agent (" + variable + " is set)",
				Fix: "run it in a terminal of your own"}
		}
	}
	if a.flags.agent != "" || !a.inTerminal {
		return &plan.ValidationError{Kind: plan.Conflict, Problem: what + " is a person's to do, at a terminal", Fix: "run it in a terminal of your own"}
	}
	return nil
}
