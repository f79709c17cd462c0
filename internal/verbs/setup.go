package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/synonyms"
	"github.com/planloop/planloop/plan"
)

// NewStep is a step as an agent writes it (WINK: NewPlanStep).
type NewStep struct {
	Title   string      `json:"title" jsonschema:"maxLength=160,description=one verifiable piece of work" text:"some"`
	Details *string     `json:"details,omitempty" jsonschema:"maxLength=512" text:"rest" hint:"where and how to verify it"`
	Status  *MarkStatus `json:"status,omitempty" jsonschema:"-" schema:"closed"`
}

func (NewStep) Alone() string { return "title" }

func (s NewStep) status() plan.StepStatus { return plan.StepStatus(given(s.Status)) }

// SetupPlan is the input of SetupPlan (WINK: SetupPlan).
type SetupPlan struct {
	Objective    string    `json:"objective" jsonschema:"maxLength=240,description=one line of ASCII" text:"some"`
	InitialSteps []NewStep `json:"initial_steps,omitempty"`
}

// SetupPlanReply describes the new plan.
type SetupPlanReply struct {
	PlanID  string `json:"plan_id"`
	Status  string `json:"status"`
	StepIDs string `json:"step_ids,omitempty"`
	Doubt   string `json:"workspace_doubt,omitempty"`
	Earlier string `json:"-"` // decision about a restored plan
	Replaced
	Heartbeat
}

// Replaced describes the previous plan: its progress, and how a person restores it.
type Replaced struct {
	Replaced         string `json:"replaced,omitempty"` // id
	ReplacedProgress string `json:"replaced_progress,omitempty"`
	Restore          string `json:"restore,omitempty"`
}

func replaced(c Caller, former *plan.Plan) Replaced {
	if former == nil {
		return Replaced{}
	}
	return Replaced{former.ID, progress(former), restoreAdvice(c, former.ID)}
}

func (r Replaced) text() string {
	if r.Replaced == "" {
		return ""
	}
	return "; it replaces " + r.Replaced + Heartbeat{Progress: r.ReplacedProgress}.sofar() + ", which is archived; " + r.Restore
}

func restoreAdvice(c Caller, id string) string {
	return "a person can restore it with `" + c.word(Call{Kind: CallRestore, ID: id}) + "`"
}

// SetupPlan makes a new plan the current one and archives the previous one.
func (s *Service) SetupPlan(ctx context.Context, c Caller, in SetupPlan) (SetupPlanReply, error) {
	return besideOthers(ctx, s, c, aPlan, in.Objective, func(s *Service, c Caller) (SetupPlanReply, error) {
		return s.setupPlan(ctx, c, in)
	})
}

func (s *Service) setupPlan(ctx context.Context, c Caller, in SetupPlan) (SetupPlanReply, error) {
	var faults plan.Faults
	rule := s.six(c, "/objective", plan.MaxObjective)
	rule.Alternative, _ = c.Can(Call{Kind: CallStart})
	objective := required(&faults, rule, in.Objective)
	steps := s.newSteps(c, &faults, "/initial_steps", in.InitialSteps)
	return s.setUpChecked(ctx, c, plan.SetUp{Outline: plan.Outline{Objective: objective}, Steps: steps}, faults.Err(),
		marks("/initial_steps", 1, in.InitialSteps)...)
}

// SetUp is SetupPlan for an action with all fields of a plan.
func (s *Service) SetUp(ctx context.Context, c Caller, a plan.SetUp) (SetupPlanReply, error) {
	begins := aPlan
	if a.Draft {
		begins = aProposal
	}
	return besideOthers(ctx, s, c, begins, a.Objective, func(s *Service, c Caller) (SetupPlanReply, error) {
		return s.setUpChecked(ctx, c, a, plan.CleanAction(a))
	})
}

// setUpChecked sets up a plan unless wrong or the gates refuse it.
func (s *Service) setUpChecked(ctx context.Context, c Caller, a plan.SetUp, wrong error, then ...plan.Part) (SetupPlanReply, error) {
	first := c.word(Call{Kind: CallSetUp}) + " " + object(SetupPlan{Objective: cmp.Or(a.Objective, "<one line of ASCII>")}) + ", then "
	if err := s.checkIfStrict(ctx, c, plan.State{}, a.Steps, "/initial_steps", wrong, first); err != nil {
		return SetupPlanReply{}, err
	}
	return s.setUp(ctx, c, a, then...)
}

func (s *Service) setUp(ctx context.Context, c Caller, a plan.SetUp, then ...plan.Part) (SetupPlanReply, error) {
	outcome, err := s.do(ctx, c, withParts(a, then))
	if err != nil {
		return SetupPlanReply{}, err
	}
	return s.setUpReply(c, outcome, a.Draft), nil
}

