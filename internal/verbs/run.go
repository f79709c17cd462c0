package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/plan"
)

// RunReply is the result of a run so far (planloop: the object that ends `run --json`).
type RunReply struct {
	PlanID   string               `json:"plan_id"`
	Status   string               `json:"status"`           // of the plan
	Reason   plan.StopReason      `json:"reason,omitempty"` // why the run is over; "" while it continues
	Counts   RunCounts            `json:"counts"`
	Duration int64                `json:"duration"`       // milliseconds this call took
	Note     string               `json:"note,omitempty"` // the note with the reason
	Failures []RunFailure         `json:"failures"`
	Asks     []AskView            `json:"asks,omitempty"`     // questions and obstacles
	Starts   map[string]int       `json:"starts,omitempty"`   // number of agent starts, by agent name
	Outside  map[string][]string  `json:"outside,omitempty"`  // files that agents changed although their steps do not name them
	Moved    []string             `json:"moved,omitempty"`    // steps after which the work tree was at a different commit
	Unseen   []string             `json:"unseen,omitempty"`   // steps with changes that could not be detected
	Outputs  map[string]RunOutput `json:"outputs"`            // values by step
	Selected []SelectedStep       `json:"selected,omitempty"` // the steps that the run was limited to
	Heartbeat
}

// RunCounts counts steps by status, and those of unknown outcome, which count as nothing else.
type RunCounts map[string]int

// unknownCount is the key of the steps that were started and whose outcome is unknown.
const unknownCount = "unknown"

func countedStatuses() []string {
	return []string{"done", "in_progress", "pending", "blocked", "failed", "skipped", "cancelled", unknownCount}
}

type RunFailure struct {
	StepID string `json:"step_id"`
	Error  string `json:"error"`
}

// RunOutput is the value of a step, whole only if it is short. `planloop show STEP --json` has the whole value.
type RunOutput struct {
	Bytes int             `json:"bytes"` // of its JSON
	Value json.RawMessage `json:"value,omitempty"`
}

// maxOutput is the most bytes of a value in a reply, maxBriefOutputs of all values in one for a model.
const (
	maxOutput       = 1 << 10
	maxBriefOutputs = 4 << 10
)

// Run begins a run of the current plan, or joins the open one, and takes part until it is over.
func (s *Service) Run(ctx context.Context, c Caller, o EngineOptions) (RunReply, error) {
	if s.opts.Engine == nil {
		return RunReply{}, noEngine()
	}
	begun := s.opts.Now()
	state, err := s.State(ctx)
	if err != nil {
		return RunReply{}, err
	}
	if o.Only, err = o.selectSteps(state, c); err != nil {
		return RunReply{}, err
	}
	if state.Plan != nil && state.Plan.Status == plan.StatusCompleted {
		return s.RunReply(ctx, c, state, plan.StopCompleted, 0)
	} else if o.Agents && state.Plan != nil {
		if _, err := s.checkAgents(state); err != nil {
			return RunReply{}, err
		}
	}
	then := o.Begin
	o.Begin = func(ctx context.Context) error {
		err := s.beginRun(ctx, c, o.Joins)
		if err == nil && then != nil {
			err = then(ctx)
		}
		return err
	}
	o.OnWait = (&runWait{service: s, caller: c, listener: o.Listener}).update
	over, err := s.opts.Engine.Run(ctx, o)
	if err != nil {
		return RunReply{}, err
	}
	ctx = context.WithoutCancel(ctx) // report finished work even after a cancellation
	if state, err = s.State(ctx); err != nil {
		return RunReply{}, err
	}
	reply, err := s.RunReply(ctx, c, state, over, s.opts.Now().Sub(begun))
	if state.Plan != nil {
		reply.addSelected(state.Plan, o.Only)
	}
	return reply, err
}

func (s *Service) beginRun(ctx context.Context, c Caller, joins bool) error {
	if !joins {
		_, err := s.do(ctx, c, plan.BeginRun{})
		return err
	}
	state, err := s.State(ctx)
	if err == nil && !state.HasActiveRun() {
		return errNotOpen
	}
	return err
}

// RunReply returns the result of the run in a state.
func (s *Service) RunReply(ctx context.Context, c Caller, state plan.State, over plan.StopReason, took time.Duration) (RunReply, error) {
	p := state.Plan
	reply := RunReply{Reason: over, Duration: took.Milliseconds(), Failures: []RunFailure{}, Outputs: map[string]RunOutput{},
		Outside:   map[string][]string{},
		Heartbeat: s.heartbeat(state, c)}
	if p == nil {
		return reply, nil
	}
	reply.PlanID, reply.Status = p.ID, string(p.Status)
	reply.Counts = countRun(p)
	if run := state.Run; run != nil && run.Plan == p.Root() {
		reply.Starts = run.Starts
		if reply.Reason == run.Reason {
			reply.Note = run.Note
		}
	}
	reply.addChanges(p)
	if over != plan.StopCompleted {
		reply.Asks = s.Asks(state, c)
	}
	room := math.MaxInt
	if c.brief() {
		room = maxBriefOutputs
	}
	for step := range p.Steps.All() {
		if step.Status == plan.Failed {
			reply.Failures = append(reply.Failures, RunFailure{step.ID.String(), step.Error})
		}
		if step.Status != plan.Done || step.Loop() != 0 { // the loop's own value has all of them
			continue
		}
		value, err := p.ValueOf(step.ID, s.KeptValue(ctx))
		if err != nil { // it has no value, or the value was deleted
			continue
		}
		output := RunOutput{Bytes: len(value)}
		if len(value) <= min(maxOutput, room) {
			output.Value = value
			room -= len(value)
		}
		reply.Outputs[step.ID.String()] = output
	}
	return reply, nil
}

