package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/lineage"
	"github.com/planloop/planloop/plan"
)

// Worker is an agent that an engine has started: by which name it is configured, and the attempt that it was
// started for.
type Worker struct {
	Agent string
	Scope plan.Attempt
}

// WorkerOf reports whether a process is of an agent that an engine has started: its environment says so, or it
// descends from what was started. The chain is that of the process and those above it; it is asked for only
// where an agent runs. An environment that speaks of no attempt that is going on is that of one which is over.
func WorkerOf(stateDir, environment string, chain func() []lineage.Process) (w Worker, is bool) {
	for _, path := range factsPaths(stateDir) {
		one, err := readFacts(path)
		if err != nil || one.Agent == "" {
			continue
		}
		attempt := plan.Attempt{Plan: one.Plan, Step: one.Step, Attempt: one.Attempt}
		if environment == environmentOf(one.Run, attempt, one.Nonce) || one.Process != nil && one.Process.In(chain()) {
			return Worker{one.Agent, attempt}, true
		}
	}
	if environment == "" {
		return Worker{}, false
	}
	over := Worker{Agent: "agent", Scope: plan.Attempt{Attempt: 1}} // of no plan
	if parts := strings.Split(environment, "/"); len(parts) == 4 {
		over.Scope.Step, _ = plan.ParseStepID(parts[1])
		if n, err := strconv.Atoi(parts[2]); err == nil {
			over.Scope.Attempt = max(1, n)
		}
	}
	return over, true
}

// AgentElsewhere reports whether an agent works in the workspace of which this process cannot tell whether it
// descends from it: it sees other processes.
func AgentElsewhere(stateDir string) bool {
	for _, path := range factsPaths(stateDir) {
		if one, err := readFacts(path); err == nil && one.Agent != "" && one.Process != nil && !one.Process.Here() {
			return true
		}
	}
	return false
}

// environmentOf is what the environment of an agent says of what it was started for.
func environmentOf(run string, a plan.Attempt, nonce string) string {
	return fmt.Sprintf("%s/%s/%d/%s", run, a.Step, a.Attempt, nonce)
}
