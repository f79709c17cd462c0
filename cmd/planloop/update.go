package main

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newUpdateCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update",
		Short: "Add tasks, report on tasks, close the plan",
		Long: `Takes one JSON object of the contract: add_tasks, update_tasks, final_summary,
verdict. All of it is done or nothing. Added tasks have to pass the quality
gates, which report everything that is wrong at once. The object comes with
--json, from --file, or on standard input. The answer is JSON.`,
		Example: `  planloop update --json '{"update_tasks":[{"id":2,"status":"DONE"}]}'
  planloop update --json '{"update_tasks":[{"id":3,"error":"the API is gone"}]}'
  planloop update --file tasks.json
  planloop update < tasks.json`,
	}
	takesObject(a, cmd, (*verbs.Service).Update)
	return cmd
}
