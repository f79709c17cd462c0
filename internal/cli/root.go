package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// newRootCommand returns the command tree.
func newRootCommand(a *app) *cobra.Command {
	root := newCommand("planloop", "", cobra.ArbitraryArgs, a.runWithoutCommand)
	root.Version, root.SilenceErrors, root.SilenceUsage = version(), true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		a.isParsed = true
		return cmp.Or(a.checkAgentName(), a.refuseInsideModel(cmd), a.refuseOutsideStep(cmd))
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok && invalid.GetFlag().Value.Type() == "duration" {
			err = fmt.Errorf("--%s is %s; write a time with its unit, such as 30s or 2h", invalid.GetFlag().Name,
				plan.Quote(invalid.GetValue()))
		}
		return usageError{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
	})
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.flags.workspace, "workspace", "C", "", "use the plan of the directory `DIR` (default: the enclosing git work "+
		"tree)")
	flags.StringVar(&a.flags.agent, "agent", "", "act as the agent `NAME`")
	flags.BoolVar(&a.flags.json, "json", false, "print JSON")
	flags.BoolVar(&a.flags.ephemeral, "ephemeral", false, "keep the plan in memory only, while this process runs")
	flags.BoolVarP(&a.flags.verbose, "verbose", "v", false, "log more to standard error")
	complete(root, "workspace", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	addGroup(root, "The plan:", newShowCommand(a), newStepCommand(a), newTemplateCommand(a), newClearCommand(a), newLogCommand(a),
		newObjectCommand(a, "replan", (*verbs.Service).Replan))
	addGroup(root, "The loop:", newStartCommand(a), newStatusCommand(a), newObjectCommand(a, "update", (*verbs.Service).Update),
		newAlertCommand(a), newCheckCommand(a), newSuggestCommand(a), newResumeCommand(a), newPromptCommand(a), newSyncCommand(a))
	addGroup(root, "Running the plan:", newRunCommand(a), newPauseCommand(a))
	addGroup(root, "Planning mode:", newPlanCommand(a), newObjectCommand(a, "submit", (*verbs.Service).SubmitPlan),
		newReviewCommand(a), newApproveCommand(a), newRejectCommand(a), newEditCommand(a), newAnswerCommand(a), newCommentCommand(a),
		newReplyCommand(a))
	addGroup(root, "Other programs:", newServeCommand(a), newServersCommand(a), newHookCommand(a), newExportCommand(a), newImportCommand(a))
	addGroup(root, "Care:", newInitCommand(a), newHostsCommand(a), newDoctorCommand(a), newPurgeCommand(a), newVersionCommand(a))
	root.AddCommand(completed(newCommand("configuration", "", nil, nil), withGates)) // a topic
	a.addStandardCommands(root)
	return root
}

func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}

// addStandardCommands adds the library's help and completion commands, with examples, as every command here has them.
func (a *app) addStandardCommands(root *cobra.Command) {
	root.SetHelpCommandGroupID("Care:")
	root.SetCompletionCommandGroupID("Care:")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Example = "  planloop help step mark\n  planloop help --json        # all commands with their flags"
			cmd.RunE = a.helpFor(cmd.Run)
		case "completion":
			cmd.Example = "  source <(planloop completion bash)"
			for _, shell := range cmd.Commands() {
				shell.Example = "  planloop completion " + shell.Name()
			}
			commandGroup(cmd)
			cmd.RunE = withoutShell
		}
	}
}

// withoutShell refuses completion for a missing or unknown shell, and lists the valid ones.
func withoutShell(cmd *cobra.Command, args []string) error {
	const shells = "bash, fish, powershell or zsh"
	if len(args) == 0 {
		return missing(cmd, "the name of a shell: "+shells)
	}
	return usageError{fmt.Errorf("completion does not support %s; name a shell: %s", plan.Quote(args[0]), shells)}
}
