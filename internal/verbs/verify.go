package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/plan"
)

// verifyWait is how long a call waits for verify commands: hosts end calls after a minute.
const verifyWait = 50 * time.Second

// verifications are the verify commands that this process runs.
type verifications struct {
	turn sync.Mutex // one runs at a time: they share the workspace's files

	mu      sync.Mutex
	running map[plan.Attempt]*verification
}

// verification is a run of a step's verify command. Package verbs starts it for a caller that marks the step done. It belongs to
// Caller.Background if the caller has that, else to the call.
type verification struct {
	since time.Time
	ended chan struct{} // closed once the outcome is recorded
	err   error         // why the step is not verified; valid once ended is closed

	mu    sync.Mutex            // guards after until ended is closed
	after func(context.Context) // called after success; set by a caller that stopped waiting
}

// stillVerifying says that a verify command runs longer than its caller waits.
type stillVerifying struct {
	step  *plan.Step
	since time.Time
}

func (e stillVerifying) Error() string {
	return fmt.Sprintf("%s: verifying since %s: %s. The next status has the outcome", e.step.ID, e.since.Local().Format("15:04"),
		plan.Quote(e.step.Verify))
}

// unverified returns the refusal of a step that is not verified, nil if err is another.
func unverified(err error) *plan.ValidationError {
	if refused, ok := errors.AsType[*plan.ValidationError](err); ok && refused.Unverified != 0 {
		return refused
	}
	return nil
}

// doVerified is doIf for an action that may mark steps done: it runs their verify commands if it may. In a batch, it leaves out steps
// that are not verified, with what depends on them, and lists them; an action of which nothing is left is refused.
func (s *Service) doVerified(ctx context.Context, c Caller, a plan.Action,
	holds func(plan.State) error) (session.Outcome, []string, error) {
	var held []string
	var tried []plan.StepID
	until := time.Now().Add(cmp.Or(s.opts.VerifyWait, verifyWait))
	for {
		outcome, err := s.doIf(ctx, c, a, holds)
		refused := unverified(err)
		if refused == nil {
			return outcome, held, err
		}
		id := refused.Unverified
		if !slices.Contains(tried, id) {
			tried = append(tried, id)
			if err := s.startFirst(ctx, c, a, id); err != nil {
				return outcome, nil, err
			}
			if err = s.verify(ctx, c, id, markOf(a, id), refused, until); err == nil {
				continue
			}
		}
		slow, isRunning := errors.AsType[stillVerifying](err)
		if refused = unverified(err); refused == nil && !isRunning {
			return outcome, held, err
		}
		state, unread := s.State(ctx)
		if unread != nil {
			return outcome, nil, unread
		}
		rest, names := without(a, id, currentSteps(state))
		switch {
		case isRunning:
			held = append(held, slow.Error())
		case rest == nil:
			return outcome, nil, err
		default:
			held = append(held, refused.Problem+"; "+refused.Fix+FailingLines(refused))
		}
		if held = append(held, names...); rest == nil {
			return session.Outcome{Before: state, After: state}, held, nil
		}
		a = *rest
	}
}

// startFirst starts a step if the batch starts it before it marks it done: evidence counts from the start on.
func (s *Service) startFirst(ctx context.Context, c Caller, a plan.Action, id plan.StepID) error {
	batch, _ := a.(plan.Batch)
	for _, part := range batch.Parts {
		if mark, ok := part.Action.(plan.MarkStep); ok && mark.Step == id && mark.Status == plan.InProgress {
			_, err := s.do(ctx, c, mark)
			return err
		}
	}
	return nil
}

// FailingLines returns the end of the output of a verify command that failed, from a new line on.
func FailingLines(refused *plan.ValidationError) string {
	return line(safetext.Marked(shownOutput(refused.Output, outputTokens)))
}

// markOf returns the part of an action that marks a step done.
func markOf(a plan.Action, id plan.StepID) plan.Action {
	if batch, ok := a.(plan.Batch); ok {
		for _, part := range batch.Parts {
			if marksDone(part.Action) == id {
				return part.Action
			}
		}
	}
	return a
}

// marksDone returns the step that a single action marks done, 0 if none.
func marksDone(a plan.Action) plan.StepID {
	switch a := a.(type) {
	case plan.MarkStep:
		if a.Status == plan.Done {
			return a.Step
		}
	case plan.AnswerStep:
		if a.Choice == plan.Happened {
			return a.Step
		}
	}
	return 0
}

