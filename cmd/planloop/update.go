package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newUpdateCommand(a *app) *cobra.Command {
	var payload, file string
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
		Args: a.inJSON(noArguments),
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := a.payload(cmd, payload, file)
			if err != nil {
				return err
			}
			var in verbs.Update
			if err := verbs.Decode(data, &in); err != nil {
				return err
			}
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			reply, err := service.Update(cmd.Context(), a.caller(), in)
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

// payload returns the object from where it was given.
func (a *app) payload(cmd *cobra.Command, payload, file string) ([]byte, error) {
	inline, fromFile := cmd.Flags().Changed("json"), cmd.Flags().Changed("file")
	switch {
	case inline && fromFile:
		return nil, usageError{errors.New("--json and --file exclude each other; give one of them")}
	case inline:
		return []byte(payload), nil
	case fromFile:
		return a.readInput(file)
	case a.inTerminal:
		return nil, missing(cmd, "an object: --json, --file or standard input")
	}
	return a.readInput("-")
}