func (s *Service) setUpReply(c Caller, outcome session.Outcome, draft bool) SetupPlanReply {
	former, p := outcome.Before.Plan, outcome.After.Plan
	if draft {
		former, p = outcome.Before.Draft, outcome.After.Draft
	}
	reply := SetupPlanReply{PlanID: p.ID, Status: string(p.Status), Doubt: s.opts.Doubt, Heartbeat: s.heartbeat(outcome.After, c)}
	if n := p.Steps.Len(); n > 0 {
		reply.StepIDs = idRange(p.Steps.At(0).ID, p.Steps.At(n-1).ID)
	}
	if former != nil && former.ID != p.ID {
		reply.Replaced = replaced(c, former)
	}
	if p.Status == plan.StatusDraft {
		reply.Progress = "" // it is the current plan's
	}
	return reply
}

// Restore makes a former plan the current one again and archives the current one, or makes it a draft: see plan.Restore.
func (s *Service) Restore(ctx context.Context, c Caller, planID string) (SetupPlanReply, error) {
	if err := s.checkTrack(ctx, c); err != nil {
		return SetupPlanReply{}, err
	}
	outcome, err := s.session.Restore(ctx, c.Actor, planID)
	s.touch(c)
	if err != nil {
		return SetupPlanReply{}, c.addPersonCalls(err)
	}
	s.seen.know(c, outcome.After)
	draft := outcome.After.Draft != outcome.Before.Draft
	reply := s.setUpReply(c, outcome, draft)
	if reply.Earlier = EarlierDecision(outcome.After, outcome.After.Plan); draft {
		reply.Earlier = EarlierDecision(outcome.After, outcome.After.Draft)
	}
	return reply, nil
}

func (r SetupPlanReply) Text() string {
	text := "Plan " + r.PlanID + " " + plan.PlanStatus(r.Status).Predicate() + prefixed(" with ", r.StepIDs) + r.sofar()
	if r.Replaced.Replaced != "" && r.Status == string(plan.StatusDraft) {
		text += "; it replaces the draft " + r.Replaced.Replaced
	} else {
		text += r.Replaced.text()
	}
	if text += prefixed("; earlier decision: ", r.Earlier); r.Earlier != "" && r.Status == string(plan.StatusDraft) {
		text += "; a person must approve it"
	}
	return text + "." + WorkspaceInfo{Doubt: r.Doubt}.lines() + "\nNext: " + r.NextAction
}

// marks returns the marks of new steps that are not pending; first is the id of the first step.
func marks[T interface{ status() plan.StepStatus }](field string, first plan.StepID, in []T) (parts []plan.Part) {
	for i, step := range in {
		if status := step.status(); status != "" && status != plan.Pending {
			parts = append(parts, plan.Part{Field: fmt.Sprintf("%s/%d/status", field, i),
				Action: plan.MarkStep{Step: first + plan.StepID(i), Status: status}})
		}
	}
	return parts
}

// withParts returns an action, together with others if there are any.
func withParts(a plan.Action, then []plan.Part) plan.Action {
	if len(then) == 0 {
		return a
	}
	return plan.Batch{Word: plan.ActionWord(a), Parts: append([]plan.Part{{Action: a}}, then...)}
}

// newSteps cleans steps by the rules of the six planning_* tools.
func (s *Service) newSteps(c Caller, faults *plan.Faults, field string, in []NewStep) []plan.NewStep {
	out := make([]plan.NewStep, len(in))
	for i, step := range in {
		at := fmt.Sprintf("%s/%d", field, i)
		out[i].Title = required(faults, s.six(c, at+"/title", plan.MaxTitle), step.Title)
		out[i].Details = s.details(c, faults, at+"/details", step.Details)
	}
	return out
}

// six returns the rule for a single-line text in the six tools.
func (s *Service) six(c Caller, field string, longest int) plan.Text {
	rule := plan.Text{Field: field, Max: longest, ASCII: !s.opts.Unicode}
	if update, can := c.Can(Call{Kind: CallUpdate}); can {
		rule.Alternative = update
	}
	return rule
}

func required(faults *plan.Faults, rule plan.Text, text string) string {
	clean, err := rule.Required(text)
	faults.Add(err)
	return clean
}

func cleaned(faults *plan.Faults, rule plan.Text, text string) string {
	clean, err := rule.Clean(text)
	faults.Add(err)
	return clean
}

func cleanedLines(faults *plan.Faults, field string, in []string, longest int) []string {
	lines, err := plan.CleanLines(field, in, longest)
	faults.Add(err)
	return lines
}

func given[T any](value *T) T {
	if value == nil {
		return *new(T)
	}
	return *value
}

func (s *Service) details(c Caller, faults *plan.Faults, field string, text *string) string {
	rule := s.six(c, field, plan.MaxDetails)
	rule.Multiline = true
	return cleaned(faults, rule, given(text))
}

// idRange writes consecutive ids: "S001", "S001-S004", or "" if the range is empty.
func idRange(from, to plan.StepID) string {
	switch {
	case to < from:
		return ""
	case to == from:
		return from.String()
	}
	return from.String() + "-" + to.String()
}

// ClearPlan is the input of ClearPlan: no fields (WINK: ClearPlan).
type ClearPlan struct{}

// TakesNoMore says how to correct a call with fields.
func (ClearPlan) TakesNoMore() string {
	return "this abandons the whole plan and takes no fields; " + synonyms.Skip
}

