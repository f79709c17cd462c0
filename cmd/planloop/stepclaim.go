package main

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
)

func newStepClaimCommand(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "claim STEP",
		Short: "Take over a step in progress, or renew the own claim",
		Long: `Takes a step in progress whose owner is gone or has been silent for a lease, or
renews the own claim. With --force a person takes it from an owner at work.`,
		Example: `  planloop step claim S002
  planloop step claim S002 --force
  planloop step claim S002 --agent codex`,
		Args:              exactly(1, "a step"),
		ValidArgsFunction: firstArgument(a.completeSteps),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := plan.ParseStepID(args[0])
			if err != nil {
				return err
			}
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := service.ClaimStep(cmd.Context(), a.caller(), plan.ClaimStep{Step: id, Force: force})
			if err != nil {
				return err
			}
			return a.reply(reply)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "take it from an owner at work (people only)")
	return cmd
}
