package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newCheckCommand(a *app) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [--id ID] [--task TASK] [-- COMMAND...]",
		Short: "Run a command, and raise or clear a signal by its outcome",
		Long: `Runs a command and shows what it prints. When it fails the signal is raised, with
the end of its output; when it succeeds the signal is cleared. With --task the
outcome is kept as evidence for that task, and without a command the task's own
"verify" is run by the shell. planloop exits as the command did.`,
		Example: `  planloop check --id tests -- go test ./...
  planloop check --id tests --task 2 -- go test ./login
  planloop check --task 2                # its own "verify"
  planloop check --id lint --level warning -- golangci-lint run`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.check(cmd, args, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.id, "id", "", "the `ID` of the signal (default: task-N with --task N)")
	flags.StringVar(&o.level, "level", string(plan.Blocker), "its `LEVEL`: blocker, warning or info")
	flags.StringVar(&o.task, "task", "", "the `TASK` it is evidence for, such as 2")
	complete(cmd, "level", words(plan.SignalLevel("")))
	return cmd
}

type checkOptions struct {
	id, level, task string
}

// check finds out first whether the outcome could be kept, and runs the command then.
func (a *app) check(cmd *cobra.Command, args []string, o checkOptions) error {
	run := verbs.Run{Signal: o.id, Level: plan.SignalLevel(o.level)}
	if err := plan.OneOf("/level", run.Level); err != nil {
		return err
	}
	if o.id == "" && o.task == "" {
		return missing(cmd, "--id ID or --task TASK")
	}
	service, err := a.service(cmd.Context())
	if err != nil {
		return err
	}
	if o.task != "" {
		if args, err = a.checkTask(cmd.Context(), service, &run, args, o.task); err != nil {
			return err
		}
	}
	if len(args) == 0 {
		return missing(cmd, "a command after --")
	}
	if run.Command == "" {
		run.Command = strings.Join(args, " ")
	}
	return a.runCheck(cmd.Context(), service, run, args)
}

// checkTask fills in what the task says, and returns the command to run.
func (a *app) checkTask(ctx context.Context, service *verbs.Service, run *verbs.Run, args []string, task string) ([]string, error) {
	id, err := plan.ParseStepID(task)
	if err != nil {
		return nil, err
	}
	step, err := service.Checkable(ctx, id)
	if err != nil {
		return nil, err
	}
	run.Task = id
	if run.Signal == "" {
		run.Signal = "task-" + id.Number()
	}
	if len(args) > 0 {
		return args, nil
	}
	if step.Verify == "" {
		return nil, &plan.ValidationError{Kind: plan.Conflict, Problem: id.String() + " has no command to verify it by",
			Fix: "give one after --, or set it: planloop step edit " + id.String() + ` --verify "COMMAND"`}
	}
	run.Command = step.Verify
	return shellCommand(step.Verify), nil
}

func (a *app) runCheck(ctx context.Context, service *verbs.Service, run verbs.Run, args []string) error {
	if !a.flags.json {
		fmt.Fprintln(a.err, "planloop: running "+printableLine(run.Command))
	}
	end := &tailWriter{max: outputKept}
	code, err := a.execute(ctx, args, end)
	if err != nil {
		return err
	}
	run.ExitCode, run.Output = code, end.text()
	// What the command did is kept even when the user interrupts planloop now.
	reply, err := service.Checked(context.WithoutCancel(ctx), a.caller(), run)
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.reply(reply)
	} else {
		fmt.Fprintln(a.err, "planloop: "+printable(checkLine(run, reply)))
	}
	if err == nil && code != 0 {
		return exitStatus(code)
	}
	return err
}

func checkLine(run verbs.Run, reply verbs.AlertReply) string {
	line := fmt.Sprintf("exit %d", run.ExitCode)
	switch {
	case reply.Open:
		line += ", signal " + quoted(run.Signal) + " raised"
	case reply.Signal.ID != "":
		line += ", signal " + quoted(run.Signal) + " cleared"
	}
	if run.Task != 0 {
		line += ", kept as evidence for " + run.Task.String()
	}
	return line + "\nNext: " + reply.NextAction
}

// execute runs a command in the workspace's terminal and returns its exit code. A
// command that cannot be started counts as one that exits with 127.
func (a *app) execute(ctx context.Context, args []string, end io.Writer) (int, error) {
	out := a.out
	if a.flags.json {
		out = a.err // standard output is for the JSON
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, io.MultiWriter(out, end), io.MultiWriter(a.err, end)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		return 130, nil // ended by a signal
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		fmt.Fprintln(end, err)
		fmt.Fprintln(a.err, "planloop: "+printableLine(err.Error()))
		return 127, nil
	}
	return 0, fmt.Errorf("run the command: %w", err)
}
