package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"os"
	"os/signal"
	"syscall"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// terminalRun shows a run and asks its steps' questions. One goroutine draws and asks, so that the two do not collide.
type terminalRun struct {
	*app
	ws   *openWorkspace
	tty  io.Writer
	keys *keyboard
	done chan struct{} // closed when this process's part in the run is over

	preapproved map[preapproval]bool
	skipped     map[question]bool // questions that were left open
	reopen      atomic.Bool       // Enter was typed: ask the skipped questions again
	turn        int
	waiting     atomic.Pointer[string]
	limits      terminal.RunLimits
}

func (a *app) runOnTerminal(ctx context.Context, ws *openWorkspace, o verbs.EngineOptions) (verbs.RunReply, error) {
	tty, err := terminal.OpenTTY()
	if err != nil {
		return verbs.RunReply{}, plan.Refuse(plan.Conflict, "", "a run with questions needs a terminal", "run it in your own terminal")
	}
	defer tty.Close()
	w := &terminalRun{app: a, ws: ws, tty: tty, done: make(chan struct{}), skipped: map[question]bool{}}
	if w.preapproved, err = w.preapprove(ctx, tty); err != nil {
		return verbs.RunReply{}, err
	}
	ctx, hangUp := signal.NotifyContext(ctx, syscall.SIGHUP) // without defer hangUp: the end of ctx counts as an interrupt
	working, drain, over := a.interrupts(ctx)
	defer over()
	o.Drain, o.Wait, o.Listener = drain, true, w
	if w.limits, err = w.runLimits(ctx, o); err != nil {
		return verbs.RunReply{}, err
	}
	var reply verbs.RunReply
	var failed error
	go func() {
		defer close(w.done)
		reply, failed = ws.verbs.Run(working, a.caller(), o)
	}()
	w.keys = newKeyboard(tty)
	if err := w.follow(ctx, hangUp); err != nil {
		hangUp() // the display has failed
		a.logger().Debug("the run is not shown any more", "error", err)
	}
	<-w.done
	return reply, failed
}

func (w *terminalRun) runLimits(ctx context.Context, o verbs.EngineOptions) (terminal.RunLimits, error) {
	c := terminal.RunLimits{Begun: time.Now(), Starts: o.Starts}
	if o.For > 0 {
		c.Until = c.Begun.Add(o.For)
	}
	state, err := w.ws.verbs.State(ctx)
	if run := state.OpenRun(); err == nil && run != nil {
		for _, n := range run.Starts {
			c.Before += n
		}
	}
	return c, err
}

// preapprove shows the expected questions and lets the person approve all known ones, or be asked step by step.
func (w *terminalRun) preapprove(ctx context.Context, tty io.ReadWriter) (map[preapproval]bool, error) {
	state, err := w.ws.verbs.State(ctx)
	if err != nil {
		return nil, err
	}
	foreseen, err := w.expectedQuestions(ctx, w.ws, state)
	if err != nil {
		return nil, err
	}
	allowed := map[preapproval]bool{}
	for _, f := range foreseen {
		if f.IsKnown {
			allowed[preapprovalOf(f.Step, f.Step.Attempts+1, f.Definition)] = true
		}
	}
	if len(allowed) == 0 {
		return nil, nil
	}
	text := w.ws.verbs.ReviewForeseen(state, foreseen)
	sum := sha256.Sum256([]byte(text))
	stepwise := errors.New("asked step by step")
	word, _, err := w.askDecision(ctx, tty, approvalPrompt{name: "list", lines: w.ttyScreen().Draft(text),
		amount: plan.Pluralize(len(foreseen), "question"), digest: hex.EncodeToString(sum[:]),
		how:   "Approval lets each of these steps run once, exactly as shown. To run nothing, type reject.",
		enter: "Enter alone: ask step by step.", onEnter: stepwise, undecided: nothingRun()})
	switch {
	case errors.Is(err, stepwise):
		return nil, nil
	case err != nil:
		return nil, err
	case word != "approve":
		return nil, nothingRun()
	}
	return allowed, nil
}

func (a *app) expectedQuestions(ctx context.Context, ws *openWorkspace, state plan.State) ([]plan.ExpectedQuestion, error) {
	ws.servers.refreshFor(ctx, state.Plan)
	box, err := a.box()
	if err != nil {
		return nil, err
	}
	defer box.Close()
	tools := box.Tools()
	about := func(name string) (destructive bool, definition string) {
		tool, _ := tools.Lookup(name)
		return tool.Destructive, tool.Definition()
	}
	return plan.ExpectedQuestions(state, about, ws.config.Limits()), nil
}

func nothingRun() error {
	return plan.Refuse(plan.InvalidInput, "", "nothing was approved, so nothing was run", "use planloop run to be asked again")
}

func (w *terminalRun) follow(ctx context.Context, hangUp func()) error {
	always, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	grown, err := w.ws.verbs.Watch(always)
	if err != nil {
		return err
	}
	for !w.isOver() {
		state, err := w.ws.verbs.State(always)
		if err != nil {
			return err
		}
		if step := w.nextQuestion(state); step != nil && ctx.Err() == nil {
			err = w.answerQuestion(ctx, grown, state, step)
		} else {
			err = w.show(ctx, grown, hangUp)
		}
		if err != nil {
			return err
		}
	}
	page, _, err := w.page(always)
	if err != nil {
		return err
	}
	return w.printLines(page.Lines())
}

