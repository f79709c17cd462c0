package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newRootCommand returns the command tree. Each command stands in a file of its
// name.
func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:     "planloop",
		Version: version(),
		Short:   "Keeps the plan an agent works by",
		Long: `planloop keeps the plan an LLM agent works by: on disk, so that it survives
compaction, restarts and a change of agent. Agents reach it over MCP
("planloop serve"), people over this command line.

Exit codes: 0 done, 1 something broke, 2 refused (nothing was changed).`,
		Example: `  planloop serve                 # what an agent's host starts
  planloop show --watch          # watch the plan change
  planloop step mark S001 done`,
		SilenceErrors:    true,
		SilenceUsage:     true,
		Args:             cobra.ArbitraryArgs,
		PersistentPreRun: func(*cobra.Command, []string) { a.started = true },
		RunE:             func(cmd *cobra.Command, args []string) error { return a.welcome(cmd, args) },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
	})
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.flags.workspace, "workspace", "C", "", "the directory `DIR` whose plan it is (default: the enclosing git work "+
		"tree)")
	flags.StringVar(&a.flags.agent, "agent", "", "act as the agent `NAME`")
	flags.BoolVar(&a.flags.json, "json", false, "print JSON")
	flags.BoolVar(&a.flags.ephemeral, "ephemeral", false, "keep the plan in memory only, as long as this process lives")
	flags.BoolVarP(&a.flags.verbose, "verbose", "v", false, "log more to standard error")
	complete(root, "workspace", onlyFolders)
	addGroup(root, "The plan:", newShowCommand(a), newSetupCommand(a), newStepCommand(a), newClearCommand(a))
	addGroup(root, "The loop:", newStartCommand(a), newStatusCommand(a), newUpdateCommand(a), newAlertCommand(a), newCheckCommand(a),
		newSuggestCommand(a), newResumeCommand(a), newPromptCommand(a), newSyncCommand(a))
	addGroup(root, "Planning mode:", newPlanCommand(a), newSubmitCommand(a), newApproveCommand(a), newRejectCommand(a), newEditCommand(a),
		newAnswerCommand(a), newCommentCommand(a))
	addGroup(root, "History:", newLogCommand(a), newPlansCommand(a), newRestoreCommand(a))
	addGroup(root, "Other programs:", newServeCommand(a), newExportCommand(a), newImportCommand(a))
	addGroup(root, "Care:", newDoctorCommand(a), newPurgeCommand(a), newVersionCommand(a))
	root.AddCommand(newConfigurationTopic())
	addStandardCommands(root)
	return root
}

func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}

// addStandardCommands adds the library's own help and completion, with the
// examples that every command here has.
func addStandardCommands(root *cobra.Command) {
	root.SetHelpCommandGroupID("Care:")
	root.SetCompletionCommandGroupID("Care:")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Example = "  planloop help step mark"
		case "completion":
			cmd.Example = "  source <(planloop completion bash)"
			for _, shell := range cmd.Commands() {
				shell.Example = "  planloop completion " + shell.Name()
			}
			commandGroup(cmd)
			cmd.RunE = withoutShell(cmd.RunE)
		}
	}
}

// withoutShell says which names there are where completion is given none.
func withoutShell(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return missing(cmd, "the name of a shell: bash, fish, powershell or zsh")
		}
		return run(cmd, args)
	}
}

func onlyFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
