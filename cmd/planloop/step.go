package main

import (
	"github.com/spf13/cobra"
)

func newStepCommand(a *app) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:   "step",
		Short: "Add, edit, mark and claim steps",
		Example: `  planloop step add "Write the tests"
  planloop step edit S002 --title "Write two tests"
  planloop step mark S002 done --note "both pass"
  planloop step claim S003 --force`,
	}, newStepAddCommand(a), newStepEditCommand(a), newStepMarkCommand(a), newStepClaimCommand(a))
}
