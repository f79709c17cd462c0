package main

import (
	"github.com/spf13/cobra"
)

func newStepCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Add, edit, mark and claim steps",
		Example: `  planloop step add "Write the tests"
  planloop step edit S002 --title "Write two tests"
  planloop step mark S002 done --note "both pass"`,
		Args: func(cmd *cobra.Command, args []string) error { return atLeastOne("add, edit, mark or claim")(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return noArguments(cmd, args) },
	}
	cmd.AddCommand(newStepMarkCommand(a))
	return cmd
}
