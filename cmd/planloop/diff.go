package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newDiffCommand(a *app) *cobra.Command {
	in := func(cmd *cobra.Command, args []string) (in verbs.ComparePlans, err error) {
		_, state, err := a.state(cmd.Context())
		if err != nil {
			return in, err
		}
		for i, name := range args {
			named, err := planName(state, name)
			if err != nil {
				return in, err
			}
			*[]*string{&in.From, &in.To}[i] = named
		}
		return in, nil
	}
	cmd := newCommand("diff", "[V1] [V2]", atMostTwo, func(cmd *cobra.Command, args []string) error {
		c, err := call(cmd, args, a, (*verbs.Service).ComparePlans, in)
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.printJSON(c)
		}
		return a.print(terminal.Joined(a.screen().Comparison(c.Text())))
	})
	cmd.ValidArgsFunction = a.completePlans
	return cmd
}

// planName is a name as ComparePlans takes it: the beginning of an id is enough here.
func planName(state plan.State, name string) (string, error) {
	if name == "draft" || name == "current" || name == "approved" {
		return name, nil
	}
	return planID(state, name)
}

func atMostTwo(cmd *cobra.Command, args []string) error {
	if len(args) <= 2 {
		return nil
	}
	return usageError{fmt.Errorf("%s takes two plans at most, got %s; see `%s --help`", commandName(cmd), plan.Quote(args[2]),
		cmd.CommandPath())}
}
