package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newRunCommand(a *app) *cobra.Command {
	var o verbs.EngineOptions
	var dry, past, detach, detached bool
	from := ""
	cmd := newCommand("run", "[STEP...]", nil, func(cmd *cobra.Command, steps []string) error {
		err := error(nil)
		if from != "" {
			o.From, err = plan.ParseStepID(from)
		}
		for _, step := range steps {
			id, wrong := plan.ParseStepID(step)
			o.Only, err = append(o.Only, id), cmp.Or(err, wrong)
		}
		if err != nil {
			return err
		}
		switch {
		case past:
			return a.showRuns(cmd.Context())
		case dry:
			return a.dryRun(cmd.Context())
		}
		if given := cmd.Flags().Changed; given("starts") && o.Starts < 1 || given("for") && o.For <= 0 {
			return usageError{errors.New("--starts and --for must be above 0; leave them out for no limit")}
		}
		switch {
		case o.Parallel < 0 || o.Parallel > maxParallel:
			return usageError{fmt.Errorf("--parallel is %d; give a number from 1 to %d", o.Parallel, maxParallel)}
		case detach:
			return runVerb(a, (*verbs.Service).DetachRun, constant(o))(cmd, steps)
		case detached:
			return a.runDetached(cmd.Context(), o)
		}
		return a.runPlan(cmd.Context(), o)
	})
	cmd.ValidArgsFunction = a.completeSteps
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "run this `STEP` and all after it, and no others")
	complete(cmd, "from", a.completeSteps)
	flags.IntVar(&o.Parallel, "parallel", 0, "run `N` steps at a time (default: as configured, 4)")
	flags.IntVar(&o.Starts, "starts", 0, "start agents at most `N` times")
	flags.DurationVar(&o.For, "for", 0, "start no more steps after this `time`, such as 2h")
	flags.BoolVar(&o.Wait, "wait", false, "wait for people and agents, like a run at a terminal")
	flags.BoolVar(&detach, "detach", false, "run the tools of steps in the background, start no agents")
	flags.BoolVar(&detached, "detached", false, "be that engine")
	_ = flags.MarkHidden("detached") // it exists
	flags.BoolVar(&dry, "dry-run", false, "print the order of the steps, and run nothing")
	flags.BoolVar(&past, "history", false, "list the runs so far, with results and durations")
	cmd.MarkFlagsMutuallyExclusive("detach", "detached", "dry-run", "history", "wait")
	cmd.MarkFlagsMutuallyExclusive("detach", "starts")
	return cmd
}

// showRuns lists the runs of the track, the newest last.
func (a *app) showRuns(ctx context.Context) error {
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	runs, err := ws.verbs.RunHistory(ctx)
	switch {
	case err != nil:
		return err
	case a.flags.json:
		return a.printJSON(struct {
			Runs history.Runs `json:"runs"`
		}{runs})
	case len(runs) == 0:
		return a.print([]byte("The plan was not run yet.\n"))
	}
	s := a.screen()
	var lines []string
	for _, run := range runs {
		text := cmp.Or(strings.ReplaceAll(string(run.Result), "_", " "), "not over")
		if took := history.FormatDuration(time.Duration(run.Took) * time.Millisecond); took != "" {
			text += " after " + took
		}
		text += fmt.Sprintf(": %d of %d steps done", run.Done, run.Steps)
		if run.Failed > 0 {
			text += fmt.Sprintf(", %d failed", run.Failed)
		}
		label := fmt.Sprintf("%-6s %s  ", run.ID, run.Since.Local().Format("2006-01-02 15:04"))
		lines = append(lines, s.Hang(s.Faint(label), s.Plain, safetext.EscapeLine("by "+run.By+": "+text))...)
	}
	return a.printLines(lines)
}

func (a *app) dryRun(ctx context.Context) error {
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := a.configuredAgents(ws.place, ws.config); err != nil {
		return err
	}
	var foreseen []plan.ExpectedQuestion
	if state, err := ws.verbs.State(ctx); err == nil { // otherwise the rehearsal reports the error
		foreseen, _ = a.expectedQuestions(ctx, ws, state)
	}
	return a.replyOf(ws.verbs.Rehearse(ctx, a.caller(), foreseen))
}

