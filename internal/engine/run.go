package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/planloop/planloop/plan"
)

// run is one engine's part in a run. All its methods are called from one goroutine.
type run struct {
	*resolver
	RunOptions
	actor   plan.Actor
	records context.Context // context of the log, which is still written after ctx has ended

	results  chan plan.AttemptResult
	progress chan progress

	carried map[plan.StepID]plan.Attempt // attempts in goroutines of this run
	ended   []plan.AttemptResult         // not recorded yet
	waits   map[plan.Attempt]time.Time   // when the retry of a failed attempt may begin
	state   plan.State
	idle    plan.Revision // revision with nothing to record
	heard   plan.Revision // last revision the listener got
	faults  int           // consecutive faults of the store

	assigned map[plan.StepID]assigned // agents at work
	until    time.Time                // no new steps start after this; zero: unlimited
}

// progress is the progress of a step.
type progress struct {
	step    plan.StepID
	percent int
	what    string
}

const (
	lookEvery  = 500 * time.Millisecond // poll for dead engines, which cause no event
	faultWait  = time.Second            // before retrying to record
	mostFaults = 5

	mostResolving = 100 * time.Millisecond // time under the log's lock, except for a single slow step
)

// loop carries out steps until there is nothing more to do.
func (r *run) loop(ctx context.Context) (plan.StopReason, error) {
	watched, stop := context.WithCancel(r.records)
	defer stop()
	changes, err := r.session.Watch(watched)
	if err != nil {
		return "", fmt.Errorf("hear of changes: %w", err)
	}
	if r.state, err = r.session.State(r.records); err != nil {
		return "", err
	}
	if r.heard == 0 {
		r.heard = r.state.Revision
	}
	for {
		err := r.advance(ctx)
		if err != nil {
			if r.faults++; r.faults >= mostFaults || errors.As(err, new(*plan.ValidationError)) {
				return "", r.giveUp(err)
			}
			r.opts.Logger.Warn("a change could not be recorded and is tried again", "error", err)
		} else {
			r.faults = 0
		}
		r.tell()
		if over, is := r.over(ctx); is && err == nil {
			return over, nil
		}
		r.wait(ctx, changes)
	}
}

// wait returns after an event that may allow progress.
func (r *run) wait(ctx context.Context, changes <-chan struct{}) {
	var drained, killed <-chan struct{}
	if !r.draining(ctx) {
		drained, killed = r.Drain, ctx.Done()
	}
	timer := time.NewTimer(r.patience())
	defer timer.Stop()
	select {
	case result := <-r.results:
		r.take(result)
	case p := <-r.progress:
		if r.Listener != nil {
			r.Listener.Progress(p.step, p.percent, p.what)
		}
	case <-changes:
	case <-drained:
	case <-killed:
	case <-timer.C:
		r.idle = 0
	}
	for { // record results that arrived together in one record
		select {
		case result := <-r.results:
			r.take(result)
		default:
			return
		}
	}
}

func (r *run) take(result plan.AttemptResult) {
	delete(r.carried, result.Step)
	if agent, is := r.assigned[result.Step]; is {
		agent.end(nil)
		delete(r.assigned, result.Step)
	}
	r.ended = append(r.ended, result)
}

// patience returns how long to wait at most without an event.
func (r *run) patience() time.Duration {
	if r.faults > 0 {
		return faultWait
	}
	wait := time.Hour
	if len(r.others()) > 0 {
		wait = lookEvery
	}
	for _, at := range r.waits {
		wait = min(wait, max(0, time.Until(at)))
	}
	if !r.until.IsZero() && !r.late() {
		wait = min(wait, time.Until(r.until))
	}
	return wait
}

// draining reports whether this engine starts no new steps.
func (r *run) draining(ctx context.Context) bool {
	select {
	case <-r.Drain:
		return true
	default:
		return ctx.Err() != nil || r.late()
	}
}

// late reports whether the time for starting steps is over.
func (r *run) late() bool { return !r.until.IsZero() && !time.Now().Before(r.until) }

// advance records results and starts until none follow.
func (r *run) advance(ctx context.Context) error {
	for {
		state, err := r.session.State(r.records)
		if err != nil {
			return err
		}
		r.state = state
		r.attendAgents()
		lost, fresh := r.lost(), r.mayStart(ctx)
		if len(r.ended) == 0 && len(lost) == 0 && (!fresh || r.idle == state.Revision) {
			return nil
		}
		if fresh {
			if err := r.prepareLists(ctx, state); err != nil {
				return err
			}
		}
		changed, err := r.record(ctx, lost)
		if err != nil {
			return err
		}
		if !changed && !r.listsMissing() {
			r.idle = r.state.Revision
			return nil
		}
	}
}

// mayStart reports whether this engine may be able to start or settle a step.
func (r *run) mayStart(ctx context.Context) bool {
	return !r.draining(ctx) && r.state.HasActiveRun() && r.free() > 0 && len(r.candidates(r.state)) > 0
}

// free returns how many more steps can run.
func (r *run) free() int { return r.Parallel - len(r.carried) }

// candidates returns the steps that could start now, except those waiting for a retry.
func (r *run) candidates(s plan.State) []*plan.Step {
	now := time.Now()
	var list []*plan.Step
	for _, step := range plan.StartableStepsWithAgents(s, r.room(), r.assigns(s)) {
		if _, ours := r.carried[step.ID]; !ours && !r.waiting(s, step, now) {
			list = append(list, step)
		}
	}
	return list
}

// room returns how many steps to request: waiting ones must not displace others.
func (r *run) room() int { return r.free() + len(r.waits) }

