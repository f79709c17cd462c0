package verbs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

// SubmitPlan is the input of SubmitPlan (chorus: submit_plan).
type SubmitPlan struct {
	Summary   string          `json:"summary" jsonschema:"description=1-3 sentences"`
	Steps     []SubmittedStep `json:"steps"`
	Questions []string        `json:"questions,omitempty"`
	Reasoning *string         `json:"reasoning,omitempty" text:"rest"`
	Facts
	InformedBy []string `json:"informed_by,omitempty" jsonschema:"-"`
	Duration   int      `json:"estimated_duration,omitempty" jsonschema:"-"` // seconds
}

// SubmittedStep is a step of a submitted plan.
type SubmittedStep struct {
	Ref *string `json:"ref,omitempty"`
	TaskFields
	Dependencies *[]TaskRef `json:"dependencies,omitempty" jsonschema:"description=task ids or refs"`
}

func (SubmittedStep) Alone() string { return "title" }

func (SubmittedStep) Needed() []string { return []string{"title"} }

func (SubmittedStep) Asked() []string { return NewTask{}.Asked() }

// SubmitPlanReply reports a submitted plan that waits for a decision.
type SubmitPlanReply struct {
	Status   string     `json:"status"` // awaiting_approval, or proposed for a change of an approved plan
	Phase    plan.Phase `json:"phase"`
	PlanID   string     `json:"plan_id"`
	Message  string     `json:"message"`
	Score    int        `json:"score,omitempty"`
	Warnings []string   `json:"warnings,omitempty"`
	Heartbeat
	asking
}

// asking is the part of a reply with the question to put to a person through the host, if there is one.
type asking struct{ ask *Ask }

// Ask returns the question, or nil.
func (a asking) Ask() *Ask { return a.ask }

// Ask is a question that a host may put to its user.
type Ask struct {
	Request  string // the open request; "" for a question
	Undone   bool   // people's edits were undone, so the answer may restore or accept them
	Digest   string // of the content shown
	Question string // the id of the question; "" for a request
	Message  string // the whole text to show

	Step    plan.StepID // the step that asks; 0 if none
	Kind    plan.AskKind
	Attempt int

	service *Service // whose track the question is on
	began   string   // as in Caller
}

// Place returns the service that asks, and the caller of the call that asks: the call may have begun or joined another track.
func (a *Ask) Place(c Caller) (*Service, Caller) {
	c.began = a.began
	return a.service, c
}

// SubmitPlan submits a plan for a person's decision. All gates apply. The plan becomes the draft, next to the current
// plan.
func (s *Service) SubmitPlan(ctx context.Context, c Caller, in SubmitPlan) (SubmitPlanReply, error) {
	return besideOthers(ctx, s, c, aProposal, in.Summary, func(s *Service, c Caller) (SubmitPlanReply, error) {
		return s.submitPlan(ctx, c, in)
	})
}

func (s *Service) submitPlan(ctx context.Context, c Caller, in SubmitPlan) (SubmitPlanReply, error) {
	action, tasks, wrong := s.submission(in)
	state, err := s.State(ctx)
	if err != nil {
		return SubmitPlanReply{}, err
	}
	action.Objective = objective(state, action.Summary)
	submission := plan.Batch{Word: plan.ActionWord(action), Parts: []plan.Part{{Action: action}}}
	judged := gates.Candidate{Objective: action.Objective, New: tasks, Replaces: true}
	if _, err = s.check(ctx, c, judged, "/steps", wrong, &submission); err != nil {
		return SubmitPlanReply{}, err
	}
	outcome, err := s.doIf(ctx, c, submission, func(now plan.State) error {
		if objective(now, action.Summary) != action.Objective {
			return errPlanChanged
		}
		return s.hooksAnswer(c, now)
	})
	if err != nil {
		return SubmitPlanReply{}, err
	}
	var former *plan.Plan
	if before := outcome.Before; before.PhaseNow().IsRestricted() || before.HasProposal() && before.Draft.Root() != root(before) {
		former = before.Draft
	}
	return s.submitted(ctx, former, outcome.After, c), nil
}

func (s *Service) submitted(ctx context.Context, former *plan.Plan, after plan.State, c Caller) SubmitPlanReply {
	reply, request := s.awaitingReply(after, former, c), after.ModeNow().Request
	if edits, err := s.Undone(ctx, after); err == nil { // the plan is recorded: an error must not fail the call
		reply.Warnings = append(firstWarnings(undoneLines(edits, "you")), reply.Warnings...)
	}
	if !s.PersonOnly(after) { // a decision through a client would not count
		reply.ask = s.AskToDecide(ctx, after, former)
		reply.ask.began = c.began
	}
	s.asked.Store(&request.ID)
	s.notify(s.planNotice(after))
	return reply
}

