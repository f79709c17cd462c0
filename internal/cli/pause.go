package cli

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newPauseCommand(a *app) *cobra.Command {
	var reason string
	cmd := newCommand("pause", "", noArguments, calls(a, (*verbs.Service).PauseRun,
		func(*cobra.Command, []string) (string, error) { return reason, nil }))
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says why")
	return cmd
}
