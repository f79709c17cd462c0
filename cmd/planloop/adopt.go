package main

import (
	"context"
	"slices"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// adopt takes over what an agent's host tells of the agent's own plan there, as a draft where no plan is
// open. It says nothing, whatever comes of it: what a hook tells can be made up by any shell, so that it
// counts for nothing until a person decides on the draft, and the agent did not ask for it.
func (a *app) adopt(ctx context.Context, opened *opened, call hook.Call) {
	if call.Does != hook.Plans || call.Subagent != "" || call.Session == "" || call.Moment != adoptedAt(call) {
		return
	}
	told := exchange.ReadHostPlan(call.Tool, call.Input, call.Result)
	if told == nil {
		return
	}
	caller := a.hookCaller(opened)
	if caller.Actor.Kind != plan.Agent { // whoever runs hooks, it is the host's agent that speaks
		caller = verbs.Caller{Actor: plan.NewActor(plan.ViaAgentShell, string(call.Host)), Face: terminal.CommandLine{}}
	}
	_, err := opened.verbs.AdoptHostPlan(ctx, caller, plan.AdoptPlan{Outline: told.Outline, Steps: told.Steps, Task: told.Task,
		MadeUp: told.MadeUp, Agreed: told.Agreed, Host: string(call.Host), Session: call.Session})
	if err != nil {
		a.logger().Debug("a host's plan was not taken over", "host", call.Host, "error", err)
	}
}

// adoptedAt is when a tool's call tells of a plan: when it is over, or before where the host does not tell
// that it is. A plan that its user is about to see is told before as well.
func adoptedAt(call hook.Call) hook.Moment {
	shown := call.Moment == hook.BeforeTool && exchange.ShowsPlan(call.Tool)
	after := slices.ContainsFunc(hook.Events(call.Host), func(e hook.Event) bool { return e.Moment == hook.AfterTool })
	if shown || !after {
		return hook.BeforeTool
	}
	return hook.AfterTool
}
