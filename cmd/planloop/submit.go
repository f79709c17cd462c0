package main

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newSubmitCommand(a *app) *cobra.Command {
	var payload, file string
	cmd := &cobra.Command{
		Use:   "submit",
		Short: "Put a plan before a person",
		Long: `Takes one JSON object: summary, steps, questions, context_notes. The steps have to
pass the quality gates. The plan waits beside the current one until a person
approves, edits or rejects it. The object comes with --json, from --file, or on
standard input. The answer is JSON.`,
		Example: `  planloop submit --file plan.json
  planloop submit < plan.json`,
		Args: a.inJSON(noArguments),
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := a.payload(cmd, payload, file)
			if err != nil {
				return err
			}
			var in verbs.SubmitPlan
			if err := verbs.Decode(data, &in); err != nil {
				return err
			}
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := service.SubmitPlan(cmd.Context(), a.caller(), in)
			if err != nil {
				return err
			}
			return a.reply(reply)
		},
	}
	cmd.Flags().StringVar(&payload, "json", "", "the `OBJECT`")
	cmd.Flags().StringVarP(&file, "file", "f", "", "read the object from `FILE`, or from standard input with -")
	return cmd
}
