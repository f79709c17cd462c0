package main

import (
	"github.com/spf13/cobra"
)

// newRootCommand returns the command tree. Each command stands in a file of its
// name.
func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "planloop",
		Short: "Keeps the plan an agent works by",
		Long: `planloop keeps the plan an LLM agent works by: on disk, so that it survives
compaction, restarts and a change of agent. Agents reach it over MCP
("planloop serve"), people over this command line.

Exit codes: 0 done, 1 something broke, 2 refused (nothing was changed).`,
		Example: `  planloop serve                 # what an agent's host starts
  planloop show --watch          # watch the plan change
  planloop step mark S001 done`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          func(cmd *cobra.Command, args []string) error { return a.welcome(cmd, args) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.StringVarP(&a.flags.workspace, "workspace", "C", "", "directory whose plan it is (default: the enclosing git work tree)")
	flags.StringVar(&a.flags.agent, "agent", "", "act as the agent of that name")
	flags.BoolVar(&a.flags.json, "json", false, "print JSON")
	flags.BoolVar(&a.flags.ephemeral, "ephemeral", false, "keep the plan in memory only")
	flags.BoolVarP(&a.flags.verbose, "verbose", "v", false, "log more to standard error")
	root.AddCommand(
		newServeCommand(a),
		newSetupCommand(a),
		newStepCommand(a),
		newClearCommand(a),
		newVersionCommand(a),
	)
	root.CompletionOptions.HiddenDefaultCmd = false
	return root
}
