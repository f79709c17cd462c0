package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newPlanCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan [TASK...]",
		Short: "Plan before acting: the read-only mode",
		Long: `Enters planning mode: agents may look and ask, and nothing is changed until you
have approved a plan. With a task, that is what the plan is for. While the mode is
on already, it says where it stands.`,
		Example: `  planloop plan "Move the sessions to Redis"
  planloop plan status
  planloop plan cancel
  planloop plan allows -- 'git log | head'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := misspelt(cmd, args); err != nil {
				return err
			}
			return a.enterMode(cmd, args)
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(newPlanStartCommand(a), newPlanStatusCommand(a), newPlanCancelCommand(a), newPlanAllowsCommand(a))
	return cmd
}

func newPlanStartCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "start [TASK...]",
		Short:   "Enter planning mode",
		Example: `  planloop plan start "Move the sessions to Redis"`,
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return a.enterMode(cmd, args) },
	}
}

func (a *app) enterMode(cmd *cobra.Command, args []string) error {
	opened, err := a.open(cmd.Context(), nil)
	if err != nil {
		return err
	}
	before, err := opened.verbs.State(cmd.Context())
	if err != nil {
		return err
	}
	reply, err := opened.verbs.PlanFor(cmd.Context(), a.caller(), strings.Join(args, " "))
	if err != nil {
		return err
	}
	if before.PhaseNow() != plan.PhaseInactive {
		if !a.flags.json {
			a.note("planning mode is on already")
		}
		return a.planModeStatus(opened, reply, before)
	}
	if a.notPresent() != "" {
		return a.reply(reply)
	}
	return a.tell(reply, "Planning mode is on: agents look, ask and submit a plan; nothing is changed until you approve one.\n"+
		"Wait for the plan: planloop status --wait 10m. Leave the mode: planloop plan cancel")
}

// misspelt refuses a single word that looks like a subcommand: it would be taken for
// what to plan, and keep every agent from writing.
func misspelt(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return nil
	}
	if likely := cmd.SuggestionsFor(args[0]); len(likely) > 0 {
		return usageError{fmt.Errorf("%s is not a task to plan for; did you mean `%s %s`? To plan for it all the same: %s start %s",
			plan.Quote(args[0]), cmd.CommandPath(), likely[0], cmd.CommandPath(), terminal.ShellWord(args[0]))}
	}
	return nil
}

func newPlanStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say where planning mode stands",
		Long: `Says where planning mode stands: whether agents gather or a plan waits, since when
and until when, which questions are open, and what you can do.`,
		Example: `  planloop plan status`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opened, err := a.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			state, err := opened.verbs.State(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := opened.verbs.PlanModeStatus(cmd.Context(), a.caller())
			if err != nil {
				return err
			}
			return a.planModeStatus(opened, reply, state)
		},
	}
}

func newPlanCancelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel",
		Short: "Leave planning mode without a plan",
		Long: `Leaves planning mode; a submitted plan is dropped, and what was current before
goes on. Only a person at a terminal may do that.`,
		Example: `  planloop plan cancel`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.personPresent("cancelling planning mode"); err != nil {
				return err
			}
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := service.CancelPlanMode(cmd.Context(), a.caller())
			if err != nil {
				return err
			}
			return a.tell(reply, "Planning mode is off, and nothing is held back any more. Agents hear of it with their next status.")
		},
	}
}

// planModeStatus says where planning mode stands, once more or after a change.
func (a *app) planModeStatus(opened *opened, reply verbs.ModeReply, state plan.State) error {
	if a.flags.json {
		return a.printJSON(reply)
	}
	v := terminal.ModeView{Screen: a.screen(), State: state, ApprovalTimeout: opened.config.ApprovalTimeout,
		GatheringTimeout: opened.config.GatheringTimeout, Next: reply.NextAction, Now: time.Now()}
	return a.print(terminal.Joined(v.Lines()))
}

func newPlanAllowsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "allows -- 'COMMAND'",
		Short: "Say whether a command only reads",
		Long: `Says whether planning mode allows a shell command: exit code 0 when it only reads,
2 with the reason when it could write or run something else, or when that cannot
be told. The command is one argument, read as bash reads a line; it is not run.`,
		Example: `  planloop plan allows -- 'git log --oneline | head'
  planloop plan allows -- 'find . -name "*.tmp" -delete'     # exit code 2`,
		Args: exactly(1, "one command in quotes"),
		RunE: func(_ *cobra.Command, args []string) error {
			verdict := shell.Classify(args[0])
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
		},
	}
}

// allowsReply is a verdict as JSON.
type allowsReply struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
	Instead string `json:"instead,omitempty"`
}
