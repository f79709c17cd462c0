package cli

import (
	"context"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// adopt drafts the plan that an agent keeps in its host, if no plan is open. It reports nothing: the agent did not ask for the draft, and
// any shell can fake a hook call, so the draft has no effect until a person decides.
func (a *app) adopt(ctx context.Context, opened *opened, call hook.Call) {
	adopted := call.HostPlan()
	if adopted == nil {
		return
	}
	caller := a.hookCaller(opened)
	if caller.Actor.Kind != plan.Agent { // the call comes from the host's agent, even if a person's process runs the hook
		caller = verbs.Caller{Actor: plan.NewActor(plan.ViaAgentShell, string(call.Host)), Face: terminal.CommandLine{}}
	}
	if _, err := opened.verbs.AdoptHostPlan(ctx, caller, *adopted); err != nil {
		a.logger().Debug("a host's plan was not adopted", "host", call.Host, "error", err)
	}
}
