package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/plan"
)

// ExecutePlan is the input of ExecutePlan.
type ExecutePlan struct {
	Parallel int  `json:"parallel,omitempty" jsonschema:"description=steps at a time"`
	Wait     *int `json:"wait,omitempty" jsonschema:"description=seconds to wait for the result; 45 at most"`
}

// Limits of a caller's request.
const (
	MaxParallel    = 64
	maxExecuteWait = 45 // seconds: hosts end calls after a minute
)

const progressEvery = 5 * time.Second // progress is reported at least this often while a step runs

// ExecutePlanReply is the state of a run.
type ExecutePlanReply struct {
	PlanID  string          `json:"plan_id,omitempty"`
	Status  string          `json:"status,omitempty"` // of the plan
	Reason  plan.StopReason `json:"reason,omitempty"` // why nothing more is started; "" while the run continues
	Message string          `json:"message"`
	Counts  RunCounts       `json:"counts,omitempty"`
	Running []string        `json:"running,omitempty"`
	Ready   []string        `json:"ready,omitempty"` // for agents
	Asks    []AskView       `json:"asks,omitempty"`  // questions and obstacles
	Heartbeat
	asking
}

// ExecutePlan runs the plan's tool steps in the background. It answers when a step needs its caller or a person, when
// the run is over, or after the wait; the run continues in any case.
func (s *Service) ExecutePlan(ctx context.Context, c Caller, in ExecutePlan) (ExecutePlanReply, error) {
	wait, err := in.check()
	if err == nil && c.wrong != nil {
		err = c.wrong
	}
	if err != nil {
		return ExecutePlanReply{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := s.session.Watch(ctx)
	if err != nil {
		return ExecutePlanReply{}, err
	}
	taking, err := s.execute(ctx, c, EngineOptions{Parallel: in.Parallel})
	if err != nil {
		return ExecutePlanReply{}, err
	}
	defer s.touch(c)
	c.yield()
	progress, up, tick := taking.hub.Listen(ctx), time.After(wait), time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		left := isClosed(taking.left) // before the state is read, which is final then
		state, err := s.State(ctx)
		if err != nil {
			return ExecutePlanReply{}, err
		}
		if taking.isDetached {
			state = s.settleLost(ctx, state)
			left = !state.HasActiveRun() || taking.hasDied(s.opts.Engines.Lives(), s.opts.Now())
		}
		switch {
		case left && taking.err != nil:
			return ExecutePlanReply{}, c.addPersonCalls(taking.err)
		case left, needsCaller(state), up == nil:
			s.seen.know(c, state)
			return s.executionReply(state, c, taking), nil
		}
		if what := cmp.Or(taking.latest(), s.latestProgress(state)); what != "" && state.Plan != nil {
			c.progress(state.Plan.Steps.FinishedCount(), state.Plan.Steps.Len(), what)
		}
		select {
		case <-changes:
		case <-progress:
		case <-taking.left:
		case <-tick.C:
		case <-up:
			up = nil
		}
		if ctx.Err() != nil {
			return ExecutePlanReply{}, ctx.Err()
		}
	}
}

// execute has the run carried out by a detached engine, or by one of this process where none can be detached.
func (s *Service) execute(ctx context.Context, c Caller, o EngineOptions) (*participation, error) {
	if s.opts.Detach == nil {
		return s.joinRun(ctx, c, o)
	}
	s.executing.mu.Lock()
	err := s.detach(ctx, c, o)
	s.executing.mu.Unlock()
	if err != nil && !errors.As(err, new(*plan.ValidationError)) {
		return s.joinRun(ctx, c, o) // the system cannot detach one now
	}
	return &participation{isDetached: true}, err
}

func (in ExecutePlan) check() (wait time.Duration, err error) {
	var faults plan.Faults
	if in.Parallel < 0 || in.Parallel > MaxParallel {
		faults.Add(plan.Refuse(plan.InvalidInput, "/parallel", fmt.Sprintf("%d is out of range", in.Parallel),
			fmt.Sprintf("give 1 to %d", MaxParallel)))
	}
	seconds := maxExecuteWait
	if in.Wait != nil {
		seconds = *in.Wait
	}
	if seconds < 0 || seconds > maxExecuteWait {
		faults.Add(plan.Refuse(plan.InvalidInput, "/wait", fmt.Sprintf("%d s is out of range", seconds),
			fmt.Sprintf("give 0 to %d; planloop_status waits longer", maxExecuteWait)))
	}
	return time.Duration(seconds) * time.Second, faults.Err()
}

// backgroundEngine is the engine that this process runs for its callers, at most one.
type backgroundEngine struct {
	mu            sync.Mutex
	participation *participation // the latest
}

type participation struct {
	hub        broadcast.Hub // notified of progress
	begun      chan struct{} // closed when the run has begun or resumed
	left       chan struct{} // closed when the engine has left
	err        error         // valid once left is closed
	isDetached bool          // its engine is another process
	goneAt     time.Time     // when that was first seen to be gone; zero: it lives
	asked      bool          // a caller joined since the engine last began to take part; executing.mu guards it

	mu   sync.Mutex
	what map[plan.StepID]string // progress of running steps
	last string
}

// StartRun has this process take part in the run in the background. It returns once the run has begun or resumed, or
// the reason why it has not.
func (s *Service) StartRun(ctx context.Context, c Caller, o EngineOptions) error {
	taking, err := s.joinRun(ctx, c, o)
	if err != nil {
		return err
	}
	select {
	case <-taking.begun:
		return nil
	case <-taking.left:
	case <-ctx.Done():
		return ctx.Err()
	}
	if taking.err != nil || isClosed(taking.begun) { // the run may be over already
		return taking.err
	}
	return plan.Refuse(plan.Conflict, "", "the plan is complete, so there is nothing to run", "read its results")
}

// joinRun returns this process's engine, starting one if necessary. The goroutine belongs to the background and
// ends with it or with the run.
func (s *Service) joinRun(ctx context.Context, c Caller, o EngineOptions) (*participation, error) {
	if s.opts.Engine == nil || c.Background == nil {
		return nil, noEngine()
	}
	s.executing.mu.Lock()
	defer s.executing.mu.Unlock()
	if p := s.executing.participation; p != nil && !isClosed(p.left) {
		_, err := s.do(ctx, c, plan.BeginRun{}) // resumes a paused run
		p.asked = p.asked || err == nil
		return p, err
	}
	p := &participation{begun: make(chan struct{}), left: make(chan struct{}), what: map[plan.StepID]string{}}
	s.executing.participation = p
	by := c.detached()
	begun := sync.OnceFunc(func() { close(p.begun) })
	o.Listener, o.Begin = p, func(context.Context) error { begun(); return nil }
	c.Background(func(ctx context.Context) {
		for stays := true; stays; stays = s.continuesRun(ctx, p) {
			_, p.err = s.Run(ctx, by, o)
		}
	})
	return p, nil
}

func noEngine() error {
	return plan.Refuse(plan.Conflict, "", "this server has no engine to run steps", "run the plan in a project's own workspace")
}

// continuesRun ends a participation with an idle engine, unless a caller joined since and there is work again: a
// caller that joins while the engine leaves must not end up with a run that no engine carries out.
func (s *Service) continuesRun(ctx context.Context, p *participation) bool {
	s.executing.mu.Lock()
	defer s.executing.mu.Unlock()
	if p.asked && p.err == nil && ctx.Err() == nil {
		p.asked = false
		if state, err := s.State(ctx); err == nil && (state.HasActiveRun() || plan.FindStopReason(state) == "") {
			return true
		}
	}
	close(p.left)
	return false
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Recorded forgets the progress of steps that have ended.
func (p *participation) Recorded(state plan.State, _ plan.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state.Plan == nil { // the history was deleted
		return
	}
	for id := range p.what {
		if step, ok := state.Plan.Steps.Get(id); !ok || !step.IsRunning() {
			delete(p.what, id)
		}
	}
	p.last = ""
	for step := range state.Plan.Steps.Executing() {
		p.last = step.ID.String() + " " + plan.Shorten(step.Title, titleShown)
	}
	p.hub.Notify()
}

// Progress keeps the progress of a running step.
func (p *participation) Progress(step plan.StepID, percent int, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what[step] = strings.TrimSpace(fmt.Sprintf("%d %% %s", percent, plan.Shorten(oneLine(what), titleShown)))
	p.last = step.String() + " " + p.what[step]
	p.hub.Notify()
}

// leaveTakes is how long an engine may take between its leave and the record of it.
const leaveTakes = 2 * time.Second

// hasDied reports whether a detached engine is gone although its run is open.
func (p *participation) hasDied(lives bool, now time.Time) bool {
	if lives {
		p.goneAt = time.Time{}
	} else if p.goneAt.IsZero() {
		p.goneAt = now
	}
	return !lives && now.Sub(p.goneAt) > leaveTakes
}

// latestProgress returns the progress of a step that another process runs, "" if it runs none.
func (s *Service) latestProgress(state plan.State) string {
	if s.opts.Engines == nil {
		return ""
	}
	for _, running := range s.opts.Engines.Running() {
		if step, ok := currentSteps(state).Get(running.Step); ok && step.IsRunning() {
			return strings.TrimSpace(idAndTitle(step) + " " + plan.Shorten(oneLine(running.What), titleShown))
		}
	}
	return ""
}

// Waiting keeps the reason of a wait as the progress.
func (p *participation) Waiting(what string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = "waiting since " + since.Local().Format("15:04") + " for " + what
	p.hub.Notify()
}

func (p *participation) latest() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// needsCaller reports whether a step of an open run waits for an agent or has a question.
func needsCaller(state plan.State) bool {
	if !state.HasActiveRun() || len(plan.StartableSteps(state, 1)) > 0 && len(runningSteps(state)) == 0 { // the engine comes first
		return false
	}
	return state.Plan.Steps.HasQuestion() || len(readyForAgents(state)) > 0
}

// readyForAgents lists the ready steps for agents.
func readyForAgents(state plan.State) []*plan.Step {
	var ready []*plan.Step
	for step := range plan.ReadySteps(state) {
		if step.OpenQuestion() == nil && !step.NeedsEngine() {
			ready = append(ready, step)
		}
	}
	return ready
}

func (s *Service) executionReply(state plan.State, c Caller, taking *participation) ExecutePlanReply {
	p := state.Plan
	reply := ExecutePlanReply{Heartbeat: s.heartbeat(state, c), Reason: plan.FindStopReason(state)}
	reply.Message = map[plan.StopReason]string{"": "The run continues", plan.StopCompleted: "The plan is complete",
		plan.StopCancelled: "The run is over", plan.StopPaused: "The run is paused",
		plan.StopFailed:           "The plan needs a replan, or has failed",
		plan.StopWaitingForPerson: "The run waits for a person", plan.StopWaitingForAgent: "The run waits for an agent",
		plan.StopDeadlocked: "No more steps can start"}[reply.Reason]
	if p == nil {
		return reply
	}
	reply.PlanID, reply.Status, reply.Counts = p.ID, string(p.Status), countRun(p)
	maps.DeleteFunc(reply.Counts, func(_ string, n int) bool { return n == 0 })
	taking.mu.Lock()
	defer taking.mu.Unlock()
	for step := range p.Steps.Executing() {
		reply.Running = append(reply.Running, idAndTitle(step)+inBrackets(taking.what[step.ID]))
	}
	reply.Ready = plan.Map(readyForAgents(state), idAndTitle)
	for step := range p.Steps.WithQuestion() {
		if reply.ask == nil {
			reply.ask = s.askAboutStep(state, step, c)
		}
	}
	reply.Asks = s.Asks(state, c)
	for _, list := range []*[]string{&reply.Running, &reply.Ready} {
		*list = firstOf(*list, fewShown, "and %d more")
	}
	return reply
}

// fewShown is the most steps per list in the reply of a run.
const fewShown = 5

// askAboutStep returns the question about a step to put to a person through the host, nil if an answer given there would not count.
func (s *Service) askAboutStep(state plan.State, step *plan.Step, c Caller) *Ask {
	ask := step.OpenQuestion()
	if ask == nil || !c.brief() {
		return nil
	}
	about := &Ask{Step: step.ID, Kind: ask.Kind, Attempt: ask.Attempt, Digest: ask.Digest, service: s}
	switch {
	case ask.Kind == plan.AskPause:
		about.Message = ask.Text
	case ask.Kind == plan.AskApproval && !s.PersonOnly(state):
		about.Message, _ = s.ReviewStep(state, step, nil)
	default:
		return nil
	}
	return about
}

// StepAsks returns the current form of a question about a step; nil if the step no longer asks it.
func (s *Service) StepAsks(ctx context.Context, c Caller, asked *Ask) (*Ask, error) {
	state, err := s.State(ctx)
	if err != nil || state.Plan == nil {
		return nil, err
	}
	step, ok := state.Plan.Steps.Get(asked.Step)
	if !ok {
		return nil, nil
	}
	now := s.askAboutStep(state, step, c)
	if now == nil || now.Kind != asked.Kind || now.Attempt != asked.Attempt || now.Digest != asked.Digest {
		return nil, nil
	}
	return now, nil
}

// RunStatus returns the state of the run without starting or resuming it.
func (s *Service) RunStatus(ctx context.Context, c Caller) (ExecutePlanReply, error) {
	state, err := s.State(ctx)
	return s.executionReply(state, c, &participation{}), err
}

func (r ExecutePlanReply) Text() string {
	text := r.Message
	if r.PlanID != "" {
		text += fmt.Sprintf(" (%s)\nPlan: %s, %s", r.Counts.text(), r.PlanID, r.Status)
	}
	text += prefixed("\nReason: ", string(r.Reason))
	for _, list := range []struct {
		name  string
		lines []string
	}{{"Running", r.Running}, {"Ready", r.Ready}} {
		text += prefixed("\n"+list.name+": ", strings.Join(list.lines, "; "))
	}
	for _, ask := range r.Asks {
		text += "\n" + ask.lines(r.NextAction)
	}
	return r.under(text)
}
