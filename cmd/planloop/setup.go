package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// setupInput is a plan as --file gives it: the input of planning_setup_plan, and
// every other field of a plan and its steps.
type setupInput struct {
	plan.Outline
	InitialSteps []plan.Spec `json:"initial_steps,omitempty"`
}

func newSetupCommand(a *app) *cobra.Command {
	var steps []string
	var file string
	cmd := &cobra.Command{
		Use:   "setup OBJECTIVE",
		Short: "Set up a plan; the former one is archived",
		Long: `Sets up a plan: an objective and its first steps. The former plan is archived and
can be restored.

With --file the plan comes as JSON: "objective" and "initial_steps", a list of
objects with "title" and any other field of a step ("details", "depends_on",
"acceptance_criteria" …). Steps get the ids S001, S002 … in order.`,
		Example: `  planloop setup "Fix the login bug"
  planloop setup "Release 1.2" --step "Update the changelog" --step "Tag the release"
  planloop setup --file plan.json
  echo '{"objective":"Release 1.2","initial_steps":[{"title":"Tag it"}]}' | planloop setup --file -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case file == "" && len(args) == 0:
				return missing(cmd, "an objective")
			case file != "" && (len(args) > 0 || len(steps) > 0):
				return usageError{fmt.Errorf("the objective and the steps come from --file %s; leave out the others", plan.Quote(file))}
			}
			in := setupInput{Outline: plan.Outline{Objective: strings.Join(args, " ")}}
			for _, title := range steps {
				in.InitialSteps = append(in.InitialSteps, plan.Spec{Title: title})
			}
			return a.setup(cmd.Context(), in, file)
		},
	}
	cmd.Flags().Var((*texts)(&steps), "step", "`TITLE` of a first step; may be given again")
	cmd.Flags().StringVar(&file, "file", "", "read the plan as JSON from `FILE`, or - for standard input")
	return cmd
}

func (a *app) setup(ctx context.Context, in setupInput, file string) error {
	if file != "" {
		data, err := a.readInput(file)
		if err != nil {
			return err
		}
		if err := verbs.Decode(data, &in); err != nil {
			return err
		}
	}
	action, err := in.action()
	if err != nil {
		return err
	}
	return answer(ctx, a, (*verbs.Service).SetUp, action)
}

// action cleans the input by the rules of the command line, which takes Unicode
// and longer texts than the tools for agents.
func (in setupInput) action() (plan.SetUp, error) {
	outline, err := plan.CleanOutline("", in.Outline)
	if err != nil {
		return plan.SetUp{}, err
	}
	action := plan.SetUp{Outline: outline}
	for i, spec := range in.InitialSteps {
		step, err := plan.CleanStep(fmt.Sprintf("/initial_steps/%d", i), plan.NewStep{Spec: spec})
		if err != nil {
			return plan.SetUp{}, err
		}
		action.Steps = append(action.Steps, step)
	}
	return action, nil
}

func newClearCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "clear",
		Short:   "Abandon the current plan; it can be restored",
		Example: "  planloop clear\n  planloop plans          # find its id\n  planloop restore ID",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return answer(cmd.Context(), a, (*verbs.Service).ClearPlan, verbs.ClearPlan{})
		},
	}
}
