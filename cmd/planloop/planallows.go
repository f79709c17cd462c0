package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/shell"
)

func newPlanAllowsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "allows -- 'COMMAND'",
		Short: "Say whether a command only reads",
		Long: `Says whether planning mode allows a shell command: exit code 0 when it only reads,
2 with the reason when it could write or run something else, or when that cannot
be told. The command is one argument, read as bash reads a line; it is not run.`,
		Example: `  planloop plan allows -- 'git log --oneline | head'
  planloop plan allows -- 'find . -name "*.tmp" -delete'     # exit code 2`,
		Args: exactly(1, "one command in quotes"),
		RunE: func(_ *cobra.Command, args []string) error {
			verdict := shell.Classify(args[0])
			if a.flags.json {
				if err := a.printJSON(allowsReply{verdict.Allowed, verdict.Reason, verdict.Instead}); err != nil || verdict.Allowed {
					return err
				}
				return exitStatus(exitRefused)
			}
			if verdict.Allowed {
				return a.print([]byte("allowed: it only reads\n"))
			}
			text := verdict.Reason
			if verdict.Instead != "" {
				text += "; instead: " + verdict.Instead
			}
			return usageError{fmt.Errorf("not allowed in planning mode: %s", text)}
		},
	}
}

// allowsReply is a verdict as JSON.
type allowsReply struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
	Instead string `json:"instead,omitempty"`
}
