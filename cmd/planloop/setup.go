package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newSetupCommand(a *app) *cobra.Command {
	var steps []string
	cmd := &cobra.Command{
		Use:   "setup OBJECTIVE",
		Short: "Set up a plan; the former one is archived",
		Example: `  planloop setup "Fix the login bug"
  planloop setup "Release 1.2" --step "Update the changelog" --step "Tag the release"`,
		Args: atLeastOne("an objective"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opened, err := a.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			in := verbs.SetupPlan{Objective: strings.Join(args, " ")}
			for _, title := range steps {
				in.InitialSteps = append(in.InitialSteps, verbs.NewStep{Title: title})
			}
			reply, err := opened.verbs.SetupPlan(cmd.Context(), a.caller(), in)
			if err != nil {
				return err
			}
			return a.show(reply)
		},
	}
	cmd.Flags().StringArrayVar(&steps, "step", nil, "title of a first step; may be given again")
	return cmd
}