// without returns a batch without the marks of a step that is not verified and of the steps that wait for it, and without the final
// summary, and names the rest of what it left out; nil if nothing is left.
func without(a plan.Action, id plan.StepID, steps plan.Steps) (*plan.Batch, []string) {
	batch, ok := a.(plan.Batch)
	if !ok {
		return nil, nil
	}
	var names []string
	left := []plan.StepID{id}
	waits := func(on plan.StepID) bool {
		step, ok := steps.Get(on)
		return ok && slices.ContainsFunc(step.DependsOn, func(id plan.StepID) bool { return slices.Contains(left, id) })
	}
	batch.Parts = slices.DeleteFunc(slices.Clone(batch.Parts), func(part plan.Part) bool {
		mark, _ := part.Action.(plan.MarkStep)
		_, closes := part.Action.(plan.Close)
		switch {
		case marksDone(part.Action) == id:
			return true
		case closes:
			names = append(names, "The final summary was not taken; send it again once all steps are verified")
			return true
		case (mark.Status == plan.InProgress || mark.Status == plan.Done) && waits(mark.Step):
			left = append(left, mark.Step)
			names = append(names, fmt.Sprintf("%s was not marked %s: it waits for %s", mark.Step, mark.Status, id))
			return true
		}
		return false
	})
	if len(batch.Parts) == 0 {
		return nil, names
	}
	return &batch, names
}

// missingFiles lists the files that do not exist of the steps of an approved plan that an action marks done, or of all steps of a plan that
// it closes.
func (s *Service) missingFiles(ctx context.Context, c Caller, state plan.State, a plan.Action) map[plan.StepID][]string {
	if state.Plan == nil || c.scoped() {
		return nil
	}
	parts := []plan.Part{{Action: a}}
	if batch, ok := a.(plan.Batch); ok {
		parts = batch.Parts
	}
	missing := map[plan.StepID][]string{}
	for _, part := range parts {
		if step, ok := state.Plan.Steps.Get(marksDone(part.Action)); ok && state.Plan.Approval != nil {
			missing[step.ID] = s.notCreated(ctx, step)
		}
		if _, closes := part.Action.(plan.Close); closes {
			for step := range state.Plan.Steps.All() {
				missing[step.ID] = s.notCreated(ctx, step)
			}
		}
	}
	return missing
}

// Account says how much of a plan's finished work is verified now.
func (s *Service) Account(ctx context.Context, p *plan.Plan) plan.Account {
	return plan.AccountOf(p, func(step *plan.Step) []string { return s.notCreated(ctx, step) })
}

// closing reports on a plan that is closed now, to follow a sentence: its account if it has something to verify, and the questions of
// people that no agent has answered.
func (s *Service) closing(ctx context.Context, state plan.State) string {
	text := ""
	if account := s.Account(ctx, state.Plan); account.Checked() != "" {
		text = " The plan is closed: " + account.String() + "."
	}
	for _, comment := range unreplied(state) {
		text += " " + comment.ID + " was not answered: " + plan.Quote(comment.Text) + "."
	}
	return text
}

// notCreated lists the files that a step creates and that do not exist, as far as the files can be seen.
func (s *Service) notCreated(ctx context.Context, step *plan.Step) []string {
	if len(step.Creates) == 0 {
		return nil
	}
	files, err := s.files()
	if err != nil || files == nil {
		return nil
	}
	return gates.Missing(ctx, files, step.Creates)
}

