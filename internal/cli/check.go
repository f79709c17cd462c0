package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newCheckCommand(a *app) *cobra.Command {
	var run checkRun
	var task string
	cmd := newCommand("check", "[--id ID] [--task TASK] [-- COMMAND...]", nil, func(cmd *cobra.Command, args []string) error {
		run.args = args
		return a.check(cmd, run, task)
	})
	cmd.Flags().StringVar(&run.Signal, "id", "", "the `ID` of the signal (default: task-N with --task N)")
	addLevel(cmd, &run.Level)
	cmd.Flags().StringVar(&task, "task", "", "the `TASK` it is evidence for, such as 2")
	return cmd
}

type checkRun struct {
	verbs.CheckRun
	args []string  // empty: the task's own command
	cmd  *exec.Cmd // runs it
}

// check first makes sure that the outcome can be recorded, then runs the command.
func (a *app) check(cmd *cobra.Command, run checkRun, task string) error {
	if err := plan.OneOf("/level", run.Level); err != nil {
		return err
	}
	if run.Signal == "" && task == "" {
		return missing(cmd, "--id ID or --task TASK")
	}
	var err error
	if run.Reach, err = a.onSignalTrack(cmd.Context(), task); err != nil {
		return err
	}
	ws, err := a.open(cmd.Context(), nil)
	if err != nil {
		return err
	}
	if task != "" {
		if err := run.setTask(cmd.Context(), ws, a.caller(), task); err != nil {
			return err
		}
	}
	if run.Signal, err = (plan.Text{Field: "/id", Max: plan.MaxSignalID}).Required(run.Signal); err != nil {
		return err
	}
	if run.cmd == nil {
		if len(run.args) == 0 {
			return missing(cmd, "a command after --")
		}
		words := make([]string, len(run.args))
		for i, arg := range run.args {
			words[i] = safetext.QuoteWord(arg)
		}
		run.Command, run.cmd = strings.Join(words, " "), exec.Command(run.args[0], run.args[1:]...)
	}
	// A CI job runs its own commands and reports them; but an agent may have set CI, and then some server or variable tells.
	if a.caller().Actor.Kind != plan.CI || ws.isServed() || a.agentSign() != "" {
		if err := a.refuseWhilePlanning(cmd.Context(), ws, "no command is run", cmp.Or(run.cmd.Dir, ".")); err != nil {
			return err
		}
	}
	return a.runCheck(cmd.Context(), ws.verbs, run)
}

// setTask fills in the task's number and, without arguments, the task's own command, to be run in the workspace.
func (r *checkRun) setTask(ctx context.Context, ws *openWorkspace, c verbs.Caller, task string) error {
	id, err := plan.ParseStepID(task)
	if err != nil {
		return err
	}
	step, err := ws.verbs.StepToCheck(ctx, c, id)
	if err != nil {
		return err
	}
	r.Task = id
	if r.Signal == "" {
		r.Signal = "task-" + id.Number()
	}
	if len(r.args) > 0 {
		return nil
	}
	if step.Verify == "" {
		return plan.Refuse(plan.Conflict, "", id.String()+" has no verify command",
			"give one after --, or set it: planloop step edit "+id.String()+` --verify "COMMAND"`)
	}
	r.Command, r.cmd = step.Verify, exec.Command("sh", "-c", step.Verify)
	if runtime.GOOS == "windows" {
		r.cmd = process.ShellCommand(step.Verify) // cmd has its own quoting rules
	}
	if !ws.place.Default {
		r.cmd.Dir = ws.place.Path
	}
	return nil
}

func (a *app) runCheck(ctx context.Context, service *verbs.Service, run checkRun) error {
	if !a.flags.json {
		fmt.Fprintln(a.err, "planloop: running "+safetext.EscapeLine(plan.Mask(run.Command)))
	}
	end := &safetext.Excerpt{Max: plan.MaxOutput}
	code, err := a.execute(ctx, run.cmd, end)
	if err != nil {
		return err
	}
	if code == interrupted || code != 0 && ctx.Err() != nil {
		return a.reportInterrupted(run, code)
	}
	run.ExitCode, run.Output = code, safetext.Keepable(plan.Mask(end.Text()), plan.MaxOutput)
	// Record the outcome even if the user interrupts planloop now.
	reply, err := service.RecordCheck(context.WithoutCancel(ctx), a.caller(), run.CheckRun)
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.reply(reply)
	} else {
		fmt.Fprintln(a.err, "planloop: "+safetext.Escape(checkLine(run.CheckRun, reply)))
	}
	if err == nil && code != 0 {
		return exitStatus(code)
	}
	return err
}

const interrupted = 128 + int(syscall.SIGINT) // exit code of a command ended by an interrupt

