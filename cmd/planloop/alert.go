package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newAlertCommand(a *app) *cobra.Command {
	var o alertOptions
	cmd := &cobra.Command{
		Use:   "alert --id ID",
		Short: "Raise or clear a signal",
		Long: `Raises a signal that concerns the plan, such as a failing test, or clears it.
Agents are told; a blocker stops them until it is cleared. Raising a signal that
is open updates it, raising a cleared one opens it again.`,
		Example: `  planloop alert --id tests --message "TestLogin fails" --task 2
  planloop alert --id lint --level warning --message "3 findings"
  planloop alert --id tests --clear`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := o.input(cmd)
			if err != nil {
				return err
			}
			return answer(cmd.Context(), a, (*verbs.Service).Alert, in)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.id, "id", "", "the `ID` of the signal, such as tests")
	flags.StringVar(&o.level, "level", string(plan.Blocker), "its `LEVEL`: blocker, warning or info")
	flags.StringVarP(&o.message, "message", "m", "", "`TEXT` of what is wrong")
	flags.StringVar(&o.task, "task", "", "the `TASK` it is about, such as 2")
	flags.BoolVar(&o.clear, "clear", false, "what it reports is fixed")
	complete(cmd, "level", words(plan.SignalLevel("")))
	return cmd
}

type alertOptions struct {
	id, level, message, task string
	clear                    bool
}

func (o alertOptions) input(cmd *cobra.Command) (verbs.Alert, error) {
	level := plan.SignalLevel(o.level)
	in := verbs.Alert{ID: o.id, Level: &level, Message: o.message, Clear: o.clear}
	if !cmd.Flags().Changed("id") {
		return in, missing(cmd, "--id ID")
	}
	if o.clear && cmd.Flags().Changed("message") {
		return in, usageError{errors.New("--clear and --message exclude each other; give one of them")}
	}
	if err := plan.OneOf("/level", level); err != nil {
		return in, err
	}
	if o.task == "" {
		return in, nil
	}
	id, err := plan.ParseStepID(o.task)
	task := verbs.TaskID(id)
	in.TaskID = &task
	return in, err
}
