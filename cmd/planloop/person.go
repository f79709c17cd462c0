package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/lineage"
	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// hostVariables tell of an agent's shell, set by its host or by planloop.
func hostVariables() []string {
	return append(hosts.Variables(), engine.EnvRun, model.EnvInside, workspace.EnvAgent)
}

// shellVariables are those of them that no host is known to set in its servers as well.
// Claude Code sets CLAUDECODE in both since 2.1.154.
func shellVariables() []string { return []string{"CODEX_SANDBOX", "CURSOR_AGENT", "COPILOT_AGENT"} }

// agentAbove returns which host's variable a process above the first one was started with,
// "" for none: a script can take it out of its own environment, not out of that.
func agentAbove(above []lineage.Environment) string {
	for _, environment := range above {
		if variable, _ := environment.First(hostVariables()...); variable != "" {
			return variable
		}
	}
	return ""
}

// startedByAgent reports whether a server runs beneath an agent's shell: what its client
// says of a user the agent may have made up.
func (a *app) startedByAgent(ctx context.Context) bool {
	for _, variable := range shellVariables() {
		if a.getenv(variable) != "" {
			return true
		}
	}
	if above := a.agentAbove(); above != "" && above != workspace.EnvAgent { // which users name their hosts by
		return true
	}
	opened, err := a.open(ctx, nil)
	if _, works := a.worker(); works { // nobody sits beside an agent that was started for a step
		return true
	}
	return err != nil || opened.beneath()
}

// personPresent refuses what only a person may do, unless one sits at the terminal.
// It keeps a model from answering for its user by mistake or by way of a script; a
// program that takes over the user's own terminal it cannot tell from the user.
func (a *app) personPresent(what string) error {
	why := a.notPresent()
	if why == "" {
		return nil
	}
	return plan.Refuse(plan.Conflict, "", what+" is for a person to do, and "+why, "run it in a terminal of your own")
}

// agentsShell says why this is the shell of an agent, "" when nothing tells of one.
func (a *app) agentsShell() string {
	for _, variable := range hostVariables() {
		if a.getenv(variable) != "" {
			return "this shell belongs to an agent (" + variable + " is set)"
		}
	}
	if variable := a.agentAbove(); variable != "" {
		return "this shell was started by that of an agent (" + variable + " is set there)"
	}
	if _, works := a.worker(); works {
		return "this shell belongs to an agent that planloop started"
	}
	if opened := a.opened.Load(); opened != nil && engine.AgentElsewhere(opened.place.StateDir) {
		return "an agent works here, and whether this shell is its own cannot be told from another name space of processes"
	}
	return ""
}

// notPresent says why no person seems to sit at the terminal, "" when one does.
func (a *app) notPresent() string {
	switch why := a.agentsShell(); {
	case why != "":
		return why
	case a.flags.agent != "":
		return "--agent says that this is an agent"
	case workspace.InCI(a.getenv):
		return "this is a CI job (CI is set)"
	case !a.inTerminal:
		return "standard input is not a terminal"
	}
	return ""
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 10

// readLine reads a line, unless ctx ends first: then the reading goroutine is
// left behind until the process ends, since a terminal cannot be interrupted.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(in, maxAnswer)).ReadString('\n')
		answers <- answer{text, err}
	}()
	select {
	case got := <-answers:
		if got.err != nil && !errors.Is(got.err, io.EOF) {
			return "", fmt.Errorf("read the answer: %w", got.err)
		}
		return got.text, nil
	case <-ctx.Done():
		return "", nil
	}
}
