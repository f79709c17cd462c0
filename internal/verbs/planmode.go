package verbs

import (
	"context"
	"errors"
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// EnterPlanMode is the input of EnterPlanMode (chorus: enter_plan_mode).
type EnterPlanMode struct {
	Reason string `json:"reason,omitempty"`
	Leave  bool   `json:"leave,omitempty" jsonschema:"description=leave it again"`
}

// ModeReply is the state of planning mode.
type ModeReply struct {
	Phase       plan.Phase         `json:"phase"`
	Message     string             `json:"message"`
	Enforcement []AgentEnforcement `json:"enforcement,omitempty"`
	StillEnding string             `json:"-"` // the sentences of Message about the run and its steps that end
	Heartbeat
}

// EnterPlanMode begins planning mode for an agent: nothing may be changed until a person approves a plan.
func (s *Service) EnterPlanMode(ctx context.Context, c Caller, in EnterPlanMode) (ModeReply, error) {
	if in.Leave {
		return s.endMode(ctx, c, plan.EndMode{Leaves: true})
	}
	reason, err := plan.Text{Field: "/reason", Max: plan.MaxLongLine}.Given(in.Reason)
	if err != nil {
		return ModeReply{}, err
	}
	return besideOthers(ctx, s, c, aProposal, reason, func(s *Service, c Caller) (ModeReply, error) {
		return s.enter(ctx, c, plan.EnterMode{Reason: reason})
	})
}

// PlanFor is the input of EnterPlanModeFor.
type PlanFor struct {
	Task string
	All  bool // hold the sessions of all tracks
}

// EnterPlanModeFor begins planning mode for a task on a person's request.
func (s *Service) EnterPlanModeFor(ctx context.Context, c Caller, in PlanFor) (ModeReply, error) {
	task, err := plan.Text{Field: "/task", Max: plan.MaxLongLine}.Clean(in.Task)
	if err == nil && in.All && (c.Actor.Kind == plan.Agent || s.Track() != "" && s.Track() != mainTrack) {
		err = plan.Refuse(plan.Conflict, "/all", "only a person can hold all tracks, on the track "+mainTrack, "leave out all")
	}
	if err != nil {
		return ModeReply{}, err
	}
	return s.enter(ctx, c, plan.EnterMode{Task: task, All: in.All})
}

func (s *Service) enter(ctx context.Context, c Caller, a plan.EnterMode) (ModeReply, error) {
	outcome, err := s.doIf(ctx, c, a, func(state plan.State) error { return s.hooksAnswer(c, state) })
	if err != nil {
		return ModeReply{}, err
	}
	reply, mode := s.modeReply(outcome.After, c), outcome.After.ModeNow()
	if len(outcome.Events) == 0 && a.Task != "" && a.Task != mode.Task {
		problem := "planning mode is already on"
		if mode.About() != "" {
			problem += ", for " + plan.Quote(mode.About())
		}
		return ModeReply{}, plan.Refuse(plan.Conflict, "", problem, "send the task to the agent with `"+c.word(Call{Kind: CallComment})+
			"`, or end planning mode first with `"+c.word(Call{Kind: CallCancelMode})+"`")
	}
	if len(outcome.Events) == 0 {
		if outcome.After.PhaseNow().IsRestricted() {
			reply.Message = "Already in planning mode. " + reply.Message
		}
		if a.Reason != "" && a.Reason != mode.Reason {
			reply.Message += " Your reason was not recorded; include it in the summary of your plan."
		}
		return reply, nil
	}
	submit := "submit a plan when ready: " + c.word(Call{Kind: CallSubmit}) + "."
	if c.brief() { // in chorus's words
		submit = "call " + c.word(Call{Kind: CallSubmit}) + "() when ready."
	}
	rest := "Tools are now restricted to read-only. Gather context, then " + submit
	if c.Face != nil && len(c.Face.Hidden()) > 0 { // hosts reject calls to them without asking the server
		rest += " These tools are hidden until planning mode ends: " + strings.Join(c.Face.Hidden(), ", ") + "."
	}
	if a.Reason != "" {
		reply.Message = "Entered planning mode. Reason: " + strings.TrimSuffix(a.Reason, ".") + ". " + rest
		s.notify(Notice{Event: "mode_entered", Title: "An agent plans before it acts",
			Text: "I'd like to plan this out before proceeding. Reason: " + a.Reason})
	} else {
		s.notify(Notice{Event: "mode_entered", Title: "Planning mode is on", Text: a.Task})
		reply.Message, reply.Enforcement = "Entered planning mode. "+rest, nil // no hook can have answered yet
	}
	return reply, nil
}

// addPersonCalls adds to a refusal that only a person can lift the person's calls for it.
func (c Caller) addPersonCalls(err error) error {
	refused, ok := errors.AsType[*plan.ValidationError](err)
	if !ok || refused.Phase == "" && refused.ClaimedStep == 0 && refused.ApprovedPlan == "" {
		return err
	}
	full := *refused
	switch {
	case full.ApprovedPlan != "":
		full.Fix += ". Propose a change with " + c.word(Call{Kind: CallAddSteps})
		if submit, can := c.Can(Call{Kind: CallSubmit}); can {
			full.Fix += " or " + submit
		}
		full.Fix += "; a person can run the same command on a terminal"
	case full.ClaimedStep != 0:
		full.Fix += "; a person can take it over with `" + c.word(Call{Kind: CallTakeOver, Step: full.ClaimedStep}) + "`"
	case full.Phase == plan.PhaseSubmitted:
		full.Fix += "; a person decides with `" + c.word(Call{Kind: CallReview}) + "` or `" + c.word(Call{Kind: CallApprove}) +
			"`, or ends planning mode with `" + c.word(Call{Kind: CallCancelMode}) + "`"
	default:
		full.Problem += "; a person can end planning mode with `" + c.word(Call{Kind: CallCancelMode}) + "`"
	}
	return &full
}

// PlanModeStatus returns the state of planning mode.
func (s *Service) PlanModeStatus(ctx context.Context, c Caller) (ModeReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return ModeReply{}, err
	}
	s.seen.know(c, state)
	return s.modeReply(state, c), nil
}

