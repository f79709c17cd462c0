package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/plan"
)

// Worker is an agent that an engine started: its configured name, and its attempt.
type Worker struct {
	Agent string
	Scope plan.Attempt
}

// FindWorker reports whether a process belongs to an agent that an engine started: by its environment, or by its
// ancestors. chain returns the process and its ancestors; it is only called if an agent runs. An environment with an
// attempt that is not running belongs to an attempt that is over.
func FindWorker(stateDir, environment string, chain func() []process.Ancestor) (w Worker, is bool) {
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
	over := Worker{Agent: "agent", Scope: plan.Attempt{Attempt: 1}} // no plan
	if parts := strings.Split(environment, "/"); len(parts) == 4 {
		over.Scope.Step, _ = plan.ParseStepID(parts[1])
		if n, err := strconv.Atoi(parts[2]); err == nil {
			over.Scope.Attempt = max(1, n)
		}
	}
	return over, true
}

// AgentRunsElsewhere reports whether an agent runs in a different process namespace, so that this process cannot tell
// whether it descends from that agent.
func AgentRunsElsewhere(stateDir string) bool {
	for _, path := range factsPaths(stateDir) {
		if one, err := readFacts(path); err == nil && one.Agent != "" && one.Process != nil && !one.Process.Here() {
			return true
		}
	}
	return false
}

// environmentOf returns the value of EnvRun for an attempt.
func environmentOf(run string, a plan.Attempt, nonce string) string {
	return fmt.Sprintf("%s/%s/%d/%s", run, a.Step, a.Attempt, nonce)
}
