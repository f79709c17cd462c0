package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/plan"
)

// run is one engine's part in a run. All its methods are called from one goroutine, except runTool and runAgent.
type run struct {
	*Engine
	RunOptions
	name    string          // of this engine on this machine
	actor   plan.Actor      // as the log names it
	records context.Context // context of the log, which is still written after ctx has ended

	results  chan plan.AttemptResult
	progress chan progress

	running    map[plan.StepID]runningAttempt
	unrecorded []plan.AttemptResult
	retryAt    map[plan.Attempt]time.Time // when the retry of a failed attempt may begin
	locks      map[string]stepLock        // by name
	state      plan.State
	idle       plan.Revision // revision with nothing to record
	notified   plan.Revision // last revision the listener got
	faults     int           // consecutive faults of the store

	selected map[plan.StepID]bool // the steps of Only

	agentStarts int
	exhausted   string    // why no more agents are started; "" while they may be
	deadline    time.Time // no new steps start after this; zero: unlimited

	values       map[string]json.RawMessage // cache of values in the store, by name
	valuesSize   int                        // bytes
	files        map[plan.StepID]fileList   // matches of the patterns of loops
	filesMissing bool                       // a loop could not begin because its files are not in files
}

// progress is the progress of a step.
type progress struct {
	step    plan.StepID
	percent int
	what    string
}

const (
	waitReports  = time.Minute            // between calls of OnWait
	pollEvery    = 500 * time.Millisecond // poll for dead engines, which cause no event
	faultWait    = time.Second            // before retrying to record
	maxFaults    = 5
	jitter       = 5                      // a fifth of a wait, added at random, keeps steps that failed together apart
	maxResolving = 100 * time.Millisecond // time under the log's lock, except for a single slow step
)

// loop carries out steps until there is nothing more to do.
func (r *run) loop(ctx context.Context) (plan.StopReason, error) {
	watched, stop := context.WithCancel(r.records)
	defer stop()
	changes, err := r.session.Watch(watched)
	if err != nil {
		return "", fmt.Errorf("watch the log: %w", err)
	}
	if r.state, err = r.session.State(r.records); err != nil {
		return "", err
	}
	r.notified = cmp.Or(r.notified, r.state.Revision)
	for {
		err := r.advance(ctx)
		if err == nil {
			r.faults = 0
		} else if r.faults++; r.faults >= maxFaults || errors.As(err, new(*plan.ValidationError)) {
			return "", r.giveUp(err)
		} else {
			r.opts.Logger.Warn("could not record a change; trying again", "error", err)
		}
		r.notifyListener()
		if over, isOver := r.isOver(ctx); isOver && err == nil {
			return over, nil
		}
		if r.OnWait != nil && len(r.running) == 0 && err == nil {
			why := plan.StopReason("")
			if r.Wait {
				why = plan.FindStopReason(r.state)
			}
			r.OnWait(r.state, why)
		}
		r.wait(ctx, changes)
	}
}

// wait returns after an event that may allow progress.
func (r *run) wait(ctx context.Context, changes <-chan struct{}) {
	var drained, killed <-chan struct{}
	if !r.isDraining(ctx) {
		drained, killed = r.Drain, ctx.Done()
	}
	select {
	case result := <-r.results:
		r.addResult(result)
	case p := <-r.progress:
		if r.Listener != nil {
			r.Listener.Progress(p.step, p.percent, p.what)
		}
	case <-changes:
	case <-drained:
	case <-killed:
	case <-time.After(r.longestWait()):
		r.idle = 0
	}
	for len(r.results) > 0 { // record results that arrived together in one record
		r.addResult(<-r.results)
	}
}

func (r *run) addResult(result plan.AttemptResult) {
	if attempt, ok := r.running[result.Step]; ok {
		attempt.end(nil)
		delete(r.running, result.Step)
	}
	r.unrecorded = append(r.unrecorded, result)
	r.unlockSteps()
}

// longestWait returns how long to wait at most without an event.
func (r *run) longestWait() time.Duration {
	if r.faults > 0 {
		return faultWait
	}
	wait := time.Hour
	if len(r.running) == 0 {
		wait = waitReports
	}
	if len(r.stepsOfOthers()) > 0 {
		wait = pollEvery
	}
	for _, at := range r.retryAt {
		wait = min(wait, max(lockEvery, time.Until(at))) // it may have passed while no slot was free, or the step was skipped
	}
	for _, lock := range r.locks {
		if lock.holder == 0 {
			wait = min(wait, max(lockEvery, time.Until(lock.tryAt)))
		}
	}
	if !r.deadline.IsZero() && !r.isLate() {
		wait = min(wait, time.Until(r.deadline))
	}
	return wait
}

// isDraining reports whether this engine starts no new steps.
func (r *run) isDraining(ctx context.Context) bool {
	select {
	case <-r.Drain:
		return true
	default:
		return ctx.Err() != nil || r.isLate()
	}
}

