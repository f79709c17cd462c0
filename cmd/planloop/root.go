package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// newRootCommand returns the command tree.
func newRootCommand(a *app) *cobra.Command {
	root := newCommand("planloop", "", cobra.ArbitraryArgs, a.withoutCommand)
	root.Version, root.SilenceErrors, root.SilenceUsage = version(), true, true
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		a.started = true
		return a.checkAgentName()
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration" {
			err = fmt.Errorf("--%s is %s; write a time with its unit, such as 30s or 2h", invalid.GetFlag().Name,
				plan.Quote(invalid.GetValue()))
		}
		return usageError{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
	})
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.flags.workspace, "workspace", "C", "", "work on the plan of the directory `DIR` (default: the enclosing git work "+
		"tree)")
	flags.StringVar(&a.flags.agent, "agent", "", "act as the agent `NAME`")
	flags.BoolVar(&a.flags.json, "json", false, "print JSON")
	flags.BoolVar(&a.flags.ephemeral, "ephemeral", false, "keep the plan in memory only, for as long as this process runs")
	flags.BoolVarP(&a.flags.verbose, "verbose", "v", false, "log more to standard error")
	complete(root, "workspace", onlyFolders)
	addGroup(root, "The plan:", newShowCommand(a), newSetupCommand(a), newTemplateCommand(a), newStepCommand(a), newClearCommand(a))
	addGroup(root, "The loop:", newStartCommand(a), newStatusCommand(a), newObjectCommand(a, "update", (*verbs.Service).Update),
		newAlertCommand(a), newCheckCommand(a), newSuggestCommand(a), newResumeCommand(a), newPromptCommand(a), newSyncCommand(a))
	addGroup(root, "Running the plan:", newRunCommand(a), newLogsCommand(a))
	addGroup(root, "Planning mode:", newPlanCommand(a), newObjectCommand(a, "submit", (*verbs.Service).SubmitPlan),
		newApproveCommand(a), newRejectCommand(a), newEditCommand(a), newAnswerCommand(a), newCommentCommand(a))
	addGroup(root, "Running a plan:", newPauseCommand(a), newNextCommand(a), newSkipCommand(a), newRetryCommand(a), newRecoverCommand(a),
		newObjectCommand(a, "replan", (*verbs.Service).Replan))
	addGroup(root, "History:", newLogCommand(a), newEventsCommand(a), newPlansCommand(a), newDiffCommand(a), newRestoreCommand(a))
	addGroup(root, "Other programs:", newServeCommand(a), newServersCommand(a), newExportCommand(a), newImportCommand(a))
	addGroup(root, "Care:", newDoctorCommand(a), newPurgeCommand(a), newVersionCommand(a))
	root.AddCommand(newTopic("configuration", withGates), newTopic("hosts", func(string) string {
		return string(terminal.Joined(welcomeText(a.screen(), ownPath())))
	}))
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
			cmd.RunE = helpFor(cmd.Run)
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

// helpFor refuses to help with a command that there is not.
func helpFor(help func(*cobra.Command, []string)) runner {
	return func(cmd *cobra.Command, args []string) error {
		if found, rest, err := cmd.Root().Find(args); err == nil && len(rest) > 0 {
			return unknownCommand(found, rest[0])
		}
		help(cmd, args)
		return nil
	}
}

// withoutShell says which shells there are where completion is given none of them.
func withoutShell(cmd *cobra.Command, args []string) error {
	const shells = "bash, fish, powershell or zsh"
	if len(args) == 0 {
		return missing(cmd, "the name of a shell: "+shells)
	}
	return usageError{fmt.Errorf("there is no completion for %s; name a shell: %s", plan.Quote(args[0]), shells)}
}

func onlyFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// release is the version this source stands for.
const release = "0.1.0-dev"

// version is the release, with the commit it was built from where that is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return release + "+" + setting.Value[:12]
		}
	}
	return release
}

func newVersionCommand(a *app) *cobra.Command {
	return newCommand("version", "", noArguments, func(*cobra.Command, []string) error {
		if a.flags.json {
			return a.printJSON(map[string]string{"version": version(), "go": runtime.Version(),
				"platform": runtime.GOOS + "/" + runtime.GOARCH})
		}
		return a.print(fmt.Appendf(nil, "planloop %s %s/%s\n", version(), runtime.GOOS, runtime.GOARCH))
	})
}
