package main

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
)

func newStepAddCommand(a *app) *cobra.Command {
	var fields stepFields
	cmd := &cobra.Command{
		Use:   "add TITLE...",
		Short: "Append steps to the plan",
		Long: `Appends steps to the active plan, one for each title. The other flags hold for
all of them.`,
		Example: `  planloop step add "Write the tests"
  planloop step add "Write the tests" "Update the docs" "Tag the release"
  planloop step add "Release" --depends-on S001,S002 --risk high --criterion "CI is green"
  planloop step add "Fix the cookie" --type bugfix --path src/login.go --verify "go test ./..."`,
		Args: atLeastOne("the title of a step"),
		RunE: func(cmd *cobra.Command, titles []string) error {
			steps := make([]plan.NewStep, len(titles))
			for i, title := range titles {
				spec, err := fields.spec(title)
				if err != nil {
					return err
				}
				steps[i].Spec = spec
			}
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := service.AddSteps(cmd.Context(), a.caller(), steps)
			if err != nil {
				return err
			}
			return a.reply(reply)
		},
	}
	fields.register(cmd)
	complete(cmd, "depends-on", a.completeSteps)
	return cmd
}
