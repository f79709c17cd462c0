package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newStatusCommand(a *app) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say what to do now, and why",
		Long: `Says what to do now: the current task with its hints, the signal that blocks, or
what else stands in the way. With --json the answer is that of the JSON contract.
With --wait it comes when something has changed, or the time is over.`,
		Example: `  planloop status
  planloop status --json
  planloop status --json --wait 30s`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wait < 0 {
				return usageError{fmt.Errorf("--wait %s lies in the past; give a time such as 30s", wait)}
			}
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			seconds := int((wait + time.Second - 1) / time.Second)
			reply, err := service.Status(cmd.Context(), a.caller(), verbs.Status{Wait: seconds})
			if err != nil {
				return err
			}
			return a.reply(reply)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait at most `TIME`, such as 30s, for a change")
	return cmd
}

func newResumeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "Say in short what is needed to go on",
		Long: `Says all that an agent needs to go on after its context was lost, in at most 300
tokens however large the plan is: the objective, how far it has come, the current
task and the next, and what blocks.`,
		Example: `  planloop resume`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			state, err := service.State(cmd.Context())
			if err != nil {
				return err
			}
			return a.reply(said{service.Resume(state, a.caller())})
		},
	}
}

// said is a reply that is nothing but a text.
type said struct {
	Said string `json:"text"`
}

// Text is the text.
func (s said) Text() string { return s.Said }