func (r *run) isLate() bool { return !r.deadline.IsZero() && !time.Now().Before(r.deadline) }

// advance records results and starts until none follow.
func (r *run) advance(ctx context.Context) error {
	for {
		state, err := r.session.State(r.records)
		if err != nil {
			return err
		}
		r.state = state
		r.attendAttempts()
		lost, mayStart := r.endLostAttempts(), r.mayStart(ctx)
		if len(r.unrecorded) == 0 && len(lost) == 0 && (!mayStart || r.idle == state.Revision) {
			return nil
		}
		if mayStart {
			r.findFiles(ctx)
		}
		changed, err := r.record(ctx, lost)
		if err != nil {
			return err
		}
		if !changed && !r.filesMissing {
			r.idle = r.state.Revision
			return nil
		}
	}
}

// mayStart reports whether this engine may be able to start or settle a step.
func (r *run) mayStart(ctx context.Context) bool {
	return !r.isDraining(ctx) && r.state.HasActiveRun() && r.freeSlots() > 0 && len(r.candidates(r.state)) > 0
}

func (r *run) freeSlots() int { return r.Parallel - len(r.running) }

// candidates returns the steps that could start now, except those waiting for a retry.
func (r *run) candidates(s plan.State) []*plan.Step {
	now := time.Now()
	agentCanStart := func(step *plan.Step) bool { return r.agentFor(s, step) != "" && !r.awaitsRetry(s, step, now) }
	return slices.DeleteFunc(plan.StartableStepsWithAgents(s, r.room(), agentCanStart, r.selects()), func(step *plan.Step) bool {
		_, ours := r.running[step.ID]
		return ours || r.awaitsRetry(s, step, now) || r.awaitsLock(step, now)
	})
}

// room returns how many steps to request: those waiting for a retry or a lock must not displace others.
func (r *run) room() int { return r.freeSlots() + len(r.retryAt) + len(r.locks)*plan.MaxCandidates }

// awaitsRetry reports whether a step that failed for a transient reason must still wait for its retry.
func (r *run) awaitsRetry(s plan.State, step *plan.Step, now time.Time) bool {
	wait := time.Duration(0)
	if retries := cmp.Or(step.Execution, &plan.Execution{}).Retries; retries > 0 {
		wait = step.BackOff(retries)
	}
	if step.Tool == "" && step.Attempts > 0 && s.Run != nil { // earlier agents ended at once
		wait = max(wait, time.Duration(s.Run.Unavailable)*time.Second)
	}
	if wait == 0 {
		return false
	}
	attempt := attemptOf(s, step)
	at, known := r.retryAt[attempt]
	if !known {
		if len(step.Retry) > 0 {
			wait += rand.N(wait/jitter + 1)
		}
		at = now.Add(wait)
		r.retryAt[attempt] = at
	}
	return now.Before(at)
}

func attemptOf(s plan.State, step *plan.Step) plan.Attempt {
	return plan.Attempt{Plan: s.Plan.Root(), Step: step.ID, Attempt: step.Attempts}
}