// modeRoom is the token limit of the message about planning mode, for a model.
const modeRoom = 640

func (s *Service) modeReply(state plan.State, c Caller) ModeReply {
	reply := ModeReply{Phase: state.PhaseNow(), Message: modeMessage(state), Heartbeat: s.heartbeat(state, c)}
	if c.brief() {
		reply.Message = tokens.Block(reply.Message, modeRoom)
	} else {
		reply.Enforcement = s.Enforcement(state)
	}
	return reply
}

func modeMessage(state plan.State) string {
	mode := state.ModeNow()
	switch state.PhaseNow() {
	case plan.PhaseGathering:
		text := "Planning mode is gathering"
		if about := mode.About(); about != "" {
			text += " for " + plan.Quote(about)
		}
		return text + ", started by " + mode.By + ". Agents can read and ask, but change nothing until a plan is approved." +
			decided(mode.Decision)
	case plan.PhaseSubmitted:
		return "A plan is submitted and waits for a person's decision: " + plan.Quote(state.Draft.Objective) + " with " +
			steps(state.Draft) + "." + prefixed(" ", state.VotingText(nil))
	case plan.PhaseExecuting:
		return "The approved plan is running: " + plan.Quote(state.Plan.Objective) + " (" + progress(state.Plan) + ")." +
			proposalText(state) + decided(mode.Decision)
	}
	return "Planning mode is off." + proposalText(state) + decided(mode.Decision)
}

// proposalText describes the proposal that waits beside the approved plan as a sentence to append to another; "" without one.
func proposalText(state plan.State) string {
	request := state.ModeNow().Request
	if request == nil || !state.HasProposal() {
		return ""
	}
	what := "Another plan is"
	if request.Base != "" {
		what = "A change of the plan (" + state.Draft.Changes + ") is"
	}
	return " " + what + " proposed, and waits for a decision since " + request.At.Local().Format("15:04") + "." +
		prefixed(" ", state.VotingText(nil))
}

// CancelPlanMode leaves planning mode without a plan. Only a person may.
func (s *Service) CancelPlanMode(ctx context.Context, c Caller) (ModeReply, error) {
	return s.endMode(ctx, c, plan.CancelMode{})
}

