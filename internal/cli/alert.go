package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newAlertCommand(a *app) *cobra.Command {
	var id, message, task string
	var level plan.SignalLevel
	var clear bool
	var reach plan.Reach
	in := func(cmd *cobra.Command, _ []string) (verbs.Alert, error) {
		in := verbs.Alert{ID: id, Level: &level, Message: message, Clear: clear, Reach: reach}
		switch {
		case !cmd.Flags().Changed("id"):
			return in, missing(cmd, "--id ID")
		case clear && cmd.Flags().Changed("message"):
			return in, usageError{errors.New("--clear and --message exclude each other; give one of them")}
		}
		if err := plan.OneOf("/level", level); err != nil || task == "" {
			return in, err
		}
		step, err := plan.ParseStepID(task)
		in.TaskID = (*verbs.TaskID)(&step)
		return in, err
	}
	cmd := newCommand("alert", "--id ID", noArguments, func(cmd *cobra.Command, args []string) error {
		var err error
		if reach, err = a.onSignalTrack(cmd.Context(), task); err != nil {
			return err
		}
		reply, err := callVerb(cmd, args, a, (*verbs.Service).Alert, in)
		switch {
		case err != nil:
			return err
		case clear && a.isReadByPerson():
			return a.printReply(reply, reply.Cleared())
		}
		return a.reply(reply)
	})
	flags := cmd.Flags()
	flags.StringVar(&id, "id", "", "the `ID` of the signal, such as tests")
	addLevel(cmd, &level)
	flags.StringVarP(&message, "message", "m", "", "`TEXT` that describes the problem")
	flags.StringVar(&task, "task", "", "the `TASK` it is about, such as 2")
	flags.BoolVar(&clear, "clear", false, "clear the signal: its cause is fixed")
	return cmd
}

func addLevel(cmd *cobra.Command, level *plan.SignalLevel) {
	cmd.Flags().StringVar((*string)(level), "level", string(plan.Blocker), "its `LEVEL`: blocker, warning or info")
	complete(cmd, "level", words(plan.SignalLevel("")))
}