// reportInterrupted reports that an interrupt ended the command; its outcome says nothing about the work.
func (a *app) reportInterrupted(run checkRun, code int) error {
	answer := fmt.Sprintf("%s was interrupted (exit %d); signal %s is unchanged, and nothing was recorded",
		plan.Shorten(plan.Mask(run.Command), plan.MaxMessage), code, plan.Quote(run.Signal))
	if a.flags.json {
		err := a.printJSON(errorJSON{Status: "error", ErrorType: interruptedType, Message: answer, Details: []string{}})
		return cmp.Or[error](err, exitStatus(code))
	}
	fmt.Fprintln(a.err, "planloop: "+safetext.Escape(answer)+".")
	return exitStatus(code)
}

func checkLine(run verbs.CheckRun, reply verbs.AlertReply) string {
	line := fmt.Sprintf("exit %d", run.ExitCode)
	switch {
	case reply.Open && run.ExitCode == 0:
		line += ", signal " + plan.Quote(run.Signal) + " of the workspace is still open"
	case reply.Open:
		line += ", signal " + plan.Quote(run.Signal) + " raised"
	case reply.Signal.ID != "" && reply.Before == nil:
		line += ", signal " + plan.Quote(run.Signal) + " cleared"
	}
	if run.Task != 0 {
		line += ", recorded for " + run.Task.String()
	}
	return line + "\nNext: " + reply.NextAction
}

// outputGrace is how long the outputs of an ended command may stay open: a process that it left in the background does not delay planloop.
const outputGrace = 2 * time.Second

// execute runs a command and returns its exit code. One that cannot be started says nothing about the work and is refused.
func (a *app) execute(ctx context.Context, cmd *exec.Cmd, end io.Writer) (int, error) {
	out := a.out
	if a.flags.json {
		out = a.err // standard output is reserved for the JSON
	}
	stdout, stderr := &outputPrinter{out: out, marked: true}, &outputPrinter{out: a.err, marked: true}
	defer func() { _, _ = stdout.flush(), stderr.flush() }()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, io.MultiWriter(end, errorIgnorer{stdout}), io.MultiWriter(end, errorIgnorer{stderr})
	cmd.WaitDelay = outputGrace
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE) // unlike Ignore, the command does not inherit this
	defer signal.Stop(ignored)
	if err := cmd.Start(); err != nil {
		return 0, usageError{fmt.Errorf("the command could not be started, and the signal is unchanged: %w; "+
			"name an installed program, or a shell command: -- sh -c 'COMMAND'", err)}
	}
	// Pass on the user's interrupt; the command may take as long as it likes to end.
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(os.Interrupt) })
	defer stop()
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return 0, fmt.Errorf("run the command: %w", err)
	}
	return process.ExitCode(cmd.ProcessState), nil
}

// errorIgnorer is a writer that ignores write errors: a closed output does not change the outcome of a command.
type errorIgnorer struct{ io.Writer }

func (h errorIgnorer) Write(data []byte) (int, error) {
	_, _ = h.Writer.Write(data)
	return len(data), nil
}

func newAlertCommand(a *app) *cobra.Command {
	var id, message, task string
	var level plan.SignalLevel
	var clear bool
	var reach plan.Reach
	in := func(cmd *cobra.Command, _ []string) (verbs.Alert, error) {
		in := verbs.Alert{ID: id, Level: &level, Message: message, Clear: clear, Reach: reach}
		switch {
		case !cmd.Flags().Changed("id"):
			return in, missing(cmd, "--id ID")
		case clear && cmd.Flags().Changed("message"):
			return in, usageError{errors.New("--clear and --message exclude each other; give one of them")}
		}
		if err := plan.OneOf("/level", level); err != nil || task == "" {
			return in, err
		}
		step, err := plan.ParseStepID(task)
		in.TaskID = (*verbs.TaskID)(&step)
		return in, err
	}
	cmd := newCommand("alert", "--id ID", noArguments, func(cmd *cobra.Command, args []string) error {
		var err error
		if reach, err = a.onSignalTrack(cmd.Context(), task); err != nil {
			return err
		}
		reply, err := callVerb(cmd, args, a, (*verbs.Service).Alert, in)
		switch {
		case err != nil:
			return err
		case clear && a.isReadByPerson():
			return a.printReply(reply, reply.Cleared())
		}
		return a.reply(reply)
	})
	flags := cmd.Flags()
	flags.StringVar(&id, "id", "", "the `ID` of the signal, such as tests")
	addLevel(cmd, &level)
	flags.StringVarP(&message, "message", "m", "", "`TEXT` that describes the problem")
	flags.StringVar(&task, "task", "", "the `TASK` it is about, such as 2")
	flags.BoolVar(&clear, "clear", false, "clear the signal: its cause is fixed")
	return cmd
}

func addLevel(cmd *cobra.Command, level *plan.SignalLevel) {
	cmd.Flags().StringVar((*string)(level), "level", string(plan.Blocker), "its `LEVEL`: blocker, warning or info")
	complete(cmd, "level", words(plan.SignalLevel("")))
}
