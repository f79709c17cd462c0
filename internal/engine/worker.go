package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/plan"
)

// EnvRun is the environment variable that identifies a started agent and its child processes. Its value is
// run/step/attempt/nonce.
const EnvRun = "PLANLOOP_RUN"

// environmentOf returns the value of EnvRun for an attempt.
func environmentOf(run string, a plan.Attempt, nonce string) string {
	return fmt.Sprintf("%s/%s/%d/%s", run, a.Step, a.Attempt, nonce)
}

// Worker is an agent that an engine started: its configured name, and its attempt.
type Worker struct {
	Agent string
	Scope plan.Attempt
}

// FindWorker reports whether a process belongs to an agent that an engine started: by its environment, or by its
// ancestors. chain returns the process and its ancestors; it is only called if an agent runs. An environment with an
// attempt that is not running belongs to an attempt that is over.
func FindWorker(stateDir, environment string, chain func() []process.Ancestor) (w Worker, ok bool) {
	for _, step := range runningSteps(stateDir) {
		if step.Agent != "" && (environment == environmentOf(step.Run, step.attempt(), step.Nonce) ||
			step.Process != nil && step.Process.In(chain())) {
			return Worker{step.Agent, step.attempt()}, true
		}
	}
	if environment == "" {
		return Worker{}, false
	}
	ended := Worker{Agent: "agent", Scope: plan.Attempt{Attempt: 1}} // no plan
	if parts := strings.Split(environment, "/"); len(parts) == 4 {
		ended.Scope.Step, _ = plan.ParseStepID(parts[1])
		if n, err := strconv.Atoi(parts[2]); err == nil {
			ended.Scope.Attempt = max(1, n)
		}
	}
	return ended, true
}

// AgentRunsElsewhere reports whether an agent runs in a different process namespace, so that this process cannot tell
// whether it descends from that agent.
func AgentRunsElsewhere(stateDir string) bool {
	for _, step := range runningSteps(stateDir) {
		if step.Agent != "" && step.Process != nil && !step.Process.Here() {
			return true
		}
	}
	return false
}
