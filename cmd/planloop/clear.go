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
			opened, err := a.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			reply, err := opened.verbs.ClearPlan(cmd.Context(), a.caller(), verbs.ClearPlan{})
			if err != nil {
				return err
			}
			return a.show(reply)
		},
	}
}