// addChanges adds the changes that steps do not name.
func (r *RunReply) addChanges(p *plan.Plan) {
	for step := range p.Steps.All() {
		x := cmp.Or(step.Execution, &plan.Execution{})
		if len(x.OutOfScopeFiles) > 0 {
			r.Outside[step.ID.String()] = x.OutOfScopeFiles
		}
		if x.CommitMoved {
			r.Moved = append(r.Moved, step.ID.String())
		}
		if x.ChangesUnknown {
			r.Unseen = append(r.Unseen, step.ID.String())
		}
	}
}

// WhyBlocked returns the reported reason of a blocked step, to follow words that call it blocked.
func WhyBlocked(step *plan.Step) string {
	return cmp.Or(step.Error, lastOf(step.Notes), "no reason was given")
}

// BlockedText is WhyBlocked for a place that does not call the step blocked.
func BlockedText(step *plan.Step) string {
	return cmp.Or(step.Error, lastOf(step.Notes), "It is blocked; no reason was given.")
}

// KeptValue returns a function that reads values too large for the log.
func (s *Service) KeptValue(ctx context.Context) func(name string) (json.RawMessage, error) {
	return func(name string) (json.RawMessage, error) { return s.session.Value(ctx, name) }
}

func countRun(p *plan.Plan) RunCounts {
	counts := RunCounts{unknownCount: 0}
	for _, status := range plan.StepStatus("").Values() {
		counts[status] = p.Steps.Count(plan.StepStatus(status))
	}
	for step := range p.Steps.WithQuestion() {
		if step.IsUnknown() {
			counts[string(step.Status)]--
			counts[unknownCount]++
		}
	}
	return counts
}

// text lists the nonzero counts.
func (c RunCounts) text() string {
	var parts []string
	for _, status := range countedStatuses() {
		if n := c[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(status, "_", " ")))
		}
	}
	return strings.Join(parts, ", ")
}

func (r RunReply) Text() string {
	headline := cmp.Or(map[plan.StopReason]string{"": "The run continues", plan.StopCompleted: "The plan is complete"}[r.Reason],
		"The run is over ("+strings.ReplaceAll(string(r.Reason), "_", " ")+")")
	total := 0
	for _, n := range r.Counts {
		total += n
	}
	lines := nonEmpty(r.selectedText(), fmt.Sprintf("%s: %d of %d steps are done", headline, r.Counts[string(plan.Done)], total), r.Note)
	for _, failure := range r.Failures {
		isAsked := func(a AskView) bool {
			return a.Step == failure.StepID && strings.Contains(a.Why, strings.TrimSpace(failure.Error))
		}
		if !slices.ContainsFunc(r.Asks, isAsked) { // else the ask has it, with the way out
			lines = append(lines, failure.StepID+" failed: "+failure.Error)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.Outside)) {
		lines = append(lines, "warning: "+id+" "+history.ChangesOutside(r.Outside[id], false, false))
	}
	for _, id := range r.Moved {
		lines = append(lines, "warning: "+id+" "+history.ChangesOutside(nil, true, false))
	}
	for _, id := range r.Unseen {
		lines = append(lines, "warning: "+id+" "+history.ChangesOutside(nil, false, true))
	}
	for _, ask := range r.Asks {
		lines = append(lines, ask.lines(r.NextAction))
	}
	return r.under(strings.Join(lines, "\n"))
}

// PauseReply reports a paused or ended run and its running steps.
type PauseReply struct {
	Status  string   `json:"status"` // paused, or ended
	Running []string `json:"running,omitempty"`
	Message string   `json:"message"`
	Heartbeat

	before plan.State
}

// PauseRun pauses the run: running steps continue to their end, no new ones start. Only a person can resume a run that
// a person paused.
func (s *Service) PauseRun(ctx context.Context, c Caller, reason string) (PauseReply, error) {
	return s.stopRun(ctx, c, plan.PauseRun{Note: reason}, "paused")
}

// EndRun ends the run for a person, and stops its steps.
func (s *Service) EndRun(ctx context.Context, c Caller) (PauseReply, error) {
	reply, err := s.stopRun(ctx, c, plan.EndRun{}, "ended")
	if err == nil {
		reply.Message += prefixed(" ", s.awaitProcesses(ctx, c, reply.before))
	}
	return reply, err
}

