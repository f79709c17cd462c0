package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newStartCommand(a *app) *cobra.Command {
	var in verbs.Start
	start := func(s *verbs.Service, ctx context.Context, c verbs.Caller, in verbs.Start) (verbs.StartReply, error) {
		c.Progress = func(done, all int, what string) {
			fmt.Fprintf(a.err, "planloop: %s (%d of %d)\n", safetext.EscapeLine(what), done, all)
		}
		return s.Start(ctx, c, in)
	}
	cmd := newCommand("start", "--goal TEXT", a.inJSON, calls(a, start, func(cmd *cobra.Command, _ []string) (verbs.Start, error) {
		if !cmd.Flags().Changed("goal") {
			return in, missing(cmd, `--goal "what to achieve"`)
		}
		return in, nil
	}))
	flags := cmd.Flags()
	flags.StringVarP(&in.Goal, "goal", "g", "", "`TEXT` that says what to achieve")
	flags.BoolVar(&in.Decompose, "decompose", false, "have the configured model draft the tasks")
	flags.Var((*texts)(&in.Code), "code", "a `FILE` that shows how things are done; may be repeated, like the next two")
	flags.Var((*texts)(&in.Memories), "memory", "`TEXT` that says what earlier work has taught")
	flags.Var((*texts)(&in.Constraints), "constraint", "`TEXT` that the plan must respect")
	return cmd
}

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

// said is a reply that is nothing but a text.
type said struct {
	Said string `json:"text"`
}

// Text is the text.
func (s said) Text() string { return s.Said }
