package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/trouble"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

func newPlansCommand(a *app) *cobra.Command {
	return newCommand("plans", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		_, state, err := a.state(cmd.Context())
		if err != nil {
			return err
		}
		if a.flags.json {
			data, err := resources.Plans(state)
			return a.printDocument(data, err)
		}
		rows := terminal.PlanRows(state)
		if len(rows) == 0 {
			return a.print([]byte("There are no plans yet. Set one up: planloop setup OBJECTIVE\n"))
		}
		return a.print(terminal.Joined(a.screen().PlanTable(rows)))
	})
}

func newRestoreCommand(a *app) *cobra.Command {
	cmd := newCommand("restore", "ID", atMostOne("the id of a plan"), calls(a, (*verbs.Service).Restore, a.formerPlan))
	cmd.ValidArgsFunction = firstArgument(a.completeFormer)
	return cmd
}

// formerPlan returns the id of the plan to restore; without an argument it says which
// one was probably meant.
func (a *app) formerPlan(cmd *cobra.Command, args []string) (string, error) {
	_, state, err := a.state(cmd.Context())
	if err != nil {
		return "", err
	}
	former := state.Former()
	switch {
	case len(args) > 0:
		return formerID(state, args[0])
	case len(former) == 0:
		return "", plan.Refuse(plan.NotFound, "", "there is no former plan to restore",
			"plans are kept here when they are replaced or cleared")
	}
	return "", usageError{fmt.Errorf("planloop restore needs the id of a plan; the latest former one is %s: planloop restore %s",
		plan.Quote(former[0].Objective), former[0].ID)}
}

// planID returns the id of the one plan of s that is named by its id or the beginning of
// it, or by the version of the current plan, such as v2.
func planID(s plan.State, named string) (string, error) {
	return oneOf(s, s.PlanIDs(), named, "list them with `planloop plans`")
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
	return oneOf(s, ids, named, "list the former plans with `planloop plans`")
}

func oneOf(s plan.State, ids []string, named, fix string) (string, error) {
	if slices.Contains(ids, named) {
		return named, nil
	}
	id, noVersion := verbs.VersionID(s, named)
	if noVersion == nil {
		return id, nil
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
		if verbs.IsVersion(named) {
			return "", noVersion
		}
		return "", plan.Refuse(plan.NotFound, "/plan_id", "there is no plan "+plan.Quote(named), fix)
	}
	const shown = 5
	list := strings.Join(found[:min(len(found), shown)], ", ")
	if len(found) > shown {
		list += ", …"
	}
	return "", plan.Refuse(plan.InvalidInput, "/plan_id", plan.Quote(named)+" matches the ids of several plans",
		"give more of the id: "+list)
}

// purgeWord is what a person types to confirm.
const purgeWord = "purge"

func newPurgeCommand(a *app) *cobra.Command {
	return newCommand("purge", "", noArguments, func(cmd *cobra.Command, _ []string) error { return a.purge(cmd.Context()) })
}

func (a *app) purge(ctx context.Context) error {
	if a.flags.json || !a.inTerminal || !a.outIsTerm {
		return plan.Refuse(plan.Conflict, "", "only a person at a terminal may delete the history",
			"run `planloop purge` in a terminal, without --json")
	}
	if err := a.personPresent("deleting the history"); err != nil {
		return err
	}
	opened, state, err := a.state(ctx)
	if err != nil {
		return err
	}
	if state.Revision == 0 {
		return a.print([]byte("There is nothing to delete.\n"))
	}
	question := fmt.Sprintf("This deletes for good everything planloop knows about %s:\n%s, %s of history.\nType %s to confirm: ",
		safetext.EscapeLine(opened.place.Path), plan.Counted(len(terminal.PlanRows(state)), "plan"),
		plan.Counted(int(state.Revision), "change"), purgeWord)
	if err := a.print([]byte(question)); err != nil {
		return err
	}
	answer, err := readLine(ctx, a.in)
	if err != nil {
		return err
	}
	if strings.TrimSpace(answer) != purgeWord {
		return plan.Refuse(plan.Conflict, "", "nothing was deleted", "type the word "+purgeWord+" to confirm")
	}
	if err := opened.verbs.Purge(ctx, a.caller()); err != nil {
		return err
	}
	if err := engine.RemoveLogs(opened.place.StateDir); err != nil {
		return fmt.Errorf("the history is deleted, but not what agents printed: %w", err)
	}
	if err := trouble.Forget(opened.place.StateDir); err != nil {
		return fmt.Errorf("the history is deleted, but not what went wrong: %w", err)
	}
	return a.print([]byte("All plans of this workspace are deleted.\n"))
}
