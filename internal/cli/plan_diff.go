package cli

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newPlanDiffCommand(a *app) *cobra.Command {
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
	cmd := newCommand("plan diff", "[V1] [V2]", atMostTwo, func(cmd *cobra.Command, args []string) error {
		c, err := callVerb(cmd, args, a, (*verbs.Service).ComparePlans, in)
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

// planName returns a name that ComparePlans accepts: here a prefix of an id is enough.
func planName(state plan.State, name string) (string, error) {
	if name == "draft" || name == "current" || name == "approved" {
		return name, nil
	}
	return planID(state, name)
}
