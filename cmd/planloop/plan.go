package main

import (
	"strings"

	"github.com/spf13/cobra"
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
		RunE: func(cmd *cobra.Command, args []string) error { return a.enterMode(cmd, args) },
	}
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
	service, err := a.service(cmd.Context())
	if err != nil {
		return err
	}
	reply, err := service.PlanFor(cmd.Context(), a.caller(), strings.Join(args, " "))
	if err != nil {
		return err
	}
	return a.reply(reply)
}

func newPlanStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Say where planning mode stands",
		Example: `  planloop plan status`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := service.PlanModeStatus(cmd.Context(), a.caller())
			if err != nil {
				return err
			}
			return a.reply(reply)
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
			return a.reply(reply)
		},
	}
}