// record makes one record of results and starts, and starts these steps.
func (r *run) record(ctx context.Context, lost []plan.Attempt) (changed bool, err error) {
	defer r.unlockSteps() // of steps that did not start
	var jobs map[plan.StepID]job
	action := plan.Schedule{Results: r.unrecorded, Lost: lost, MaxStarts: r.room()}
	outcome, err := r.session.Do(r.records, r.actor, action, func(state plan.State, facts *plan.Facts) error {
		jobs = map[plan.StepID]job{}
		if r.isDraining(ctx) || !state.HasActiveRun() {
			return nil
		}
		facts.Resolutions = map[plan.StepID]plan.Resolution{}
		free, begun := r.freeSlots(), time.Now()
		after := action.ApplyResults(state, *facts)
		for _, step := range r.candidates(after) {
			if time.Since(begun) > maxResolving && len(jobs) > 0 { // others wait for the log; the rest comes next
				break
			}
			if (step.Tool != "" || r.agentFor(after, step) != "") && (step.ForEach == "" || step.Loop() != 0) { // needs a slot
				if free == 0 {
					continue
				}
				if isFree, err := r.lockStep(step); err == nil && !isFree {
					continue
				} else if err != nil {
					facts.Resolutions[step.ID] = plan.Resolution{Problem: err.Error()}
					continue
				}
				free--
			}
			if j, ok := r.resolve(after, step); ok {
				facts.Resolutions[step.ID], jobs[step.ID] = j.Resolution, j
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	r.state, r.unrecorded = outcome.After, nil
	r.notice(outcome)
	for _, e := range outcome.Events {
		if started, ok := e.(plan.StepStarted); ok {
			r.start(ctx, started, jobs[started.Step])
		}
	}
	return len(outcome.Events) > 0, nil
}

// notice passes on what this engine has recorded.
func (r *run) notice(outcome session.Outcome) {
	if r.opts.Notice != nil && len(outcome.Events) > 0 {
		r.opts.Notice(outcome.After, outcome.Events)
	}
}

// start carries out a step that was recorded as started.
func (r *run) start(ctx context.Context, e plan.StepStarted, j job) {
	j.step, _ = r.state.Plan.Steps.Get(e.Step)
	j.run, j.attempt = r.state.Run.ID, plan.Attempt{Plan: r.state.Plan.Root(), Step: e.Step, Attempt: e.Attempt}
	ctx, end := context.WithCancelCause(ctx)
	attempt := runningAttempt{Attempt: j.attempt, agent: j.Agent, reported: make(chan struct{}), end: end}
	r.running[e.Step] = attempt
	maps.DeleteFunc(r.retryAt, func(a plan.Attempt, _ time.Time) bool { return a.Step == e.Step })
	if j.Agent == "" {
		go func() { r.results <- r.runTool(ctx, j) }()
		return
	}
	r.agentStarts++
	go func() { r.results <- r.runAgent(ctx, j, attempt.reported) }()
}

// isOver reports whether this engine has nothing more to do, and why.
func (r *run) isOver(ctx context.Context) (plan.StopReason, bool) {
	if len(r.running) > 0 || len(r.unrecorded) > 0 {
		return "", false
	}
	why, draining := r.findStopReason(), r.isDraining(ctx)
	agentCanStart := func() bool { // now, or after the wait for a retry
		assigns := func(step *plan.Step) bool { return r.agentFor(r.state, step) != "" }
		return len(plan.StartableStepsWithAgents(r.state, 1, assigns, r.selects())) > 0
	}
	switch why {
	case plan.StopWaitingForAgent, plan.StopWaitingForPerson:
		switch {
		case !draining && r.state.HasActiveRun() && agentCanStart():
			return "", false
		case why == plan.StopWaitingForAgent && (r.exhausted != "" || r.isLate() || draining && agentCanStart()):
			return plan.StopPaused, true
		}
		return why, !r.Wait || draining || !r.state.HasActiveRun()
	case plan.StopFailed: // a person at a terminal still answers the questions of other steps
		asks := r.state.Plan.Steps.HasQuestion() || r.state.Plan.Steps.Count(plan.Blocked) > 0
		return why, !r.Wait || draining || !r.state.HasActiveRun() || r.state.Plan.Status != plan.StatusActive || !asks
	case "":
		if draining || r.state.OpenRun() != nil && !r.state.HasActiveRun() {
			return plan.StopPaused, true
		}
		return plan.StopCancelled, r.state.OpenRun() == nil
	}
	return why, true
}

// selects returns a function that reports whether this engine carries out a step, nil if it carries out all.
func (r *run) selects() func(*plan.Step) bool {
	if len(r.Only) == 0 {
		return nil
	}
	return func(step *plan.Step) bool {
		return r.selected[step.ID] || r.selected[step.Loop()]
	}
}

// findStopReason returns the reason this engine's steps cannot go on; paused if all that were selected have ended well.
func (r *run) findStopReason() plan.StopReason {
	why := plan.FindStopReasonFor(r.state, r.selects())
	if why != plan.StopDeadlocked || len(r.Only) == 0 {
		return why
	}
	why = plan.StopPaused
	for _, id := range r.Only {
		if step, ok := r.state.Plan.Steps.Get(id); ok && step.Status == plan.Failed {
			return plan.StopFailed
		} else if ok && !step.HasEnded() {
			why = plan.StopDeadlocked
		}
	}
	return why
}

// giveUp waits for the running steps, tries once more to record their results, and names those that could not be recorded.
func (r *run) giveUp(err error) error {
	for len(r.running) > 0 {
		r.addResult(<-r.results)
	}
	if len(r.unrecorded) == 0 {
		return err
	}
	if _, again := r.session.Do(r.records, r.actor, plan.Schedule{Results: r.unrecorded}, nil); again == nil {
		return err
	}
	var steps []plan.StepID
	for _, result := range r.unrecorded {
		steps = append(steps, result.Step)
	}
	slices.Sort(steps)
	return fmt.Errorf("could not record the results of %s: %w", plan.ListIDs(steps), err)
}

// notifyListener sends the listener the records since the last call.
func (r *run) notifyListener() {
	r.notified = min(r.notified, r.state.Revision) // a deleted history restarts the revisions
	if r.Listener == nil || r.notified == r.state.Revision {
		return
	}
	for record, err := range r.session.Records(r.records, r.notified) {
		if err != nil {
			r.opts.Logger.Warn("could not read changes to show them", "error", err)
			return
		}
		r.notified = record.Seq
		r.Listener.Recorded(r.state, record)
	}
}
