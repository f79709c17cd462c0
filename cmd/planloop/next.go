package main

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newNextCommand(a *app) *cobra.Command {
	return newCommand("next", "", noArguments, calls(a, (*verbs.Service).NextStep,
		func(*cobra.Command, []string) (verbs.NextStep, error) {
			return verbs.NextStep{Agent: a.flags.agent}, nil
		}))
}
