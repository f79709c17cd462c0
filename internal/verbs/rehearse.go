package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/plan"
)

// RehearsalReply is the order in which a run would carry the plan out.
type RehearsalReply struct {
	PlanID string       `json:"plan_id"`
	Waves  [][]WaveStep `json:"waves"` // steps of a wave can run together once the waves before have ended

	Warnings []string `json:"warnings,omitempty"`
	Heartbeat
}

type WaveStep struct {
	StepID  string `json:"step_id"`
	Title   string `json:"title"`
	Tool    string `json:"tool,omitempty"`    // "": for agents
	Agent   string `json:"agent,omitempty"`   // the agent to start for it; "" if none is configured for it
	Program string `json:"program,omitempty"` // the agent's program
	Wants   string `json:"wants,omitempty"`   // its suggested agent, if none of that name is configured
	When    string `json:"when,omitempty"`
	ForEach string `json:"for_each,omitempty"`
	Asks    bool   `json:"asks,omitempty"` // whether it asks a person, as far as that is known in advance
}

// Rehearse returns the order in which a run would carry out the rest of the plan, or all errors that prevent it.
// Nothing is changed. foreseen are the steps that will ask a person.
func (s *Service) Rehearse(ctx context.Context, c Caller, foreseen []plan.ExpectedQuestion) (RehearsalReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return RehearsalReply{}, err
	}
	p := state.Plan
	if p == nil {
		return RehearsalReply{}, plan.Refuse(plan.NotFound, "", "no plan exists yet", "set one up first")
	}
	s.awaitTools(ctx, plan.Collect(p.Steps.Unfinished(), func(step *plan.Step) (string, bool) { return step.Tool, step.Tool != "" }))
	if wrong := runnable.Check(runnable.Of(p.Steps), s.opts.StepTools); wrong != nil {
		return RehearsalReply{}, wrong
	}
	reply := RehearsalReply{PlanID: p.ID, Waves: s.waves(state, c, foreseen), Heartbeat: s.heartbeat(state, c)}
	if c.Actor.Kind != plan.Agent { // a run started by an agent starts no agents
		reply.Warnings, err = s.checkAgents(state)
	}
	return reply, err
}

// waves groups the unfinished steps by the length of their longest chain of unfinished dependencies. The caller has
// excluded cycles.
func (s *Service) waves(state plan.State, c Caller, foreseen []plan.ExpectedQuestion) [][]WaveStep {
	steps, waves := state.Plan.Steps, [][]WaveStep{}
	placed := map[plan.StepID]int{} // counted from 1
	var place func(step *plan.Step) int
	place = func(step *plan.Step) int {
		if at := placed[step.ID]; at > 0 {
			return at
		}
		at := 1
		for _, id := range step.DependsOn {
			if before, ok := steps.Get(id); ok && !before.Status.IsFinished() {
				at = max(at, place(before)+1)
			}
		}
		placed[step.ID] = at
		return at
	}
	for step := range steps.Unfinished() {
		w := WaveStep{StepID: step.ID.String(), Title: step.Title, Tool: step.Tool, When: step.When, ForEach: step.ForEach,
			Asks: slices.ContainsFunc(foreseen, func(f plan.ExpectedQuestion) bool { return f.Step.ID == step.ID })}
		if c.Actor.Kind != plan.Agent { // a run started by an agent starts no agents
			w.Agent, w.Wants = s.agentFor(state, step), s.unknownAgent(step)
		}
		if w.Agent != "" {
			w.Program = s.opts.Agents.Program(w.Agent)
		}
		at := place(step)
		for len(waves) < at {
			waves = append(waves, nil)
		}
		waves[at-1] = append(waves[at-1], w)
	}
	return waves
}

func (r RehearsalReply) Text() string {
	var b strings.Builder
	agents := 0 // steps that agents are started for; a loop counts once
	for i, wave := range r.Waves {
		fmt.Fprintf(&b, "Wave %d\n", i+1)
		for _, step := range wave {
			fmt.Fprintf(&b, "  %s %s (%s)\n", step.StepID, step.Title, step.how())
			if step.Agent != "" {
				agents++
			}
		}
	}
	for _, warning := range r.Warnings {
		b.WriteString("warning: " + warning + "\n")
	}
	if agents > 1 {
		b.WriteString("Agents run one at a time, and never together with tools that change files.\n")
	}
	if len(r.Waves) == 0 {
		b.WriteString("No steps are left to run.\n")
	}
	return r.under(strings.TrimSuffix(b.String(), "\n"))
}

func (w WaveStep) how() string {
	how := cmp.Or(w.Tool, "for an agent")
	if w.Agent != "" {
		how = "by the agent " + plan.Quote(w.Agent) + ", " + w.Program
	}
	if w.Wants != "" {
		how += "; no agent " + plan.Quote(w.Wants) + " is configured"
	}
	how += prefixed(", for each of ", plan.Shorten(w.ForEach, 60)) + prefixed(", when ", plan.Shorten(w.When, 60))
	if w.Asks {
		how += ", asks first"
	}
	return how
}

// ReviewForeseen returns the text a person reads about the questions a run will ask.
func (s *Service) ReviewForeseen(state plan.State, foreseen []plan.ExpectedQuestion) string {
	text, tools := "Running "+plan.Quote(state.Plan.Objective)+" will ask you:\n", s.otherTools()
	for _, f := range foreseen {
		text += "\n" + stepText(f.Step, func(step *plan.Step) string { return describeTool(tools, step, f.Definition) })
		if f.Reason != "" {
			text += "   why it asks: " + f.Reason + "\n"
		}
		switch {
		case f.Kind == plan.AskPause:
			text += "   you answer it when the run reaches it\n"
		case !f.IsKnown:
			text += "   you are asked once its references are known\n"
		}
	}
	return text + s.startsUnasked(state, foreseen)
}

// startsUnasked lists the steps for which a run starts agents without asking, or returns "".
func (s *Service) startsUnasked(state plan.State, foreseen []plan.ExpectedQuestion) string {
	var names []string
	steps := map[string][]plan.StepID{}
	for step := range state.Plan.Steps.All() {
		asks := slices.ContainsFunc(foreseen, func(f plan.ExpectedQuestion) bool { return f.Step.ID == step.ID })
		agent := s.agentFor(state, step)
		if agent == "" || asks || step.Status != plan.Pending {
			continue
		}
		if steps[agent] == nil {
			names = append(names, agent)
		}
		steps[agent] = append(steps[agent], step.ID)
	}
	if names == nil {
		return ""
	}
	for i, name := range names {
		names[i] = name + " for " + plan.IDs(steps[name])
	}
	return "\nAgents are started without asking: " + strings.Join(names, ", ") + ". Their own flags set their permissions.\n"
}
