package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/plan"
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

// planID returns the id of the one plan of s that is named by its id or the
// beginning of it.
func planID(s plan.State, named string) (string, error) {
	return oneOf(s.PlanIDs(), named, "list them with `planloop plans`")
}

// formerID is planID among the plans that can be restored.
func formerID(s plan.State, named string) (string, error) {
	var ids []string
	for _, head := range s.Former() {
		ids = append(ids, head.ID)
	}
	if s.Plan != nil && s.Plan.ID == named {
		return named, nil // the verb says that it is the current one
	}
	return oneOf(ids, named, "list the former plans with `planloop plans`")
}

func oneOf(ids []string, named, fix string) (string, error) {
	if slices.Contains(ids, named) {
		return named, nil
	}
	var found []string
	for _, id := range ids {
		if named != "" && strings.HasPrefix(id, named) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &plan.ValidationError{Kind: plan.NotFound, Field: "/plan_id", Problem: "there is no plan " + plan.Quote(named), Fix: fix}
	}
	const shown = 5
	list := strings.Join(found[:min(len(found), shown)], ", ")
	if len(found) > shown {
		list += ", …"
	}
	return "", &plan.ValidationError{Kind: plan.InvalidInput, Field: "/plan_id",
		Problem: plan.Quote(named) + " begins the ids of several plans", Fix: "give more of one: " + list}
}

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