func (*terminalRun) Recorded(plan.State, plan.Record)  {}
func (*terminalRun) Progress(plan.StepID, int, string) {}

// Waiting shows the reason of a wait below the steps.
func (w *terminalRun) Waiting(what string, since time.Time) {
	text := w.forPeople("Waiting since " + since.Local().Format("15:04") + " for " + what + ".")
	w.waiting.Store(&text)
}

func (w *terminalRun) isOver() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

const redrawEvery = 250 * time.Millisecond

func (w *terminalRun) show(ctx context.Context, grown <-chan struct{}, hangUp func()) error {
	shown, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	page := func(inner context.Context) (terminal.Page, plan.Revision, error) {
		page, state, err := w.page(inner)
		if w.nextQuestion(state) != nil && ctx.Err() == nil {
			stop()
		}
		return page, state.Revision, err
	}
	ctrlC := "to pause the run"
	if ctx.Err() != nil {
		ctrlC = "to end running steps"
	}
	live := terminal.Live{Out: w.out, Screen: w.screen, Page: page, CtrlC: ctrlC, Gone: true}
	err := live.Run(shown, w.changes(ctx, shown, grown, hangUp))
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// changes receives when the run must be redrawn. It closes with shown, with the run, or when ctx ends after this call.
func (w *terminalRun) changes(ctx, shown context.Context, grown <-chan struct{}, hangUp func()) <-chan struct{} {
	changed := make(chan struct{})
	draining := ctx.Done()
	if ctx.Err() != nil {
		draining = nil
	}
	go func() {
		defer close(changed)
		tick := time.NewTicker(redrawEvery)
		defer tick.Stop()
		keys := w.keys.lines
		for {
			select {
			case <-tick.C:
			case <-grown:
			case _, ok := <-keys:
				if !ok {
					keys = nil
					hangUp()
				}
				w.reopen.Store(ok)
			case <-shown.Done():
				return
			case <-w.done:
				return
			case <-draining:
				return
			}
			select {
			case changed <- struct{}{}:
			case <-shown.Done():
				return
			}
		}
	}()
	return changed
}

func (w *terminalRun) page(ctx context.Context) (terminal.Page, plan.State, error) {
	state, err := w.ws.verbs.State(ctx)
	if err != nil {
		return terminal.Page{}, plan.State{}, err
	}
	view := terminal.RunView{PlanView: w.view(ctx, w.ws, state, nil, false), Turn: w.turn, Limits: w.limits}
	if why := plan.FindStopReason(state); w.isOver() || why != plan.StopWaitingForPerson && why != plan.StopWaitingForAgent {
		view.Next = ""
	} else if waiting := w.waiting.Load(); waiting != nil {
		view.Waiting = *waiting
	}
	w.turn++
	return view.Page(), state, nil
}

// nextQuestion returns the first step with a question that was not left open, or nil.
func (w *terminalRun) nextQuestion(state plan.State) *plan.Step {
	if w.reopen.Swap(false) {
		clear(w.skipped)
	}
	if state.Plan == nil {
		return nil
	}
	for step := range state.Plan.Steps.All() {
		blocked := step.NeedsUnblocking() && len(state.Plan.Steps.UnmetDependencies(step.ID)) == 0
		if (step.OpenQuestion() != nil || blocked) && !w.skipped[questionOf(step)] {
			return step
		}
	}
	return nil
}

// keyboard reads typed lines in a goroutine that ends with rest or with the terminal.
type keyboard struct {
	tty   io.ReadWriter
	lines chan string // closed when the terminal is gone
	ended chan struct{}
}

// maxTypedLines is how many unread lines are kept, maxTypedLine the limit of a line in bytes.
const (
	maxTypedLines = 8
	maxTypedLine  = 64 << 10
)

func newKeyboard(tty io.ReadWriter) *keyboard {
	k := &keyboard{tty: tty, lines: make(chan string, maxTypedLines)}
	k.listen()
	return k
}

func (k *keyboard) listen() {
	k.ended = make(chan struct{})
	go func() {
		defer close(k.ended)
		typed := make([]byte, maxTypedLine)
		for {
			n, err := k.tty.Read(typed)
			if n > 0 {
				select {
				case k.lines <- string(typed[:n]):
				default:
				}
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			if err != nil {
				close(k.lines)
				return
			}
		}
	}()
}

// pause leaves the terminal to another program until listen. It returns false if that is not possible.
func (k *keyboard) pause() bool {
	limited, ok := k.tty.(interface{ SetReadDeadline(time.Time) error })
	if !ok || limited.SetReadDeadline(time.Now()) != nil {
		return false
	}
	<-k.ended
	return limited.SetReadDeadline(time.Time{}) == nil
}

func (k *keyboard) dropTyped() {
	for {
		select {
		case _, ok := <-k.lines:
			if ok {
				continue
			}
		default:
		}
		return
	}
}
