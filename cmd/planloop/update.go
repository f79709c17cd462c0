package main

import (
	"context"
	"errors"

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

// takesObject makes a command take one JSON object of the contract, hand it to a verb,
// and answer in JSON.
func takesObject[In any, Out verbs.Reply](a *app, cmd *cobra.Command,
	verb func(*verbs.Service, context.Context, verbs.Caller, In) (Out, error)) {
	var inline, file string
	cmd.Args = a.inJSON(noArguments)
	cmd.Flags().StringVar(&inline, "json", "", "the `OBJECT`")
	cmd.Flags().StringVarP(&file, "file", "f", "", "read the object from `FILE`, or from standard input with -")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		data, err := a.payload(cmd, inline, file)
		if err != nil {
			return err
		}
		var in In
		if err := verbs.Decode(data, &in); err != nil {
			return err
		}
		return answer(cmd.Context(), a, verb, in)
	}
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