// verify runs a step's verify command for a caller that marks it done, or waits for the run that another call has started. It returns
// nil once the command has passed, and refused if it cannot help. At the deadline it returns a stillVerifying, and the mark follows.
func (s *Service) verify(ctx context.Context, c Caller, id plan.StepID, mark plan.Action, refused *plan.ValidationError,
	until time.Time) error {
	state, err := s.State(ctx)
	if err != nil {
		return err
	}
	step, ok := currentSteps(state).Get(id)
	if !ok || step.Verify == "" || plan.IsVerified(step) || state.Plan.Approval == nil {
		return refused
	}
	if why := s.cannotVerify(state, step, c); why != nil {
		return why
	}
	c.yield()
	v := s.startVerifying(ctx, c, plan.Attempt{Plan: state.Plan.Root(), Step: id, Attempt: step.Attempts}, step)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	deadline := time.After(time.Until(until))
	for {
		c.progress(state.Plan.Steps.FinishedCount(), state.Plan.Steps.Len(),
			fmt.Sprintf("%s: verifying for %s: %s", id, s.opts.Now().Sub(v.since).Round(time.Second), plan.Quote(step.Verify)))
		select {
		case <-v.ended:
			return v.err
		case <-tick.C:
		case <-ctx.Done():
			if c.Background == nil {
				<-v.ended // the command ends with the call
			}
			return ctx.Err()
		case <-deadline:
			if c.Background != nil && v.leave(func(ctx context.Context) { _, _ = s.do(ctx, c.detached(), mark) }) {
				return stillVerifying{step, v.since}
			}
		}
	}
}

// cannotVerify refuses to run a step's verify command here, nil if it may be run.
func (s *Service) cannotVerify(state plan.State, step *plan.Step, c Caller) error {
	refusal := &plan.ValidationError{Kind: plan.Conflict, Field: "/status", Unverified: step.ID}
	name, command := step.ID.String()+" is not verified", plan.QuoteWhole(step.Verify)
	check := c.word(Call{Kind: CallCheck, Step: step.ID})
	switch {
	case state.PhaseNow().IsRestricted():
		refusal.Problem, refusal.Fix = name+", and no command is run while planning mode only reads", "mark it done when the mode is over"
	case !plan.MayVerify(state, step, state.LimitsInForce(s.opts.Limits)):
		refusal.Problem = name + ", and " + command + " may not be run unasked: no approval in force covers it"
		refusal.Fix = "ask the user to run `" + check + "`, then mark it done"
	case s.opts.Verify == nil:
		refusal.Problem, refusal.Fix = name+", and commands cannot be run here", "run `"+check+"` in the workspace, then mark it done"
	default:
		return nil
	}
	return refusal
}

// startVerifying runs a step's verify command and records the outcome, unless this process already does so.
func (s *Service) startVerifying(ctx context.Context, c Caller, of plan.Attempt, step *plan.Step) *verification {
	all := &s.verifying
	all.mu.Lock()
	defer all.mu.Unlock()
	if v := all.running[of]; v != nil {
		return v
	}
	v := &verification{since: s.opts.Now(), ended: make(chan struct{})}
	if all.running == nil {
		all.running = map[plan.Attempt]*verification{}
	}
	all.running[of] = v
	work := func(ctx context.Context) {
		all.turn.Lock()
		evidence, err := s.opts.Verify(ctx, step)
		all.turn.Unlock()
		v.mu.Lock()
		if v.err = err; err == nil {
			v.err = s.recordVerification(ctx, c.detached(), step, evidence, v.after == nil)
		}
		close(v.ended)
		v.mu.Unlock()
		if v.err == nil && v.after != nil {
			v.after(ctx)
		}
		all.mu.Lock()
		delete(all.running, of)
		all.mu.Unlock()
	}
	if c.Background != nil {
		c.Background(work)
	} else {
		go work(ctx)
	}
	return v
}

// leave has after called once the command has passed. It reports false if the command has already ended.
func (v *verification) leave(after func(context.Context)) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if isClosed(v.ended) {
		return false
	}
	v.after = after
	return true
}

// recordVerification records the outcome of a step's verify command, and returns the refusal of the step if it failed. If no call
// waits for it, a warning reports a failure. A success clears the signal that an earlier failure has raised.
func (s *Service) recordVerification(ctx context.Context, c Caller, step *plan.Step, e plan.Evidence, isAwaited bool) error {
	run := CheckRun{Signal: "task-" + step.ID.Number(), Level: plan.Warning, Task: step.ID, Command: e.Command, ExitCode: *e.ExitCode,
		Output: e.Output, isAwaited: isAwaited}
	if _, err := s.RecordCheck(context.WithoutCancel(ctx), c, run); err != nil || run.ExitCode == 0 {
		return err
	}
	return &plan.ValidationError{Kind: plan.Conflict, Field: "/status", Unverified: step.ID, Output: run.Output,
		Problem: fmt.Sprintf("%s is not verified: %s exited with %d", step.ID, plan.Quote(run.Command), run.ExitCode),
		Fix:     "fix the cause, then mark it done again"}
}