func (s *Service) stopRun(ctx context.Context, c Caller, a plan.Action, status string) (PauseReply, error) {
	outcome, err := s.do(ctx, c, a)
	reply := PauseReply{Status: status, Message: "The run is " + status + ": no more steps start",
		Heartbeat: s.heartbeat(outcome.After, c), before: outcome.Before}
	if run := outcome.After.OpenRun(); err == nil && run != nil && run.Ending != "" {
		reply.Message = "The run ends after its clean-up: no other steps start"
	}
	ids := runningSteps(outcome.After)
	for _, id := range ids {
		reply.Running = append(reply.Running, id.String())
	}
	switch {
	case len(ids) > 0 && status == "ended":
		reply.Message += "; stopped: " + plan.IDs(ids)
	case len(ids) > 0:
		reply.Message += ", and " + plan.IDs(ids) + " will run to the end"
	}
	reply.Message += "."
	return reply, err
}

func (r PauseReply) Text() string { return r.under(r.Message) }

func runningSteps(state plan.State) []plan.StepID {
	return plan.StepIDs(currentSteps(state).Executing())
}

// pauseAndWait pauses a run with running steps and waits for their end, so that a person can change the plan. It returns a
// sentence about that, to append to another.
func (s *Service) pauseAndWait(ctx context.Context, c Caller) (message string, err error) {
	state, err := s.State(ctx)
	if state = s.settleLost(ctx, state); err != nil || len(runningSteps(state)) == 0 {
		return "", err
	}
	waited := runningSteps(state)
	if state.OpenRun() != nil {
		if _, err := s.do(ctx, c, plan.PauseRun{}); err != nil {
			return "", err
		}
	}
	if _, err := s.awaitEnd(ctx, c, waited, runningSteps); err != nil {
		return "", err
	}
	return " The run was paused until " + plan.IDs(waited) + " ended; to go on: " + c.word(Call{Kind: CallRun}) + ".", nil
}

// cleanUp ends the run of a plan that a person gives up while an engine is alive, and waits for the steps that run at its end. It returns
// the steps that do not run, because nothing carries them out.
func (s *Service) cleanUp(ctx context.Context, c Caller) (left []plan.StepID, err error) {
	state, err := s.State(ctx)
	if state = s.settleLost(ctx, state); err != nil || state.OpenRun() == nil || !plan.HasCleanup(state) {
		return nil, err
	}
	isOver := func(state plan.State) bool { return state.OpenRun() == nil || !s.opts.Engines.Lives() }
	if c.decides() && s.opts.Engines != nil && !isOver(state) {
		if _, err := s.do(ctx, c, plan.EndRun{}); err != nil {
			return nil, err
		}
		if state, err = s.awaitState(ctx, func(state plan.State) bool {
			c.progress(0, 1, "waiting for the steps that run at the end")
			return isOver(state)
		}); err != nil {
			return nil, err
		}
	}
	return plan.Collect(currentSteps(state).Unfinished(), func(step *plan.Step) (plan.StepID, bool) { return step.ID, step.Always }), nil
}

// awaitState waits for a state, and settles the steps of engines that die before.
func (s *Service) awaitState(ctx context.Context, isReached func(plan.State) bool) (plan.State, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := s.session.Watch(ctx)
	if err != nil {
		return plan.State{}, err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		state, err := s.State(ctx)
		if err != nil {
			return state, err
		}
		if state = s.settleLost(ctx, state); isReached(state) {
			return state, nil
		}
		select {
		case <-changes:
		case <-look.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return state, context.Cause(ctx)
		}
	}
}

const lookEvery = 100 * time.Millisecond // for dead engines and their processes, which cause no event

// awaitEnd waits until none of the steps is among those that runs lists, and reports its progress. It returns the others.
func (s *Service) awaitEnd(ctx context.Context, c Caller, ids []plan.StepID,
	runs func(plan.State) []plan.StepID) (left []plan.StepID, err error) {
	_, err = s.awaitState(ctx, func(state plan.State) bool {
		left = runs(state)
		if left = slices.DeleteFunc(left, func(id plan.StepID) bool { return !slices.Contains(ids, id) }); len(left) > 0 {
			c.progress(len(ids)-len(left), len(ids), "waiting for "+plan.IDs(left)+" to end")
		}
		return len(left) == 0
	})
	return left, err
}

// awaitProcesses waits until engines have ended the steps that ran before their run or plan was given up. It returns a sentence about
// those that take too long, "" without any.
func (s *Service) awaitProcesses(ctx context.Context, c Caller, before plan.State) string {
	ids := runningSteps(before)
	if len(ids) == 0 || s.opts.Engines == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	left, _ := s.awaitEnd(ctx, c, ids, func(plan.State) []plan.StepID {
		return plan.Map(s.opts.Engines.Running(), func(running RunningStep) plan.StepID { return running.Step })
	})
	return suffixed(prefixed("Still ending: ", plan.ListIDs(left)), "; if that takes long, end the processes by hand.")
}