func (s *Service) endMode(ctx context.Context, c Caller, a plan.Action) (ModeReply, error) {
	outcome, err := s.do(ctx, c, a)
	ending := ""
	if _, cancels := a.(plan.CancelMode); err == nil && cancels {
		if run := outcome.After.OpenRun(); outcome.Before.OpenRun() != nil && (run == nil || run.Ending != "") {
			ending = " The run of its plan ends."
		}
		ending += prefixed(" ", s.awaitProcesses(ctx, c, outcome.Before))
	}
	reply := s.modeReply(outcome.After, c)
	reply.StillEnding, reply.Message = ending, reply.Message+ending
	return reply, err
}

func (r ModeReply) Text() string { return r.under(r.Message + line(EnforcementLine(r.Enforcement))) }

// AskUser is the input of AskUser (chorus: ask_user).
type AskUser struct {
	Question string   `json:"question" text:"rest"`
	ReplyTo  *string  `json:"reply_to,omitempty"`
	Options  []Option `json:"options,omitempty" jsonschema:"-" schema:"closed" text:"lines"` // follow the question
}

func (AskUser) Alone() string { return "question" }

// Option is an answer that an agent suggests.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

func (Option) Alone() string { return "label" }

// AskUserReply reports the recorded question, or the recorded reply to a comment.
type AskUserReply struct {
	QuestionID string `json:"question_id,omitempty"`
	CommentID  string `json:"comment_id,omitempty"`
	Answer     string `json:"answer,omitempty"`
	Message    string `json:"message"`
	Heartbeat
	asking
}

// AskUser asks a person a question. The answer comes through the host's dialog or with a later status. With ReplyToComment, it
// records a reply to a person's comment instead.
func (s *Service) AskUser(ctx context.Context, c Caller, in AskUser) (AskUserReply, error) {
	for _, o := range in.Options {
		in.Question += "\n- " + o.Label + prefixed(": ", o.Description)
	}
	if in.ReplyTo != nil {
		reply, err := s.ReplyToComment(ctx, c, plan.ReplyToComment{Comment: *in.ReplyTo, Text: in.Question})
		return AskUserReply{CommentID: reply.ID, Message: reply.Message, Heartbeat: reply.Heartbeat}, err
	}
	text, err := plan.Text{Field: "/question", Max: plan.MaxLongLine, Multiline: true}.Given(in.Question)
	if err != nil {
		return AskUserReply{}, err
	}
	outcome, err := s.do(ctx, c, plan.AskUser{Text: text})
	var reply AskUserReply
	for _, q := range outcome.After.OpenQuestions() {
		if q.Text == text {
			reply = s.openQuestion(outcome.After, c, q)
		}
	}
	if outcome.Before.Revision != outcome.After.Revision {
		s.notify(Notice{Event: "question_waits", Title: "An agent asks", Text: text})
	}
	return reply, err
}

func (s *Service) openQuestion(state plan.State, c Caller, q plan.Question) AskUserReply {
	return AskUserReply{QuestionID: q.ID, Heartbeat: s.heartbeat(state, c),
		asking: asking{&Ask{Question: q.ID, Message: q.Text, service: s}},
		Message: "Question " + q.ID + " is open. The user can answer with `" + c.word(Call{Kind: CallReview}) + "` or `" +
			c.word(Call{Kind: CallAnswer}) + "`; you get the answer from " + c.word(Call{Kind: CallAskStatus}) + "."}
}

// Answer records a person's answer to a question; id may be empty if only one is open.
func (s *Service) Answer(ctx context.Context, c Caller, id, text string) (AskUserReply, error) {
	clean, err := plan.Text{Field: "/answer", Max: plan.MaxLongText, Multiline: true}.Required(text)
	if err != nil {
		return AskUserReply{}, err
	}
	outcome, err := s.do(ctx, c, plan.AnswerQuestion{ID: id, Answer: clean})
	for _, q := range outcome.After.Questions {
		if q.Revision == outcome.After.Revision {
			id = q.ID
		}
	}
	return AskUserReply{QuestionID: id, Answer: clean, Message: "Question " + id + " is answered: " + clean,
		Heartbeat: s.heartbeat(outcome.After, c)}, err
}

func (r AskUserReply) Text() string { return r.under(r.Message) }