// waiting reports whether a step that failed for a transient reason must still wait for its retry.
func (r *run) waiting(s plan.State, step *plan.Step, now time.Time) bool {
	after := 0
	if step.Execution != nil {
		after = step.Execution.Retries
	}
	if step.Tool == "" && step.Attempts > 0 && s.Run != nil { // earlier agents ended at once
		after = max(after, s.Run.Unavailable)
	}
	if after == 0 {
		return false
	}
	attempt := plan.Attempt{Plan: s.Plan.Root(), Step: step.ID, Attempt: step.Attempts}
	at, known := r.waits[attempt]
	if !known {
		at = now.Add(time.Duration(after) * time.Second)
		r.waits[attempt] = at
	}
	return now.Before(at)
}

// record makes one record of results and starts, and starts these steps.
func (r *run) record(ctx context.Context, lost []plan.Attempt) (changed bool, err error) {
	var jobs map[plan.StepID]job
	action := plan.Schedule{Results: r.ended, Lost: lost, MaxStarts: r.room()}
	outcome, err := r.session.Do(r.records, r.actor, action, func(state plan.State, facts *plan.Facts) error {
		jobs = map[plan.StepID]job{}
		if r.draining(ctx) || !state.HasActiveRun() {
			return nil
		}
		facts.Resolutions = map[plan.StepID]plan.Resolution{}
		free, begun := r.free(), time.Now()
		after := action.ApplyResults(state, *facts)
		for _, step := range r.candidates(after) {
			if time.Since(begun) > mostResolving && len(jobs) > 0 { // others wait for the log; the rest comes next
				break
			}
			if runs := (step.Tool != "" || r.agentFor(after, step) != "") && (step.ForEach == "" || step.Loop() != 0); runs && free == 0 {
				continue
			} else if runs {
				free--
			}
			if found, ok := r.resolve(r.records, after, step); ok {
				found.before = after
				facts.Resolutions[step.ID] = found.Resolution
				jobs[step.ID] = found
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	r.state, r.ended = outcome.After, nil
	for _, e := range outcome.Events {
		if started, ok := e.(plan.StepStarted); ok {
			r.start(ctx, started, jobs[started.Step])
		}
	}
	return len(outcome.Events) > 0, nil
}

// start carries out a step that was recorded as started.
func (r *run) start(ctx context.Context, e plan.StepStarted, j job) {
	step, _ := r.state.Plan.Steps.Get(e.Step)
	j.step, j.run = step, r.state.Run.ID
	j.attempt = plan.Attempt{Plan: r.state.Plan.Root(), Step: e.Step, Attempt: e.Attempt}
	r.carried[e.Step] = j.attempt
	maps.DeleteFunc(r.waits, func(a plan.Attempt, _ time.Time) bool { return a.Step == e.Step })
	if j.Agent == "" {
		go func() { r.results <- r.carry(ctx, j) }()
		return
	}
	r.begun++
	ctx, end := context.WithCancelCause(ctx)
	agent := assigned{attempt: j.attempt, reported: make(chan struct{}), end: end}
	r.assigned[e.Step] = agent
	go func() { r.results <- r.work(ctx, j, agent.reported) }()
}

// over reports whether this engine has nothing more to do, and why.
func (r *run) over(ctx context.Context) (plan.StopReason, bool) {
	if len(r.carried) > 0 || len(r.ended) > 0 {
		return "", false
	}
	why := plan.FindStopReason(r.state)
	switch {
	case (why == plan.StopWaitingForAgent || why == plan.StopWaitingForPerson) && r.goesOn(ctx) &&
		len(plan.StartableStepsWithAgents(r.state, 1, r.assignable(r.state))) > 0:
		return "", false // a retry is due soon
	case why == plan.StopWaitingForAgent && (r.spent != "" || r.late() ||
		r.draining(ctx) && len(plan.StartableStepsWithAgents(r.state, 1, r.assignable(r.state))) > 0):
		return plan.StopPaused, true
	case why == plan.StopWaitingForPerson || why == plan.StopWaitingForAgent:
		return why, !r.Wait || r.draining(ctx) || !r.state.HasActiveRun()
	case why != "":
		return why, true
	case r.draining(ctx), r.state.OpenRun() != nil && !r.state.HasActiveRun():
		return plan.StopPaused, true
	}
	return plan.StopCancelled, r.state.OpenRun() == nil
}

// giveUp waits for the running steps, tries once more to record their results, and names those that could not be recorded.
func (r *run) giveUp(err error) error {
	for len(r.carried) > 0 {
		r.take(<-r.results)
	}
	if len(r.ended) == 0 {
		return err
	}
	lost := make([]plan.StepID, len(r.ended))
	for i, result := range r.ended {
		lost[i] = result.Step
	}
	slices.Sort(lost)
	if _, again := r.session.Do(r.records, r.actor, plan.Schedule{Results: r.ended}, nil); again == nil {
		return err
	}
	return fmt.Errorf("what came of %s could not be recorded: %w", plan.ListIDs(lost), err)
}

// tell sends the listener the records since the last call.
func (r *run) tell() {
	r.heard = min(r.heard, r.state.Revision) // a deleted history restarts the revisions
	if r.Listener == nil || r.heard == r.state.Revision {
		return
	}
	for record, err := range r.session.Records(r.records, r.heard) {
		if err != nil {
			r.opts.Logger.Warn("changes could not be read to be shown", "error", err)
			return
		}
		r.heard = record.Seq
		r.Listener.Recorded(r.state, record)
	}
}