// ClearPlanReply names the abandoned plan.
type ClearPlanReply struct {
	PlanID    string `json:"plan_id"`
	Status    string `json:"status"`
	Discarded int    `json:"discarded"` // steps
	Restore   string `json:"restore"`   // how a person restores it
	Heartbeat
}

// ClearPlan abandons the current plan. A person can restore it.
func (s *Service) ClearPlan(ctx context.Context, c Caller, _ ClearPlan) (ClearPlanReply, error) {
	left, err := s.cleanUp(ctx, c)
	if err != nil {
		return ClearPlanReply{}, err
	}
	outcome, err := s.do(ctx, c, plan.Clear{})
	if err != nil {
		return ClearPlanReply{}, err
	}
	before, ending := outcome.Before.Plan, s.awaitProcesses(ctx, c, outcome.Before)
	return ClearPlanReply{PlanID: before.ID, Status: string(outcome.After.Plan.Status), Discarded: before.Steps.Len(),
		Restore:   restoreAdvice(c, before.ID) + prefixed("; not run at the end: ", plan.ListIDs(left)) + prefixed(". ", ending),
		Heartbeat: s.heartbeat(outcome.After, c)}, nil
}

func (r ClearPlanReply) Text() string {
	return fmt.Sprintf("Plan %s is %s, %s discarded; %s", r.PlanID, r.Status, plan.Pluralize(r.Discarded, "step"), r.Restore) + r.ending()
}

// ImportPlan is SetUp for a plan from a file. The gates check the unfinished steps. Their findings are reported,
// and refuse the plan only with GateAll, because check lists have no hints and paths. The plan's earlier versions,
// oldest first, are kept as former plans unless they already exist.
func (s *Service) ImportPlan(ctx context.Context, c Caller, a plan.SetUp, former []plan.SetUp) (SetupPlanReply, []string, error) {
	candidate := gates.Candidate{Objective: a.Objective, Replaces: true}
	finished := map[plan.StepID]bool{}
	for i, step := range a.Steps {
		id := cmp.Or(step.ID, plan.StepID(i+1))
		candidate.New = append(candidate.New, gates.Task{ID: id, Spec: step.Spec})
		finished[id] = step.Status.IsFinished()
	}
	report, err := s.examine(ctx, candidate, nil)
	if err != nil {
		return SetupPlanReply{}, nil, err
	}
	report.Findings = slices.DeleteFunc(report.Findings, func(f gates.Finding) bool {
		return finished[f.Step] || f.Gate == "hint_actionable" // hints may come from other fields of the file
	})
	if s.opts.GateAll && !report.OK() {
		return SetupPlanReply{}, nil, &RefusedPlan{Report: report}
	}
	before, err := s.setUpFormer(ctx, c, a, former)
	if err != nil {
		return SetupPlanReply{}, nil, err
	}
	reply, err := s.setUp(ctx, c, a)
	if before.PlanID != "" { // the import itself replaces one of its earlier versions
		reply.Replaced = before.Replaced
	}
	var notes []string
	if kept := a.Import.ID; kept != "" && err == nil && reply.PlanID != kept {
		notes = append(notes, "This workspace already has a plan "+kept+", so the imported one is "+reply.PlanID+".")
	}
	missed, steps := map[string]bool{}, map[plan.StepID]bool{}
	for _, f := range report.Findings {
		missed[f.Gate], steps[f.Step] = true, true
	}
	if len(missed) > 0 {
		inOrder := slices.DeleteFunc(gates.Names(), func(gate string) bool { return !missed[gate] })
		notes = append(notes, plan.Pluralize(len(steps), "step")+" imported with gaps, which do not refuse an import: "+
			strings.Join(inOrder, ", ")+".")
	}
	return reply, notes, err
}

// ImportFaults adds to the refusal of a file what prevents a run of the steps that could be read.
func (s *Service) ImportFaults(ctx context.Context, refusal error, a plan.SetUp) error {
	wrong, ok := errors.AsType[*plan.ValidationError](refusal)
	if !ok {
		return refusal
	}
	s.awaitTools(ctx, toolsOf(a))
	if all := mergeErrors(wrong, s.checkRunnable(plan.Steps{}, a, nil)); len(all.Others) > len(wrong.Others) {
		return all
	}
	return refusal
}

// setUpFormer sets up the earlier versions of a plan in turn, and returns the reply to the first. For a draft it
// does nothing, because a draft replaces no plan.
func (s *Service) setUpFormer(ctx context.Context, c Caller, a plan.SetUp, former []plan.SetUp) (first SetupPlanReply, err error) {
	if a.Draft || len(former) == 0 {
		return first, nil
	}
	state, err := s.State(ctx)
	if err != nil {
		return first, err
	}
	for _, version := range former {
		if slices.Contains(state.PlanIDs(), version.Import.ID) {
			continue
		}
		reply, err := s.setUp(ctx, c, version)
		if err != nil {
			return first, err
		}
		if first.PlanID == "" {
			first = reply
		}
	}
	return first, nil
}
