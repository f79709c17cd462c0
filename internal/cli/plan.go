package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newPlanCommand(a *app) *cobra.Command {
	cmd := newCommand("plan", "[TASK...]", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		if err := refuseMisspelled(cmd, args); err != nil {
			return err
		}
		return a.enterMode(cmd, args)
	})
	cmd.SuggestionsMinimumDistance = 2
	cancel := func(s *verbs.Service, ctx context.Context, c verbs.Caller, _ string) (verbs.ModeReply, error) {
		return s.CancelPlanMode(ctx, c)
	}
	cancelled := func(reply verbs.ModeReply) string {
		if reply.Phase == plan.PhaseExecuting {
			return "Planning mode is off. The approved plan continues, and the waiting plan is dropped. Agents see that on their " +
				"next status."
		}
		return "Planning mode is off. Agents see that on their next status check."
	}
	cmd.AddCommand(
		newCommand("plan start", "[TASK...]", cobra.ArbitraryArgs, a.enterMode),
		newCommand("plan status", "", noArguments, a.modeStatus),
		newCommand("plan cancel", "", noArguments, runAsPerson(a, "cancelling planning mode", cancel, joinedText, cancelled)),
		newCommand("plan allows", "-- 'COMMAND'", exactly(1, "one command in quotes"), a.allows),
		newPlanListCommand(a), newPlanDiffCommand(a), newPlanRestoreCommand(a),
	)
	return cmd
}

func (a *app) enterMode(cmd *cobra.Command, args []string) error {
	ws, before, err := a.state(cmd.Context())
	if err != nil {
		return err
	}
	reply, err := ws.verbs.EnterPlanModeFor(cmd.Context(), a.caller(), strings.Join(args, " "))
	if err != nil {
		return err
	}
	if before.PhaseNow() != plan.PhaseInactive {
		if !a.flags.json {
			a.note("planning mode is already on")
		}
		return a.printMode(ws, reply, before)
	}
	if a.whyNoPerson() != "" {
		return a.reply(reply)
	}
	return a.printReply(reply, "Planning mode is on. Agents can read, ask and submit a plan; "+
		"nothing can be changed until you approve one.\n"+
		"Wait for the plan: planloop status --wait 10m. Leave the mode: planloop plan cancel")
}

// refuseMisspelled refuses a single word that looks like a subcommand: it would be taken as the topic of planning mode, which keeps every
// agent from writing.
func refuseMisspelled(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return nil
	}
	if likely := cmd.SuggestionsFor(args[0]); len(likely) > 0 {
		return usageError{fmt.Errorf("%s is not a task to plan for; did you mean `%s %s`? To plan for it anyway: %s start %s",
			plan.Quote(args[0]), cmd.CommandPath(), likely[0], cmd.CommandPath(), safetext.QuoteWord(args[0]))}
	}
	return nil
}

func (a *app) modeStatus(cmd *cobra.Command, _ []string) error {
	ws, state, err := a.state(cmd.Context())
	if err != nil {
		return err
	}
	reply, err := ws.verbs.PlanModeStatus(cmd.Context(), a.caller())
	if err != nil {
		return err
	}
	return a.printMode(ws, reply, state)
}

// printMode prints the state of planning mode.
func (a *app) printMode(ws *openWorkspace, reply verbs.ModeReply, state plan.State) error {
	if a.flags.json {
		return a.printJSON(reply)
	}
	v := terminal.ModeView{Screen: a.screen(), State: state, Limits: ws.config.Limits(), Next: reply.NextAction, Now: time.Now(),
		Hooks: verbs.EnforcementLine(reply.Enforcement)}
	return a.printLines(v.Lines())
}

func (a *app) allows(_ *cobra.Command, args []string) error {
	verdict := shell.ClassifyForHost(args[0])
	if a.flags.json {
		if err := a.printJSON(allowsReply{verdict.Allowed, verdict.Reason, verdict.Instead}); err != nil || verdict.Allowed {
			return err
		}
		return exitStatus(exitRefused)
	}
	if verdict.Allowed {
		return a.print([]byte("allowed: it only reads\n"))
	}
	text := verdict.Reason
	if verdict.Instead != "" {
		text += "; instead: " + verdict.Instead
	}
	return usageError{fmt.Errorf("not allowed in planning mode: %s", text)}
}

// allowsReply is a verdict in JSON.
type allowsReply struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
	Instead string `json:"instead,omitempty"`
}
