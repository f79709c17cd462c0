package main

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newSubmitCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit",
		Short: "Put a plan before a person",
		Long: `Takes one JSON object: summary, steps, questions, context_notes. The steps have to
pass the quality gates. The plan waits beside the current one until a person
approves, edits or rejects it. The object comes with --json, from --file, or on
standard input. The answer is JSON.`,
		Example: `  planloop submit --file plan.json
  planloop submit < plan.json`,
	}
	takesObject(a, cmd, (*verbs.Service).SubmitPlan)
	return cmd
}
