package main

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newClearCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "clear",
		Short:   "Abandon the current plan; it can be restored",
		Example: "  planloop clear\n  planloop plans          # find its id\n  planloop restore ID",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := service.ClearPlan(cmd.Context(), a.caller(), verbs.ClearPlan{})
			if err != nil {
				return err
			}
			return a.reply(reply)
		},
	}
}