func (s *Service) awaitingReply(state plan.State, former *plan.Plan, c Caller) SubmitPlanReply {
	decide := prefixed(" ", state.VotingText(nil)) + " The user can decide with `" + c.word(Call{Kind: CallReview}) + "`, or `" +
		c.word(Call{Kind: CallApprove}) + "` on a terminal."
	message, status := "Plan submitted with "+steps(state.Draft)+". It waits for a person's decision."+decide, string(AwaitingApproval)
	if state.HasProposal() {
		what := cmp.Or(state.Draft.Changes, "another plan with "+steps(state.Draft))
		message = "This is not in the approved plan: " + what + ". It is proposed to the user; continue with approved steps." + decide +
			c.insteadOfProposal(what)
		status = "proposed"
	}
	if p := state.Plan; state.ModeNow().Request.Base == "" && p.IsUnfinished() && p.Steps.Len() > 0 {
		message += " Approving it archives the current plan, " + plan.Quote(plan.Shorten(p.Objective, titleShown)) +
			" (" + progress(p) + ")."
	}
	found := state.ModeNow().DraftFindings()
	reply := SubmitPlanReply{Status: status, Phase: state.PhaseNow(), PlanID: state.Draft.ID, Score: found.Score,
		Message: message, Heartbeat: s.heartbeat(state, c)}
	if former != nil && reviewChanges(state.Draft, former) == "" {
		warning := "this plan is identical to the one shown before"
		if d := state.ModeNow().Decision; d != nil && d.Outcome == plan.Returned {
			warning += ", but the user requested changes"
			if d.Comment != "" {
				warning += " (" + plan.Quote(d.Comment) + ")"
			}
		}
		reply.Warnings = []string{warning}
	}
	var warnings []string
	for _, w := range found.Warnings {
		warnings = append(warnings, remedied(w.Sentence(w.Step.String()), w.Fix))
	}
	reply.Warnings = append(reply.Warnings, firstWarnings(warnings)...)
	return reply
}

// insteadOfProposal names the calls that withdraw a proposal and, if it adds steps, that divide an approved step instead.
func (c Caller) insteadOfProposal(what string) string {
	withdraw, can := c.Can(Call{Kind: CallUpdate, JSON: `{"withdraw":true}`})
	if !can || c.decides() {
		return ""
	}
	if strings.Contains(what, "new step") && !strings.Contains(what, "which it splits") {
		divide, _ := c.Can(Call{Kind: CallUpdate, JSON: `{"withdraw":true,"add_tasks":[{"splits":"<id>","title":"<title>",` +
			`"type":"<feature|bugfix|chore|test>","context_hints":["<where to look first>"],` +
			`"relevant_file_paths":["<a file it is about>"]}]}`})
		return " A part of an approved step needs no approval: " + divide + "."
	}
	return " To withdraw it: " + withdraw + "."
}

