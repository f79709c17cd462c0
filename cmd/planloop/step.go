package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newStepCommand(a *app) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:   "step",
		Short: "Add, edit, mark and claim steps",
		Example: `  planloop step add "Write the tests"
  planloop step edit S002 --title "Write two tests"
  planloop step mark S002 done --note "both pass"
  planloop step claim S003 --force`,
	}, newStepAddCommand(a), newStepEditCommand(a), newStepMarkCommand(a), newStepClaimCommand(a))
}

func newStepAddCommand(a *app) *cobra.Command {
	var fields stepFlags
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
				if steps[i], err = plan.CleanStep("", plan.NewStep{Spec: spec}); err != nil {
					return err
				}
			}
			return answer(cmd.Context(), a, (*verbs.Service).AddSteps, steps)
		},
	}
	fields.register(cmd)
	complete(cmd, "depends-on", a.completeSteps)
	return cmd
}

func newStepEditCommand(a *app) *cobra.Command {
	var fields stepFlags
	cmd := &cobra.Command{
		Use:   "edit STEP",
		Short: "Change what a step asks for",
		Long: `Changes the fields of a step that are given; the others stay. An empty value
clears a field, and a list that is given replaces the former one.`,
		Example: `  planloop step edit S002 --title "Write two tests"
  planloop step edit S002 --details ""                # clears the details
  planloop step edit S003 --depends-on S001,S002
  planloop step edit S003 --critical=false --hint "look at login.go"`,
		Args:              exactly(1, "a step"),
		ValidArgsFunction: firstArgument(a.completeSteps),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := plan.ParseStepID(args[0])
			if err != nil {
				return err
			}
			change, err := fields.patch(cmd)
			if err != nil {
				return err
			}
			if change.IsZero() {
				return usageError{fmt.Errorf("%s needs something to change, such as --title or --details; see `%s --help`",
					commandName(cmd), cmd.CommandPath())}
			}
			edit := func(s *verbs.Service, ctx context.Context, c verbs.Caller, change plan.Patch) (verbs.UpdateStepReply, error) {
				return s.EditStep(ctx, c, id, change)
			}
			return answer(cmd.Context(), a, edit, change)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&fields.step.Title, "title", "", "the new `TITLE`")
	fields.register(cmd)
	complete(cmd, "depends-on", a.completeSteps)
	return cmd
}

func newStepMarkCommand(a *app) *cobra.Command {
	var note string
	var force bool
	cmd := &cobra.Command{
		Use:   "mark STEP STATUS",
		Short: "Change the status of a step",
		Long: `Changes the status of a step to pending, in_progress, blocked, done, failed,
skipped or cancelled. in_progress claims it for you.`,
		Example: `  planloop step mark S001 in_progress
  planloop step mark S001 done --note "all tests pass"
  planloop step mark S001 pending --force     # although another actor has claimed it`,
		Args:              exactly(2, "a step and a status"),
		ValidArgsFunction: a.completeMark,
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := markAction(args[0], args[1], note, cmd.Flags().Changed("note"))
			if err != nil {
				return err
			}
			action.Force = force
			return answer(cmd.Context(), a, (*verbs.Service).Mark, action)
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "`TEXT` about what was observed")
	cmd.Flags().BoolVar(&force, "force", false, "take over another actor's claim (people only)")
	return cmd
}

func markAction(step, status, note string, noted bool) (plan.MarkStep, error) {
	id, err := plan.ParseStepID(step)
	if err != nil {
		return plan.MarkStep{}, err
	}
	action := plan.MarkStep{Step: id, Status: plan.StepStatus(status)}
	if err := plan.OneOf("/status", action.Status); err != nil {
		return plan.MarkStep{}, err
	}
	if action.Status == "" {
		return plan.MarkStep{}, &plan.ValidationError{Kind: plan.InvalidInput, Field: "/status", Problem: "is blank",
			Fix: "use a status such as done"}
	}
	if noted {
		action.Note, err = plan.Text{Field: "/note", Max: plan.MaxLongText, Multiline: true}.Required(note)
	}
	return action, err
}

func newStepClaimCommand(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "claim STEP",
		Short: "Take over a step in progress, or renew the own claim",
		Long: `Takes a step in progress whose owner is gone or has been silent for a lease, or
renews the own claim. With --force a person takes it from an owner at work.`,
		Example: `  planloop step claim S002
  planloop step claim S002 --force
  planloop step claim S002 --agent codex`,
		Args:              exactly(1, "a step"),
		ValidArgsFunction: firstArgument(a.completeSteps),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := plan.ParseStepID(args[0])
			if err != nil {
				return err
			}
			return answer(cmd.Context(), a, (*verbs.Service).ClaimStep, plan.ClaimStep{Step: id, Force: force})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "take it from an owner at work (people only)")
	return cmd
}
