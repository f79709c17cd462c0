package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
)

func newStepEditCommand(a *app) *cobra.Command {
	var fields stepFields
	var title string
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
			checked := title
			if !cmd.Flags().Changed("title") {
				checked = "unchanged" // the rule that a step has a title does not concern this edit
			}
			spec, err := fields.spec(checked)
			if err != nil {
				return err
			}
			change := patch(cmd, spec)
			if change.IsZero() {
				return usageError{fmt.Errorf("%s needs something to change, such as --title or --details; see `%s --help`", commandName(cmd), cmd.CommandPath())}
			}
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := service.EditStep(cmd.Context(), a.caller(), id, change)
			if err != nil {
				return err
			}
			return a.reply(reply)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&title, "title", "", "the new `TITLE`")
	fields.register(cmd)
	complete(cmd, "depends-on", a.completeSteps)
	return cmd
}
