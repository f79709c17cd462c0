package verbs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// NextStep is the input of NextStep.
type NextStep struct {
	Agent string `json:"agent,omitempty" jsonschema:"description=what you work as\\, such as reviewer: its steps come first"`
}

// NextStepReply hands out a step with its context, or says why not.
type NextStepReply struct {
	StepID    string   `json:"step_id,omitempty"` // "": no step is for agents now
	Message   string   `json:"message"`
	Arbiter   string   `json:"arbiter,omitempty"` // task, plan and step in rawko's form
	History   []string `json:"history,omitempty"` // steps done with their agents, the newest last
	LastError string   `json:"last_error,omitempty"`
	Task      *Task    `json:"task,omitempty"`
	Heartbeat
}

// NextStep claims the next step for the caller: its own step in progress, one with a lapsed claim, or a ready one.
func (s *Service) NextStep(ctx context.Context, c Caller, in NextStep) (NextStepReply, error) {
	agent, err := plan.Text{Field: "/agent", Max: plan.MaxHint}.Clean(in.Agent)
	if err != nil {
		return NextStepReply{}, err
	}
	return retryIfChanged(func() (NextStepReply, error) { return s.nextStep(ctx, c, agent) })
}

// nextStep returns errPlanChanged if a different step has become the one to hand out by the time of the claim, so that no step is
// done twice.
func (s *Service) nextStep(ctx context.Context, c Caller, agent string) (NextStepReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return NextStepReply{}, err
	}
	step := s.handOut(state, c, agent)
	if step == nil {
		s.seen.know(c, state)
		return NextStepReply{Message: s.noStepReason(state, c), Heartbeat: s.heartbeat(state, c)}, nil
	}
	outcome, err := s.doIf(ctx, c, plan.MarkStep{Step: step.ID, Status: plan.InProgress}, func(now plan.State) error {
		if first := s.handOut(now, c, agent); first == nil || first.ID != step.ID {
			return errPlanChanged
		}
		return nil
	})
	if refused, ok := errors.AsType[*plan.ValidationError](err); ok && refused.Kind == plan.Conflict {
		if now, unread := s.State(ctx); unread == nil && now.Revision != state.Revision {
			return NextStepReply{}, errPlanChanged
		}
	}
	if err != nil {
		return NextStepReply{}, err
	}
	return s.handedOut(ctx, outcome.After, c, step.ID)
}

// handOut returns the step for an agent, or nil. Steps that suggest this agent come first, then those
// that suggest none.
func (s *Service) handOut(state plan.State, c Caller, agent string) *plan.Step {
	p := state.Plan
	if p == nil || p.Status != plan.StatusActive || state.PhaseNow().IsRestricted() {
		return nil
	}
	if c.scoped() {
		return s.view(state, c, Rules{}).nextAction().step
	}
	mine := func(step *plan.Step) bool { return step.ClaimedBy == c.Actor.Name }
	left := func(step *plan.Step) bool { return !step.IsRunning() && !step.IsLooping() && s.isUnowned(step) }
	if step := cmp.Or(begunStep(p, mine), begunStep(p, left)); step != nil {
		return step
	}
	ready := readyForAgents(state)
	fits := func(step *plan.Step) int {
		switch {
		case agent == "" || strings.EqualFold(step.SuggestedAgent, agent):
			return 0
		case step.SuggestedAgent == "":
			return 1
		}
		return 2
	}
	if len(ready) == 0 {
		return nil
	}
	return slices.MinFunc(ready, func(a, b *plan.Step) int { return fits(a) - fits(b) })
}

// Limits of a handed-out step, in tokens.
const (
	arbiterRoom = 1_200
	historyRoom = 600
)

func (s *Service) handedOut(ctx context.Context, state plan.State, c Caller, id plan.StepID) (NextStepReply, error) {
	p := state.Plan
	step, _ := p.Steps.Get(id)
	reply := NextStepReply{StepID: id.String(), Message: id.String() + " is yours: do it, verify it, then report the result.",
		Arbiter: tokens.Block(arbiter(state, step).Arbiter(), arbiterRoom), LastError: lastError(p),
		Heartbeat: s.heartbeat(state, c)}
	shown, _ := tokens.Fit([]tokens.Part{{Name: "entry", Texts: doneBy(p), Newest: true}}, historyRoom)
	reply.History = shown[0].Texts
	var err error
	reply.Task, err = s.handTask(ctx, state, c, step)
	return reply, err
}

// handTask returns a step for the agent that begins it, as a status shows it.
func (s *Service) handTask(ctx context.Context, state plan.State, c Caller, step *plan.Step) (*Task, error) {
	remarks, err := s.OpenComments(ctx, state)
	if err != nil {
		return nil, err
	}
	task := s.wholeTask(state.Plan, c, step, remarks)
	if c.brief() {
		task.fit(situationRoom, c.word(Call{Kind: CallShowTask, Step: step.ID}))
	}
	return &task, nil
}

// wholeTask returns a step with its dependencies' outcomes, the open comments on it, and its progress.
func (s *Service) wholeTask(p *plan.Plan, c Caller, step *plan.Step, remarks []PlacedComment) Task {
	task := currentTask(p, step)
	if c.scoped() { // the claim belongs to its engine
		task.ClaimedBy = ""
	}
	task.Comments = stepComments(remarks, step.ID, partRoom)
	s.addProgress(c, &task, step)
	return task
}

func (s *Service) noStepReason(state plan.State, c Caller) string {
	if c.scoped() {
		return s.view(state, c, Rules{}).nextAction().message
	}
	noStep := func(ids []plan.StepID, one, many string) string {
		text := "No step is ready for agents"
		switch len(ids) {
		case 0:
			return text + "."
		case 1:
			many = one
		}
		return text + ": " + plan.IDs(firstFew(ids)) + " " + many + "."
	}
	p := state.Plan
	if running := runningSteps(state); len(running) > 0 || p == nil || p.Status != plan.StatusActive || state.PhaseNow().IsRestricted() {
		return noStep(running, "is running; wait for the end", "are running; wait for the end")
	}
	var asking, engine []plan.StepID
	for step := range p.Steps.WithQuestion() {
		asking = append(asking, step.ID)
	}
	for step := range plan.ReadySteps(state) {
		if step.NeedsEngine() && step.OpenQuestion() == nil {
			engine = append(engine, step.ID)
		}
	}
	switch run := c.word(Call{Kind: CallRun}); {
	case len(engine) > 0 && !state.HasActiveRun():
		return noStep(engine, "needs a run: "+run, "need a run: "+run)
	case len(engine) > 0:
		return noStep(engine, "is run next", "are run next")
	}
	return noStep(asking, "waits for an answer", "wait for an answer")
}

func (r NextStepReply) Text() string {
	text := r.Message
	if r.Arbiter != "" {
		text += "\n\n" + strings.TrimSpace(r.Arbiter) + "\n"
	}
	if len(r.History) > 0 {
		text += "\n## History\n\n- " + strings.Join(r.History, "\n- ") + "\n"
	}
	if r.LastError != "" {
		text += "\n## Last Error\n\n" + safetext.Marked(r.LastError) + "\n"
	}
	if r.Task != nil {
		text += "\n" + r.Task.name() + ": " + r.Task.Title + r.Task.lines()
	}
	return r.under(text)
}
