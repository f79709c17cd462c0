package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// StepAnswer answers a step's question, or settles a failed or unknown step.
type StepAnswer struct {
	Step   plan.StepID
	Choice plan.Choice
	Args   json.RawMessage // with approve and retry: replaces the step's own; nil keeps those
	Text   string          // the reply or the reason
	Digest string          // of the content shown; "" if a person looks at the current state
	Steps  []NewTask       // with insert

	WithDependents bool // with retry: ended steps that depend on it are done again, too
}

// StepAnswerReply reports the step after the answer.
type StepAnswerReply struct {
	StepID   string   `json:"step_id"`
	Status   string   `json:"status"` // of the step
	Message  string   `json:"message"`
	TaskIDs  []int    `json:"task_ids,omitempty"` // of the inserted steps
	Score    int      `json:"score,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Heartbeat

	before plan.State
}

// RecoverStep is the input of RecoverStep (execution: Strategy 3).
type RecoverStep struct {
	StepID plan.StepID      `json:"step_id" jsonschema:"description=such as S001"`
	Choice Recovery         `json:"choice" jsonschema:"description=happened: it is done; insert steps to do first; stop it; abort the run"`
	Args   *json.RawMessage `json:"args,omitempty" jsonschema:"type=object,description=other arguments to retry with"`
	Reason *string          `json:"reason,omitempty" hint:"why"`
	Steps  []NewTask        `json:"steps,omitempty" jsonschema:"description=to insert"`

	WithDependents bool `json:"with_dependents,omitempty" jsonschema:"-"` // with retry
}

// Recovery is a way to settle a failed or unknown step.
type Recovery string

// Values lists the choices.
func (Recovery) Values() []string {
	return []string{string(plan.Retry), string(plan.Skip), string(plan.Happened), string(plan.Insert), string(plan.Abort),
		string(plan.Stop)}
}

// RecoverStep settles a failed or unknown step.
func (s *Service) RecoverStep(ctx context.Context, c Caller, in RecoverStep) (StepAnswerReply, error) {
	return s.AnswerStep(ctx, c, StepAnswer{Step: in.StepID, Choice: plan.Choice(in.Choice), Steps: in.Steps, Args: given(in.Args),
		Text: given(in.Reason), WithDependents: in.WithDependents})
}

// AnswerStep records an answer to a step's question, or settles a failed or unknown step. The face sets the way a
// person's decision came.
func (s *Service) AnswerStep(ctx context.Context, c Caller, in StepAnswer) (StepAnswerReply, error) {
	var faults plan.Faults
	tasks := readTasks(&faults, "/steps", in.Steps)
	for _, mark := range marks("/steps", 1, tasks) {
		faults.Add(plan.Refuse(plan.InvalidInput, mark.Field, "an inserted step is pending", "mark it once it is inserted"))
	}
	for i, t := range in.Steps {
		if t.After != nil {
			faults.Add(plan.Refuse(plan.InvalidInput, fmt.Sprintf("/steps/%d/after", i), "cannot be combined with insert",
				"omit it: the step waits for all inserted steps"))
		}
	}
	var err error
	in.Text, err = plan.Text{Field: "/reason", Max: plan.MaxLongText, Multiline: true}.Clean(in.Text)
	faults.Add(err)
	if in.Choice == plan.Skip && in.Text == "" {
		faults.Add(plan.Refuse(plan.InvalidInput, "/reason", "is missing; a skip needs a reason", "say why the step is not needed"))
	}
	reply, err := retryIfChanged(func() (StepAnswerReply, error) { return s.answerStep(ctx, c, in, tasks, faults) })
	switch {
	case err != nil:
	case in.Choice == plan.Stop:
		reply.Message = ""
		return s.awaitStop(ctx, c, []plan.StepID{in.Step}, reply)
	case in.Choice == plan.Abort:
		reply.Message = "The run was aborted"
		return s.awaitStop(ctx, c, runningSteps(reply.before), reply)
	}
	return reply, err
}

const stopWait = 15 * time.Second // for a stopped step to end: its processes have a few seconds before they are killed

// awaitStop waits until the steps that were stopped have ended, and adds their outcomes to the reply.
func (s *Service) awaitStop(ctx context.Context, c Caller, ids []plan.StepID, reply StepAnswerReply) (StepAnswerReply, error) {
	waiting, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	if _, err := s.awaitEnd(waiting, c, ids, runningSteps); err != nil && waiting.Err() == nil {
		return reply, err
	}
	state, err := s.State(ctx)
	if err != nil {
		return reply, err
	}
	reply.Heartbeat = s.heartbeat(state, c)
	outcomes := nonEmpty(reply.Message)
	for _, id := range ids {
		if step, ok := currentSteps(state).Get(id); ok {
			outcomes = append(outcomes, stopOutcome(step))
			if id.String() == reply.StepID {
				reply.Status = string(step.Status)
			}
		}
	}
	reply.Message = strings.Join(outcomes, "; ")
	return reply, nil
}

func stopOutcome(step *plan.Step) string {
	outcome := map[plan.StepStatus]string{plan.InProgress: " is still ending", plan.Failed: " failed: " + step.Error,
		plan.Done: " was done before it could be stopped", plan.Pending: " will be tried again"}[step.Status]
	if step.IsUnknown() {
		outcome = " was stopped, and its outcome is unknown"
	}
	return step.ID.String() + outcome
}

func (s *Service) answerStep(ctx context.Context, c Caller, in StepAnswer, inserted []taskInput,
	faults plan.Faults) (StepAnswerReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return StepAnswerReply{}, err
	}
	refuseUnfilled(&faults, in.Args)
	referencesIn(state, inserted).refuseFutureIDsOf(&faults, "/steps", inserted)
	steps, tasks := newStepsOf(state, inserted)
	action := plan.AnswerStep{Step: in.Step, Digest: in.Digest, Choice: in.Choice, Args: in.Args, Text: in.Text, Steps: steps,
		WithDependents: in.WithDependents}
	batch := plan.Batch{Word: plan.ActionWord(action), Parts: []plan.Part{{Action: action}}}
	var report gates.Report
	if len(tasks) > 0 && state.Plan != nil {
		report, err = s.check(ctx, c, candidate(state, tasks), "/steps", faults.Err(), &batch)
	} else {
		err = faults.Err()
	}
	if err != nil {
		return StepAnswerReply{}, err
	}
	outcome, held, err := s.doVerified(ctx, c, batch, func(now plan.State) error { return requireSameIDs(state, now, len(tasks)) })
	if err != nil {
		return StepAnswerReply{}, err
	}
	step, _ := outcome.After.Plan.Steps.Get(in.Step)
	before, _ := outcome.Before.Plan.Steps.Get(in.Step)
	reply := StepAnswerReply{StepID: in.Step.String(), Status: string(step.Status),
		Message: answerText(in, before, outcome.After.Plan, step), Heartbeat: s.heartbeat(outcome.After, c), before: outcome.Before}
	for _, e := range outcome.Events {
		if renewed, is := e.(plan.StepsRenewed); is && len(renewed.Steps) > 0 {
			reply.Message += "; again, too: " + plan.IDs(renewed.Steps)
		}
	}
	if len(held) > 0 {
		reply.Message = strings.Join(held, "\n")
	}
	for _, t := range tasks {
		reply.TaskIDs = append(reply.TaskIDs, int(t.ID))
	}
	if len(tasks) > 0 {
		reply.Score, reply.Warnings = report.Score, warnings(report)
		reply.Message += fmt.Sprintf(" (added %s, score %d)", idRange(tasks[0].ID, tasks[len(tasks)-1].ID), report.Score)
	}
	return reply, nil
}

func answerText(in StepAnswer, before *plan.Step, p *plan.Plan, step *plan.Step) string {
	approved, waits := "it may run once with the arguments shown", ""
	if len(in.Args) > 0 {
		approved = "it may run once with the changed arguments"
	}
	reply := "its question was answered"
	if before.NeedsUnblocking() {
		reply = "it will be tried again with your answer"
	}
	if ids := firstFew(p.Steps.Dependents(step.ID)); len(ids) > 0 {
		waits = "; dependent steps wait: " + plan.IDs(ids)
	}
	outcome := map[plan.Choice]string{plan.Approve: approved, plan.Deny: "it was denied" + waits, plan.Reply: reply,
		plan.Retry: "it will be tried again", plan.Skip: "it is not needed" + waits, plan.Happened: "its work is done, without a value",
		plan.Insert: "it will be tried again after the inserted steps", plan.Abort: "the run was aborted",
		plan.Stop: "it is being stopped"}[in.Choice]
	return step.ID.String() + " " + step.Status.Predicate() + ": " + outcome
}

func (r StepAnswerReply) Text() string {
	return r.Message + r.ending(warningLines(r.Warnings))
}

// ReviewStep returns the text a person reads before deciding whether a step runs, with args instead of its own if
// given, and the digest of the call it would make.
func (s *Service) ReviewStep(state plan.State, step *plan.Step, args json.RawMessage) (text, digest string) {
	text = step.ID.String() + " of " + plan.Quote(state.Plan.Objective) + questionText(step)
	tools := s.otherTools()
	definition := tools[step.Tool].Definition
	digest, runs := plan.StartDigest(step, step.Args, definition), step.Args
	if ask := step.OpenQuestion(); ask != nil {
		digest, runs = ask.Digest, ask.Args
		if ask.Kind == plan.AskApproval {
			definition = ask.Definition
			text += prefixed(": ", ask.Text)
		}
	} else if !step.NeedsUnblocking() {
		text += prefixed(": ", plan.ToolChanged(state, step, definition)) +
			"; its references are filled in then, and it asks again if that changes the call"
	}
	if len(args) > 0 {
		runs = args
	}
	text += ".\n\n" + stepText(step, func(step *plan.Step) string { return describeTool(tools, step, definition) })
	if len(runs) > 0 {
		text += "   runs with: " + safetext.AfterLabel(Pretty(runs)) + "\n"
	}
	switch {
	case step.NeedsUnblocking():
		text += "   why it is blocked: " + safetext.AfterLabel(WhyBlocked(step)) + "\n"
	case step.Error != "":
		text += "   failed before: " + safetext.AfterLabel(step.Error) + "\n"
	}
	return text, digest
}

// questionText returns the decision a step needs from a person, to follow its name.
func questionText(step *plan.Step) string {
	switch ask := step.OpenQuestion(); {
	case step.NeedsUnblocking():
		return " is blocked"
	case ask == nil:
	case ask.Kind == plan.AskPause:
		return " asks you"
	case ask.Kind == plan.AskUnknown:
		return " was started, and its outcome is unknown"
	case ask.Attempt > 1:
		return fmt.Sprintf(" asks again, before attempt %d", ask.Attempt)
	}
	return " asks before it runs"
}

// StartDigest returns the digest of the call that a step with a pending approval would make, as AnswerStep takes it.
func (s *Service) StartDigest(step *plan.Step) string {
	if ask := step.OpenQuestion(); ask != nil {
		return ask.Digest
	}
	return plan.StartDigest(step, step.Args, s.otherTools()[step.Tool].Definition)
}
