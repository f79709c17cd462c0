package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

func newEventsCommand(a *app) *cobra.Command {
	var since int64
	var follow bool
	cmd := newCommand("events", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		if since < 0 {
			return usageError{fmt.Errorf("--since takes a number, 0 or more")}
		}
		return a.printEvents(cmd.Context(), plan.Revision(since), follow)
	})
	cmd.Flags().Int64Var(&since, "since", 0, "print the events after revision `REV`")
	cmd.Flags().BoolVar(&follow, "follow", false, "stay, and print what is added")
	return cmd
}

// printEvents prints events, one JSON object a line; that somebody ends it is no error.
func (a *app) printEvents(ctx context.Context, since plan.Revision, follow bool) error {
	opened, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	for event, err := range opened.verbs.Events(ctx, since, follow) {
		if err == nil {
			var line []byte
			if line, err = resources.Event(event); err == nil {
				err = a.print(append(safetext.EscapeJSON(line), '\n'))
			}
		}
		if follow && ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