// Unanswered returns the reply for a client that got no answer from its user: the open question or request, or if it is
// no longer open, the status. wrong, a refused answer, comes first.
func (s *Service) Unanswered(ctx context.Context, c Caller, ask *Ask, wrong string) (Reply, error) {
	if ask.Step != 0 {
		return s.RunStatus(ctx, c)
	}
	state, former, err := s.Draft(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range state.OpenQuestions() {
		if q.ID == ask.Question {
			return s.openQuestion(state, c, q), nil
		}
	}
	request := state.ModeNow().Request
	if state.Draft == nil || request == nil || request.ID != ask.Request {
		return s.Status(ctx, c, Status{})
	}
	reply := s.awaitingReply(state, former, c)
	if !state.HasProposal() { // else approved work continues
		reply.NextAction = NoDecision
	}
	if wrong != "" {
		reply.Message = wrong + " " + reply.Message
	}
	return reply, nil
}

// submission cleans a submitted plan, as far as possible, and returns all errors. Its steps refer only to each other.
func (s *Service) submission(in SubmitPlan) (plan.SubmitPlan, []gates.Task, error) {
	var a plan.SubmitPlan
	var faults plan.Faults
	a.Summary = required(&faults, plan.Text{Field: "/summary", Max: plan.MaxSummary, Multiline: true}, in.Summary)
	a.Questions = cleanedLines(&faults, "/questions", in.Questions, plan.MaxLongLine)
	a.Metadata.Constraints = cleanedLines(&faults, "/constraints", in.Constraints, plan.MaxLongLine)
	a.Metadata.InformedBy = cleanedLines(&faults, "/informed_by", in.InformedBy, plan.MaxPath)
	a.ContextNotes, a.Reasoning = in.notes(), given(in.Reasoning)
	a.EstimatedDuration = in.Duration
	if len(in.Steps) == 0 {
		faults.Add(plan.Refuse(plan.InvalidInput, "/steps", "is empty", "give at least one step"))
	}
	fields := make([]NewTask, len(in.Steps))
	for i, step := range in.Steps {
		fields[i] = NewTask{Ref: step.Ref, TaskFields: step.TaskFields, Dependencies: step.Dependencies}
	}
	var tasks []gates.Task
	a.Steps, tasks = newStepsOf(plan.State{}, readTasks(&faults, "/steps", fields))
	return a, tasks, faults.Err()
}

// objective returns the objective of a submission: the mode's task, else the beginning of the summary.
func objective(state plan.State, summary string) string {
	if mode := state.ModeNow(); mode.Task != "" && state.PhaseNow().IsRestricted() {
		return mode.Task
	}
	text := oneLine(summary)
	first, _, _ := strings.Cut(text, ". ")
	return plan.Shorten(cmp.Or(strings.TrimRight(first, ". "), text), plan.MaxObjective)
}

func steps(p *plan.Plan) string { return plan.Pluralize(p.Steps.Len(), "step") }

func (r SubmitPlanReply) Text() string {
	text := r.Message
	if r.Score > 0 {
		text += fmt.Sprintf(" Score %d.", r.Score)
	}
	return r.under(text + warningLines(r.Warnings) + "\nPlan: " + r.PlanID)
}

// ChangeProposed says that a change exceeds the approved plan and was proposed to the user instead of being made. It is
// not a failure; the reply says so.
type ChangeProposed struct {
	Reply SubmitPlanReply
}

func (e *ChangeProposed) Error() string { return e.Reply.Message }

// PersonOnly reports whether only a person's own decision counts, not one that a client relays.
func (s *Service) PersonOnly(state plan.State) bool {
	return state.LimitsInForce(s.opts.Limits).PersonOnly
}

// askOnceMore returns the question to put to a person again if its asker is gone: a plan was submitted, and the server
// or host was restarted since (chorus: Bot restart during planning). It repeats the notice, too.
func (s *Service) askOnceMore(ctx context.Context, state plan.State, c Caller) *Ask {
	request := state.ModeNow().Request
	if !c.brief() || c.scoped() || request == nil {
		return nil
	}
	if request.By != c.Actor.Name && !s.seenLast(request.By).IsGone { // another session waits for the answer
		return nil
	}
	if last := s.asked.Swap(&request.ID); last != nil && *last == request.ID {
		return nil
	}
	s.notify(s.planNotice(state))
	if s.PersonOnly(state) {
		return nil
	}
	return s.AskToDecide(ctx, state, nil)
}

// AskToDecide returns the question about the submitted draft.
func (s *Service) AskToDecide(ctx context.Context, state plan.State, former *plan.Plan) *Ask {
	edits, _ := s.Undone(ctx, state) // the message reports the error
	request := state.ModeNow().Request
	return &Ask{Request: request.ID, Digest: request.Digest, Undone: len(edits) > 0,
		Message: s.Review(ctx, state, former, nil), service: s}
}

func (s *Service) planNotice(state plan.State) Notice {
	draft := state.Draft
	title, _, _ := strings.Cut(cmp.Or(draft.Summary, draft.Objective), "\n")
	n := Notice{Event: "plan_waits", PlanID: draft.ID, Title: plan.Shorten(title, 200), Questions: draft.Questions,
		Text: strings.Trim(EnforcementLine(s.Enforcement(state))+"\n"+draft.ContextNotes, "\n")}
	for step := range draft.Steps.All() {
		n.Steps = append(n.Steps, NoticeStep{ID: step.ID.String(), Title: step.Title + toolList(step.Tools), Risk: step.Risk})
	}
	return n
}

// AdoptHostPlan makes a draft of the list that an agent keeps with its host's own tools, or updates that draft; see
// plan.AdoptHostPlan. It reports whether anything changed. The error says why nothing may change; the agent need not see
// it, as it did nothing wrong.
func (s *Service) AdoptHostPlan(ctx context.Context, c Caller, a plan.AdoptHostPlan) (bool, error) {
	outcome, err := s.do(ctx, c, a)
	return err == nil && outcome.After.Revision > outcome.Before.Revision, err
}

// DraftEditReply reports the draft after a person's change.
type DraftEditReply struct {
	PlanID  string        `json:"plan_id"`
	Digest  string        `json:"digest"` // of the changed draft: later decisions refer to it
	Added   []plan.StepID `json:"added,omitempty"`
	Message string        `json:"message"`
	Heartbeat
}

// EditDraft changes the waiting draft for its reviewer. It is not a tool: an agent submits again instead. No
// gate refuses it.
func (s *Service) EditDraft(ctx context.Context, c Caller, a plan.EditDraft) (DraftEditReply, error) {
	outcome, err := s.do(ctx, c, a)
	if err != nil {
		return DraftEditReply{}, err
	}
	draft := outcome.After.Draft
	reply := DraftEditReply{PlanID: draft.ID, Digest: plan.Digest(draft), Message: "No change: the draft already has these values.",
		Heartbeat: s.heartbeat(outcome.After, c)}
	for _, e := range outcome.Events {
		edited, is := e.(plan.DraftEdited)
		if !is {
			continue
		}
		if edited.Added != nil {
			for _, step := range edited.Added.Steps {
				reply.Added = append(reply.Added, step.ID)
			}
		}
		reply.Message = "The draft was changed (" + plan.NewEdits(edited).String() + "). The changed draft waits for a decision."
	}
	return reply, nil
}

func (r DraftEditReply) Text() string { return r.under(r.Message + "\nPlan: " + r.PlanID) }
