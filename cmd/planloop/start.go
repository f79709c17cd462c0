package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
)

func newStartCommand(a *app) *cobra.Command {
	var in verbs.Start
	cmd := &cobra.Command{
		Use:   "start --goal TEXT",
		Short: "Begin a session for a goal",
		Long: `Begins a session: a plan with one task, which is to break the goal down. An agent
gets it from "planloop status --json". The former plan is archived.

With --decompose the configured model drafts the tasks from the goal, the files
it names and the tree; the quality gates and the model as a judge criticise the
draft, at most three rounds. The draft waits for a person. The answer is JSON.`,
		Example: `  planloop start --goal "Implement the features described in spec.md"
  planloop start --goal "Add --json to list" --decompose --code cmd/list.go
  planloop start --goal "Move to v2" --decompose --constraint "no new dependencies"`,
		Args: a.inJSON(noArguments),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("goal") {
				return missing(cmd, `--goal "what to achieve"`)
			}
			return a.start(cmd.Context(), in)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&in.Goal, "goal", "g", "", "`TEXT` of what to achieve")
	flags.BoolVar(&in.Decompose, "decompose", false, "have the configured model draft the tasks")
	flags.Var((*texts)(&in.Code), "code", "a `FILE` that shows how things are done; may be given again, like the next two")
	flags.Var((*texts)(&in.Memories), "memory", "`TEXT` that former work taught")
	flags.Var((*texts)(&in.Constraints), "constraint", "`TEXT` of what the plan must keep to")
	return cmd
}

func (a *app) start(ctx context.Context, in verbs.Start) error {
	service, err := a.service(ctx)
	if err != nil {
		return err
	}
	caller := a.caller()
	caller.Progress = func(done, all int, what string) {
		fmt.Fprintf(a.err, "planloop: %s (%d of %d)\n", safetext.EscapeLine(what), done, all)
	}
	reply, err := service.Start(ctx, caller, in)
	if err != nil {
		return err
	}
	return a.reply(reply)
}
