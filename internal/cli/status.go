package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newStatusCommand(a *app) *cobra.Command {
	var wait time.Duration
	var task string
	in := func(*cobra.Command, []string) (verbs.Status, error) {
		if wait < 0 {
			return verbs.Status{}, usageError{fmt.Errorf("--wait %s is negative; give a time such as 30s", wait)}
		}
		in := verbs.Status{Wait: int((wait + time.Second - 1) / time.Second)}
		if task == "" {
			return in, nil
		}
		step, err := plan.ParseStepID(task)
		in.Task = (*verbs.TaskID)(&step)
		return in, err
	}
	cmd := newCommand("status", "", noArguments, func(cmd *cobra.Command, args []string) error {
		reply, err := call(cmd, args, a, (*verbs.Service).Status, in)
		switch {
		case err != nil:
			return err
		case !a.flags.json && task == "" && a.caller().Actor.Present():
			return a.statusForPerson(cmd.Context(), reply)
		case !a.flags.json && reply.Now.InstructionsContent != "": // the next action names planloop sync
			reply.Now.InstructionsContent, reply.Now.AgentInstructions = "", ""
		}
		return a.reply(reply)
	})
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait at most `TIME`, such as 30s, for a change")
	cmd.Flags().StringVar(&task, "task", "", "show this `TASK` in full, such as 2")
	return cmd
}

func newResumeCommand(a *app) *cobra.Command {
	return newCommand("resume", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		opened, state, err := a.state(cmd.Context())
		if err != nil {
			return err
		}
		return a.reply(said{opened.verbs.Resume(state, a.caller())})
	})
}

// said is a reply that consists of a text.
type said struct {
	Said string `json:"text"`
}

// Text returns the text.
func (s said) Text() string { return s.Said }
