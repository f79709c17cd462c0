package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// Start is the input of Start (planloop: API Contract, planloop start; rawko:
// CreatePlanInput).
type Start struct {
	Goal        string   `json:"goal"`
	Decompose   bool     `json:"decompose,omitempty" jsonschema:"description=have a model draft the tasks"`
	Code        []string `json:"code,omitempty" jsonschema:"-"` // files to know for it
	Memories    []string `json:"memories,omitempty" jsonschema:"-"`
	Constraints []string `json:"constraints,omitempty" jsonschema:"-"`
}

// StartReply says which session was created.
type StartReply struct {
	Status      string   `json:"status"` // session_created
	SessionID   string   `json:"session_id"`
	Message     string   `json:"message"`
	NextCommand string   `json:"next_command,omitempty"`
	Replaced    string   `json:"replaced,omitempty"` // id of the plan that was current before
	Drafted     *Drafted `json:"drafted,omitempty"`
	Heartbeat
}

// Start begins a session for a goal: a plan with the one task to break the goal
// down, or, with Decompose, a draft that a model made. The former plan is archived.
func (s *Service) Start(ctx context.Context, c Caller, in Start) (StartReply, error) {
	goal, err := plan.Text{Field: "/goal", Max: plan.MaxLongLine}.Required(in.Goal)
	if err != nil {
		return StartReply{}, err
	}
	outline, err := startOutline(goal, in)
	if err != nil {
		return StartReply{}, err
	}
	if in.Decompose {
		return s.decompose(ctx, c, outline, in)
	}
	meta := plan.NewStep{Spec: plan.Spec{Title: plan.MetaTitle(goal), Type: plan.Chore}}
	outcome, err := s.do(ctx, c, plan.SetUp{Outline: outline, Steps: []plan.NewStep{meta}})
	if err != nil {
		return StartReply{}, err
	}
	reply := s.started(c, outcome.After, outcome.After.Plan)
	if before := outcome.Before.Plan; before != nil {
		reply.Replaced = before.ID
	}
	return reply, nil
}

func (s *Service) started(c Caller, state plan.State, p *plan.Plan) StartReply {
	reply := StartReply{Status: "session_created", SessionID: p.Root(), Message: "Session created. Agent can now begin work.",
		Heartbeat: s.heartbeat(state, c)}
	if !c.brief() {
		reply.NextCommand = c.word(Call{Act: ActAskStatus})
	}
	return reply
}

// startOutline returns what a start says of the plan apart from its steps.
func startOutline(goal string, in Start) (plan.Outline, error) {
	outline := plan.Outline{Objective: goal}
	for _, list := range []struct {
		field string
		in    []string
		out   *[]string
	}{
		{"/constraints", in.Constraints, &outline.Metadata.Constraints},
		{"/memories", in.Memories, &outline.Metadata.InformedBy},
	} {
		clean, err := plan.CleanLines(list.field, list.in, plan.MaxLongLine)
		if err != nil {
			return plan.Outline{}, err
		}
		*list.out = clean
	}
	return outline, nil
}

// Text is the reply in a line or two.
func (r StartReply) Text() string {
	text := "Session " + r.SessionID + " created"
	if r.Replaced != "" {
		text += "; it replaces " + r.Replaced + ", which is archived"
	}
	return text + r.Drafted.lines() + r.ending()
}
