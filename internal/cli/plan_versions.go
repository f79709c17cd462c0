package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

func newPlanListCommand(a *app) *cobra.Command {
	return newCommand("plan list", "", noArguments, func(cmd *cobra.Command, _ []string) error {
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
			return a.print([]byte("There are no plans yet. Start one: planloop start GOAL --step TITLE\n"))
		}
		return a.print(terminal.Joined(a.screen().PlanTable(rows)))
	})
}

func newPlanRestoreCommand(a *app) *cobra.Command {
	cmd := newCommand("plan restore", "ID", atMostOne("the id of a plan"), runVerb(a, (*verbs.Service).Restore, a.formerPlan))
	cmd.ValidArgsFunction = firstArgument(a.completeFormer)
	return cmd
}

// formerPlan returns the id of the plan to restore; without an argument its error suggests the latest one.
func (a *app) formerPlan(cmd *cobra.Command, args []string) (string, error) {
	_, state, err := a.state(cmd.Context())
	if err != nil {
		return "", err
	}
	former := state.FormerPlans()
	switch {
	case len(args) > 0:
		return formerID(state, args[0])
	case len(former) == 0:
		return "", plan.Refuse(plan.NotFound, "", "no former plan can be restored",
			"replaced and cleared plans can be restored")
	}
	return "", usageError{fmt.Errorf("planloop plan restore needs the id of a plan; the latest former one is %s: planloop plan restore %s",
		plan.Quote(former[0].Objective), former[0].ID)}
}

// planID returns the id of the plan named by its id, a unique prefix of it, or a version of the current plan, such as v2.
func planID(s plan.State, named string) (string, error) {
	return oneOf(s, s.PlanIDs(), named, "list them with `planloop plan list`")
}

// formerID is planID for plans that can be restored.
func formerID(s plan.State, named string) (string, error) {
	var ids []string
	for _, head := range s.FormerPlans() {
		ids = append(ids, head.ID)
	}
	if s.Plan != nil && s.Plan.ID == named {
		return named, nil // the verb reports that it is the current one
	}
	return oneOf(s, ids, named, "list the former plans with `planloop plan list`")
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
		return "", plan.Refuse(plan.NotFound, "/plan_id", "plan "+plan.Quote(named)+" does not exist", fix)
	}
	const shown = 5
	list := strings.Join(found[:min(len(found), shown)], ", ")
	if len(found) > shown {
		list += ", …"
	}
	return "", plan.Refuse(plan.InvalidInput, "/plan_id", plan.Quote(named)+" matches the ids of several plans",
		"give more of the id: "+list)
}

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
