package verbs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// NextStep is the input of NextStep.
type NextStep struct {
	Agent string `json:"agent,omitempty" jsonschema:"description=what you work as\\, such as reviewer: its steps come first"`
}

// NextStepReply hands out a step with all that is known of it, or says what is waited for.
type NextStepReply struct {
	StepID    string   `json:"step_id,omitempty"` // "": none is for agents now
	Message   string   `json:"message"`
	Arbiter   string   `json:"arbiter,omitempty"` // the task, the plan and the step as rawko puts them
	History   []string `json:"history,omitempty"` // what was done and by whom, the newest last
	LastError string   `json:"last_error,omitempty"`
	Task      *Task    `json:"task,omitempty"`
	Heartbeat
}

// NextStep hands out the step to do next, and claims it for the caller: its own that is in
// progress, one that nobody works on any more, or one that is ready.
func (s *Service) NextStep(ctx context.Context, c Caller, in NextStep) (NextStepReply, error) {
	agent, err := plan.Text{Field: "/agent", Max: plan.MaxHint}.Clean(in.Agent)
	if err != nil {
		return NextStepReply{}, err
	}
	return again(func() (NextStepReply, error) { return s.nextStep(ctx, c, agent) })
}

// nextStep is errMoved where what was to be handed out is not, by the time that it is claimed: a step that
// somebody has done meanwhile would be done twice.
func (s *Service) nextStep(ctx context.Context, c Caller, agent string) (NextStepReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return NextStepReply{}, err
	}
	step := s.handOut(state, c, agent)
	if step == nil {
		s.seen.know(c, state)
		return NextStepReply{Message: s.waitedFor(state, c), Heartbeat: s.heartbeat(state, c)}, nil
	}
	outcome, err := s.doIf(ctx, c, plan.MarkStep{Step: step.ID, Status: plan.InProgress}, func(now plan.State) error {
		if first := s.handOut(now, c, agent); first == nil || first.ID != step.ID {
			return errMoved
		}
		return nil
	})
	var refused *plan.ValidationError
	if errors.As(err, &refused) && refused.Kind == plan.Conflict {
		if now, unread := s.State(ctx); unread == nil && now.Revision != state.Revision {
			return NextStepReply{}, errMoved
		}
	}
	if err != nil {
		return NextStepReply{}, err
	}
	return s.handedOut(ctx, outcome.After, c, step.ID)
}

// handOut returns the step that an agent is to do, nil when there is none. What suits the
// agent comes first, then what suits anybody.
func (s *Service) handOut(state plan.State, c Caller, agent string) *plan.Step {
	p := state.Plan
	if p == nil || p.Status != plan.StatusActive || state.PhaseNow().Restricted() {
		return nil
	}
	if c.scoped() {
		return s.view(state, c, Rules{}).now().step
	}
	mine := func(step *plan.Step) bool { return step.ClaimedBy == c.Actor.Name }
	left := func(step *plan.Step) bool { return !step.Running() && !step.Looping() && s.left(step) }
	if step := cmp.Or(begun(p, mine), begun(p, left)); step != nil {
		return step
	}
	ready := forAgents(p)
	suits := func(step *plan.Step) int {
		switch {
		case agent != "" && strings.EqualFold(step.SuggestedAgent, agent):
			return 0
		case step.SuggestedAgent == "":
			return 1
		}
		return 2
	}
	if len(ready) == 0 {
		return nil
	}
	return slices.MinFunc(ready, func(a, b *plan.Step) int {
		if agent == "" {
			return 0
		}
		return suits(a) - suits(b)
	})
}

// What a step that is handed out has room for, in tokens.
const (
	arbiterRoom = 1_200
	historyRoom = 600
)

// handedOut tells of a step that was claimed.
func (s *Service) handedOut(ctx context.Context, state plan.State, c Caller, id plan.StepID) (NextStepReply, error) {
	p := state.Plan
	step, _ := p.Steps.Get(id)
	reply := NextStepReply{StepID: id.String(), Message: id.String() + " is yours: do it, verify it, then report what came of it.",
		Arbiter: tokens.Block(prompts.Arbiter(arbiter(state, step)), arbiterRoom), LastError: lastError(p),
		Heartbeat: s.heartbeat(state, c)}
	shown, _ := tokens.Fit([]tokens.Part{{Name: "entry", Texts: lastFirst(doneBy(p))}}, historyRoom)
	reply.History = lastFirst(shown[0].Texts)
	task := c.taskOf(p, step)
	remarks, err := s.OpenRemarks(ctx, state)
	if err != nil {
		return NextStepReply{}, err
	}
	task.Comments = onStep(remarks, id, partRoom)
	if c.brief() {
		task.fit(statusRoom, c.word(Call{Act: ActShowTask, Step: id}))
	}
	reply.Task = &task
	return reply, nil
}

func lastFirst(texts []string) []string {
	turned := slices.Clone(texts)
	slices.Reverse(turned)
	return turned
}

// waitedFor says why there is nothing to hand out.
func (s *Service) waitedFor(state plan.State, c Caller) string {
	if c.scoped() {
		return s.view(state, c, Rules{}).now().message
	}
	const nothing = "Nothing is for agents to do now"
	if running := beingRun(state); len(running) > 0 {
		return nothing + ": " + plan.IDs(firstFew(running)) + " " + plural(running, "is", "are") +
			" being run, and what follows is handed out then."
	}
	p := state.Plan
	if p == nil || p.Status != plan.StatusActive || state.PhaseNow().Restricted() {
		return nothing + "."
	}
	var asking, engine []plan.StepID
	for step := range p.Steps.Asking() {
		asking = append(asking, step.ID)
	}
	for step := range p.Steps.Ready() {
		if step.ConcernsEngine() && step.Asking() == nil {
			engine = append(engine, step.ID)
		}
	}
	switch {
	case len(engine) > 0 && !state.Runs():
		return nothing + ": " + plan.IDs(firstFew(engine)) + " " + plural(engine, "is", "are") + " planloop's to run: " +
			c.word(Call{Act: ActRun}) + "."
	case len(engine) > 0:
		return nothing + ": " + plan.IDs(firstFew(engine)) + " " + plural(engine, "is", "are") + " run next."
	case len(asking) > 0:
		return nothing + ": " + plan.IDs(firstFew(asking)) + " " + plural(asking, "waits", "wait") + " for an answer."
	}
	return nothing + "."
}

func plural(ids []plan.StepID, one, many string) string {
	if len(ids) == 1 {
		return one
	}
	return many
}

// Text is the reply with the step whole.
func (r NextStepReply) Text() string {
	text := r.Message
	if r.Arbiter != "" {
		text += "\n\n" + strings.TrimSpace(r.Arbiter) + "\n"
	}
	if len(r.History) > 0 {
		text += "\n## History\n\n- " + strings.Join(r.History, "\n- ") + "\n"
	}
	if r.LastError != "" {
		text += "\n## Last Error\n\n" + r.LastError + "\n"
	}
	if r.Task != nil {
		text += "\n" + r.Task.name() + ": " + r.Task.Title + r.Task.lines()
	}
	return r.under(text)
}
