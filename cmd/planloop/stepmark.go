package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
)

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
		Args: exactly(2, "a step and a status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := markAction(args[0], args[1], note, cmd.Flags().Changed("note"))
			if err != nil {
				return err
			}
			action.Force = force
			opened, err := a.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			reply, err := opened.verbs.Mark(cmd.Context(), a.caller(), action)
			if err != nil {
				return err
			}
			return a.show(reply)
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "what was observed")
	cmd.Flags().BoolVar(&force, "force", false, "take over another actor's claim (people only)")
	return cmd
}

func markAction(step, status, note string, noted bool) (plan.MarkStep, error) {
	id, err := plan.ParseStepID(step)
	if err != nil {
		return plan.MarkStep{}, err
	}
	action := plan.MarkStep{Step: id, Status: plan.StepStatus(status)}
	if err := plan.OneOf("status", action.Status); err != nil {
		return plan.MarkStep{}, err
	}
	if noted {
		action.Note, err = plan.Text{Field: "--note", Max: plan.MaxLongText, Multiline: true}.Required(note)
	}
	return action, err
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usageError{fmt.Errorf("%s needs %s; see `%s --help`", cmd.CommandPath(), what, cmd.CommandPath())}
	}
}
