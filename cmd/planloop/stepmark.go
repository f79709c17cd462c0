package main

import (
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
		Args:              exactly(2, "a step and a status"),
		ValidArgsFunction: a.completeMark,
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := markAction(args[0], args[1], note, cmd.Flags().Changed("note"))
			if err != nil {
				return err
			}
			action.Force = force
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := service.Mark(cmd.Context(), a.caller(), action)
			if err != nil {
				return err
			}
			return a.reply(reply)
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
		return plan.MarkStep{}, &plan.ValidationError{Kind: plan.InvalidInput, Field: "/status", Problem: "is blank", Fix: "use a status such as done"}
	}
	if noted {
		action.Note, err = plan.Text{Field: "/note", Max: plan.MaxLongText, Multiline: true}.Required(note)
	}
	return action, err
}
