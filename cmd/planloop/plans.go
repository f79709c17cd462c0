package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/resources"
)

func newPlansCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "plans",
		Short: "List the current plan and the former ones",
		Long: `Lists the current plan, marked with *, a draft that waits, and the former plans,
newest first. Nothing is lost when a plan is replaced or cleared.`,
		Example: `  planloop plans
  planloop show --plan ID
  planloop restore ID
  planloop plans --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listPlans(cmd.Context()) },
	}
}

func (a *app) listPlans(ctx context.Context) error {
	service, err := a.service(ctx)
	if err != nil {
		return err
	}
	state, err := service.State(ctx)
	if err != nil {
		return err
	}
	if a.flags.json {
		data, err := resources.Plans(state)
		if err != nil {
			return err
		}
		if data, err = indented(data); err != nil {
			return err
		}
		return a.print(data)
	}
	rows := terminal.PlanRows(state)
	if len(rows) == 0 {
		return a.print([]byte("There are no plans yet. Set one up: planloop setup OBJECTIVE\n"))
	}
	return a.print(terminal.Joined(a.screen().PlanTable(rows)))
}
