package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
)

func newRestoreCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore ID",
		Short: "Make a former plan the current one again",
		Long: `Makes a former plan the current one again, as it was when it was replaced or
cleared. The beginning of its id is enough. The plan that is current now is
archived.`,
		Example: `  planloop plans
  planloop restore fix-the-login-bug-1763712345
  planloop restore fix-the`,
		Args:              atMost(1, "the id of a plan"),
		ValidArgsFunction: firstArgument(a.completeFormer),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.whichToRestore(cmd.Context())
			}
			return a.restore(cmd.Context(), args[0])
		},
	}
}

func (a *app) restore(ctx context.Context, named string) error {
	service, err := a.service(ctx)
	if err != nil {
		return err
	}
	state, err := service.State(ctx)
	if err != nil {
		return err
	}
	id, err := formerID(state, named)
	if err != nil {
		return err
	}
	reply, err := service.Restore(ctx, a.caller(), id)
	if err != nil {
		return err
	}
	return a.reply(reply)
}

// whichToRestore refuses a command without an id, and names the one that was
// probably meant.
func (a *app) whichToRestore(ctx context.Context) error {
	service, err := a.service(ctx)
	if err != nil {
		return err
	}
	state, err := service.State(ctx)
	if err != nil {
		return err
	}
	former := state.Former()
	if len(former) == 0 {
		return &plan.ValidationError{Kind: plan.NotFound, Problem: "there is no former plan to restore",
			Fix: "plans are kept here when they are replaced or cleared"}
	}
	return usageError{fmt.Errorf("planloop restore needs the id of a plan; the latest former one is %s: planloop restore %s",
		plan.Quote(former[0].Objective), former[0].ID)}
}
