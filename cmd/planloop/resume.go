package main

import "github.com/spf13/cobra"

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
