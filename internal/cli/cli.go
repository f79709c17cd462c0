// Package cli is the command line: it parses arguments, wires the parts together, prints, and turns errors into exit codes. Each
// family of commands is in a file named after it. It decides nothing about plans.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Main runs the program with the arguments of this process, and ends the process with the exit code.
func Main() {
	collectLater()
	process.Keep() // both return, unless this process was started to keep or confine a command
	shell.Confine()
	terminal.EnableColours(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, processEnvironment(), os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, w environment, args []string) int {
	app := &app{environment: w}
	app.launch = sync.OnceValue(app.launcher)
	root := newRootCommand(app)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !app.isParsed {
		// The command line is invalid, perhaps before --json was parsed.
		if !errors.As(err, new(usageError)) {
			text, _, _ := strings.Cut(err.Error(), "\n") // suggestions follow in a different form
			err = usageError{fmt.Errorf("%s; see `planloop --help`", text)}
		}
		app.flags.json = app.flags.json || asksForJSON(args)
	}
	code := app.report(ctx, err)
	if closed := app.close(); closed != nil && err == nil {
		return app.report(ctx, closed)
	}
	return code
}

func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// collectLater saves a garbage collection at start-up. The imported packages, mostly mcp-go's schema compiler, leave over 2 MB of garbage
// before main begins. The first collection, due at 3 MB, would fall into the first answer of every server and take a fifth of its time.
// Most commands end before the second one.
func collectLater() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// settle returns a server's start-up memory to the system after a short delay, and restores the normal garbage collection.
func settle() {
	time.AfterFunc(settleAfter, func() {
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(100)
		}
		debug.FreeOSMemory()
	})
}

const settleAfter = time.Second

// environment is the part of the process that a command may use.
type environment struct {
	in            io.Reader
	out, err      io.Writer
	getenv        func(string) string
	home          func() (string, error)                             // of the user
	inIsTerminal  bool                                               // standard input is a terminal
	outIsTerminal bool                                               // standard output is a terminal
	errIsTerminal bool                                               // standard error is a terminal
	size          func() (width, rows int)                           // of standard output's terminal; zeros if unknown
	ancestors     func() []process.Ancestor                          // this process and its ancestors
	lineage       func() process.Lineage                             // of this process
	inherited     func(variables ...string) (variable, value string) // one of them in the nearest ancestor that has one; "" if none
}

func processEnvironment() environment {
	ancestors := sync.OnceValue(process.Ancestors)
	above := sync.OnceValue(func() []process.Variables { return process.VariablesOf(ancestors()) })
	return environment{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, home: os.UserHomeDir,
		inIsTerminal: term.IsTerminal(int(os.Stdin.Fd())), outIsTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		errIsTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		size: func() (width, rows int) {
			width, rows, _ = term.GetSize(int(os.Stdout.Fd())) // negative if it fails
			return max(width, 0), max(rows, 0)
		},
		ancestors: ancestors,
		lineage:   sync.OnceValue(func() process.Lineage { return process.LineageOf(ancestors()) }),
		inherited: func(variables ...string) (variable, value string) { return inheritedVariable(above(), variables...) },
	}
}

func (w environment) screen() terminal.Screen {
	return terminal.NewScreen(terminal.Options{Getenv: w.getenv, IsTerminal: w.outIsTerminal, Size: w.size})
}

func newRootCommand(a *app) *cobra.Command {
	root := newCommand("planloop", "", cobra.ArbitraryArgs, a.runWithoutCommand)
	root.Version, root.SilenceErrors, root.SilenceUsage = version(), true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		a.isParsed = true
		return cmp.Or(a.checkAgentName(), a.refuseInsideModel(cmd), a.refuseOutsideStep(cmd), a.chooseTrack(cmd, args))
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
	flags.StringVar(&a.flags.track, "track", "", "use the track `NAME`, a plan beside the workspace's main one")
	flags.StringVar(&a.flags.agent, "agent", "", "act as the agent `NAME`")
	flags.BoolVar(&a.flags.json, "json", false, "print JSON")
	flags.BoolVar(&a.flags.ephemeral, "ephemeral", false, "keep the plan in memory only, while this process runs")
	flags.BoolVarP(&a.flags.verbose, "verbose", "v", false, "log more to standard error")
	complete(root, "track", a.completeTracks)
	complete(root, "workspace", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	addGroup(root, "The plan:", newShowCommand(a), newStepCommand(a), newTemplateCommand(a),
		a.replacing(newCommand("clear", "", noArguments, runVerb(a, (*verbs.Service).ClearPlan, constant(verbs.ClearPlan{})))),
		newLogCommand(a), newObjectCommand(a, "replan", (*verbs.Service).Replan))
	addGroup(root, "The loop:", a.replacing(newStartCommand(a)), newStatusCommand(a),
		newObjectCommand(a, "update", (*verbs.Service).Update), newAlertCommand(a), newCheckCommand(a), newConfineCommand(a),
		newSuggestCommand(a), newResumeCommand(a), newPromptCommand(a), newSyncCommand(a))
	addGroup(root, "Running the plan:", newRunCommand(a), newPauseCommand(a))
	addGroup(root, "Planning mode:", newPlanCommand(a), newObjectCommand(a, "submit", (*verbs.Service).SubmitPlan),
		newReviewCommand(a), newApproveCommand(a), newRejectCommand(a),
		newCommand("edit", "COMMENT...", atLeastOne("a comment with the requested changes"), a.decideNow(plan.Returned)),
		newAnswerCommand(a), newCommentCommand(a), newReplyCommand(a))
	addGroup(root, "Other programs:", newServeCommand(a), newCommand("servers", "", noArguments, a.servers), newHookCommand(a),
		newExportCommand(a), a.replacing(newImportCommand(a)))
	addGroup(root, "Care:", newInitCommand(a), newDemoCommand(a), newHostsCommand(a), newDoctorCommand(a),
		newPurgeCommand(a), newTeamCommand(a), newCommand("version", "", noArguments, a.printVersion))
	root.AddCommand(completed(newCommand("configuration", "", nil, nil), withGates)) // a topic
	a.addStandardCommands(root)
	a.shortenHelp(root)
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

func withoutShell(cmd *cobra.Command, args []string) error {
	const shells = "bash, fish, powershell or zsh"
	if len(args) == 0 {
		return missing(cmd, "the name of a shell: "+shells)
	}
	return usageError{fmt.Errorf("completion does not support %s; name a shell: %s", plan.Quote(args[0]), shells)}
}