const maxParallel = 64 // as for the configuration's key

func (a *app) runPlan(ctx context.Context, o verbs.EngineOptions) error {
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	if shell := a.agentSign(); shell == "" {
		o.Agents = a.caller().Actor.Kind != plan.Agent // an agent would start agents of its own
	} else if _, works := a.stepAgent(); !works && ws.config.Agents.Given() {
		a.warn("no agents are started: " + shell)
	}
	_, works := a.stepAgent()
	if state, err := ws.verbs.State(ctx); err == nil && !works { // otherwise the run reports the error
		if look, is := ws.verbs.RunProgress(state); is && look.Ongoing() {
			a.note("run " + look.ID + " is already running; joining it (planloop pause stops both)")
		}
	}
	reply, err := a.runToEnd(ctx, ws, o)
	if err != nil {
		return err
	}
	if err := a.printRun(reply); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if reply.IsComplete() {
		return nil
	}
	return runStatus(reply.Reason)
}

const interruptWindow = 300 * time.Millisecond // signals within it count as one: some programs signal both a process and its group

var errInterrupted = errors.New("planloop was interrupted")

func (a *app) runToEnd(ctx context.Context, ws *openWorkspace, o verbs.EngineOptions) (verbs.RunReply, error) {
	watched := a.outIsTerminal && !a.flags.json && a.whyNoPerson() == "" // by a person, and the run waits for their answers
	if watched && a.getenv("TERM") != "dumb" {
		return a.runOnTerminal(ctx, ws, o)
	}
	o.Wait = o.Wait || watched
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a closed pipe ends the printing, not the process
	working, drain, over := a.interrupts(ctx)
	defer over()
	o.Drain, o.Listener = drain, &plainRun{app: a, hangUp: hangUp}
	return ws.verbs.Run(working, a.caller(), o)
}

// interrupts returns a context that ends with the second interrupt, and a channel that the first one closes, until over is called. The
// goroutine that the first interrupt starts ends with the process.
func (a *app) interrupts(ctx context.Context) (working context.Context, drained <-chan struct{}, over func() bool) {
	working, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	drain := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over = context.AfterFunc(ctx, func() {
		close(drain)
		a.note("starting nothing new and waiting for running steps; interrupt again to end them")
		for begun := time.Now(); ; {
			if <-signals; time.Since(begun) > interruptWindow {
				kill(errInterrupted)
			}
		}
	})
	return working, drain, over
}

// printRun prints the outcome of a run: with --json, one object on a line of its own.
func (a *app) printRun(reply verbs.RunReply) error {
	if a.flags.json {
		return a.printIndented(reply, "")
	}
	return a.reply(reply)
}

// plainRun prints the lines of a run without a terminal. With --json it prints only the waits, as notes.
type plainRun struct {
	*app
	hangUp func() // called once nobody reads the lines: the run drains
	isDeaf bool
}

func (p *plainRun) Recorded(_ plan.State, record plan.Record) {
	if p.flags.json {
		return
	}
	for _, line := range history.Lines(record) {
		p.printLine(line)
	}
}

func (p *plainRun) printLine(line string) {
	if !p.isDeaf && p.print([]byte(safetext.EscapeLine(line)+"\n")) != nil {
		p.isDeaf = true
		p.hangUp()
	}
}

// Progress prints nothing: the lines would pass too fast to read.
func (*plainRun) Progress(plan.StepID, int, string) {}

func (p *plainRun) Waiting(what string, since time.Time) {
	line := p.forPeople("waiting since " + since.Local().Format("15:04") + " for " + what)
	if p.flags.json {
		p.note(line)
		return
	}
	p.printLine(line)
}

func newPauseCommand(a *app) *cobra.Command {
	var reason string
	cmd := newCommand("pause", "", noArguments, runVerb(a, (*verbs.Service).PauseRun,
		func(*cobra.Command, []string) (string, error) { return reason, nil }))
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, as `TEXT`")
	return cmd
}
