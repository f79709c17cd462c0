package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// hostVariables returns the variables that mark an agent's shell, set by its host or by planloop.
func hostVariables() []string {
	return append(hosts.ShellVariables(), engine.EnvRun, model.EnvInside, workspace.EnvAgent)
}

// shellVariables returns the host variables that no known host also sets for its servers. Claude Code sets CLAUDECODE for both since
// 2.1.154.
func shellVariables() []string { return []string{"CODEX_SANDBOX", "CURSOR_AGENT", "COPILOT_AGENT"} }

// agentAbove returns the host variable that an ancestor was started with, "" if none: a script can remove the variable from its own
// environment, not from an ancestor's.
func agentAbove(above []process.Variables) string {
	for _, environment := range above {
		if variable, _ := environment.First(hostVariables()...); variable != "" {
			return variable
		}
	}
	return ""
}

// startedByAgent reports whether a server descends from an agent's shell: then the agent may have made up the user that the client speaks
// for.
func (a *app) startedByAgent(ctx context.Context) bool {
	for _, variable := range shellVariables() {
		if a.getenv(variable) != "" {
			return true
		}
	}
	if above := a.agentAbove(); above != "" && above != workspace.EnvAgent { // users name their hosts by it
		return true
	}
	opened, err := a.open(ctx, nil)
	if _, works := a.worker(); works { // an agent started for a step works without a person
		return true
	}
	return err != nil || opened.beneath()
}

// personPresent refuses an act reserved for people unless a person sits at the terminal. It keeps a model from answering for its user by
// mistake or through a script. It cannot detect a program that takes over the user's own terminal.
func (a *app) personPresent(what string) error {
	why := a.notPresent()
	if why == "" {
		return nil
	}
	return plan.Refuse(plan.Conflict, "", what+" is for a person to do, and "+why, "run it in a terminal of your own")
}

// agentsShell returns why this shell belongs to an agent, "" without a sign of one.
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
	if opened := a.opened.Load(); opened != nil && engine.AgentRunsElsewhere(opened.place.StateDir) {
		return "an agent works here, and whether this shell is its own cannot be told from another name space of processes"
	}
	return ""
}

// notPresent returns why no person seems to sit at the terminal, "" if one does.
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

// maxAnswer limits the length of an answer, in bytes.
const maxAnswer = 1 << 10

// readLine reads a line, unless ctx ends first: then the reading goroutine is abandoned until the process ends, since reading a terminal
// cannot be interrupted.
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
