package verbs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/plan"
)

// DecisionReply reports a recorded decision.
type DecisionReply struct {
	Outcome  plan.Outcome `json:"outcome"`
	PlanID   string       `json:"plan_id"`
	Phase    plan.Phase   `json:"phase"`
	Message  string       `json:"message"`
	Approved string       `json:"approved_plan,omitempty"` // for the agent that relayed the decision
	Runs     bool         `json:"-"`                       // the approved plan has steps for planloop run
	IsOpen   bool         `json:"open,omitempty"`          // the plan still waits for approvals
	Heartbeat
}

// Decide records a person's decision about the draft; the face sets the way it came. It is not a tool, so no model can
// call it.
func (s *Service) Decide(ctx context.Context, c Caller, a plan.DecideDraft) (DecisionReply, error) {
	outcome, err := s.doIf(ctx, c, a, func(state plan.State) error { return s.checkRequest(ctx, state, a.Request) })
	if err != nil {
		return DecisionReply{}, err
	}
	reply := DecisionReply{Outcome: a.Outcome, Phase: outcome.After.PhaseNow(), Heartbeat: s.heartbeat(outcome.After, c)}
	if outcome.Before.Draft != nil {
		reply.PlanID = outcome.Before.Draft.ID
	}
	if votes := outcome.After.VotingText(nil); votes != "" && a.Outcome == plan.Approved {
		reply.IsOpen, reply.Message = true, "Your approval is recorded. "+votes
		return reply, nil
	}
	reply.Runs = a.Outcome == plan.Approved && s.view(outcome.After, c, Rules{}).hasRunnableSteps()
	reply.Message = DecisionText(outcome.After.ModeNow().Decision)
	if a.Outcome == plan.Approved && c.brief() {
		remarks, err := s.OpenComments(ctx, outcome.After)
		if err != nil {
			return DecisionReply{}, err
		}
		reply.Approved = approvalAnswer(outcome.After.Plan, c, remarks)
	}
	return reply, nil
}

// checkRequest refuses a decision about a request or plan that never existed. The core knows only the open one.
func (s *Service) checkRequest(ctx context.Context, state plan.State, id string) error {
	made, _ := strconv.Atoi(strings.TrimPrefix(id, "R")) // the record
	if _, isPast := state.PastPlan(id); id == "" || isPast || s.wasSubmitted(ctx, plan.Revision(max(0, made-1)), id) {
		return nil
	}
	fix := "no plan waits for a decision"
	if request := state.ModeNow().Request; request != nil && state.Draft != nil {
		fix = fmt.Sprintf("%s waits: %s (%s)", request.ID, plan.Quote(state.Draft.Objective), state.Draft.ID)
	}
	return plan.Refuse(plan.NotFound, "/request", "no such request: "+plan.Quote(id), fix)
}

// wasSubmitted reports whether the first record after a revision made the request.
func (s *Service) wasSubmitted(ctx context.Context, after plan.Revision, id string) bool {
	for record, err := range s.session.Records(ctx, after) {
		return err == nil && slices.ContainsFunc(record.Events, func(e plan.Event) bool {
			submitted, _ := e.(plan.PlanSubmitted)
			proposed, _ := e.(plan.ChangeProposed)
			return submitted.Request.ID == id || proposed.Request.ID == id
		})
	}
	return false
}

// RecordNoDecision notes that a client asked its user and got no decision.
func (s *Service) RecordNoDecision(ctx context.Context, c Caller, request, how string) error {
	_, err := s.do(ctx, c, plan.RecordNoDecision{Request: request, How: how})
	return err
}

// DecisionText returns a decision as a sentence with its comment, "" for nil.
func DecisionText(d *plan.Decision) string {
	if d == nil {
		return ""
	}
	by, subject, cancelled := d.Way.Decider(d.By), "The plan", "Planning mode"
	if d.Change {
		subject, cancelled = "The change to the approved plan", "The change to the approved plan"
	}
	if d.IsRejection() && d.Outcome == plan.Expired {
		return subject + " counts as rejected: " + d.Comment + "."
	}
	if d.Outcome == plan.AnsweredThere {
		return subject + " was answered in " + d.Comment + "."
	}
	text := map[plan.Outcome]string{
		plan.Approved:  subject + " was approved by " + by,
		plan.Rejected:  subject + " was rejected by " + by,
		plan.Returned:  subject + " was returned for changes by " + by,
		plan.CalledOff: cancelled + " was cancelled by " + by,
		plan.Expired:   "Planning mode has expired",
		plan.Ended:     "Planning mode was ended by " + by,
		plan.Withdrawn: subject + " was withdrawn by " + by,
	}[d.Outcome]
	if d.Change && slices.Contains([]plan.Outcome{plan.Rejected, plan.CalledOff, plan.Withdrawn}, d.Outcome) {
		text += "; the approved plan continues unchanged"
	}
	if n := len(d.Unanswered); n > 0 {
		text += "; " + plan.Enumerate(d.Unanswered) + map[bool]string{true: " was", false: " were"}[n == 1] + " not answered"
	}
	switch edits := d.Edits.String(); {
	case edits == "":
	case d.Outcome == plan.Returned:
		text += ", with edits to keep (" + edits + ")"
	default:
		text += ", with edits (" + edits + ")"
	}
	switch {
	case d.Comment != "":
		return text + ": " + d.Comment
	case d.Outcome == plan.Returned:
		return text + ", without a comment: ask the user what to change."
	}
	return text + "."
}

func decided(d *plan.Decision) string { return prefixed(" ", DecisionText(d)) }

func (r DecisionReply) Text() string {
	return r.under(r.Message + prefixed("\nPlan: ", r.PlanID) + line(r.Approved))
}

// Draft returns the waiting draft and the plan to compare it with: the approved plan it changes, the draft shown
// before, the previous version, or the draft as submitted before people edited it; nil if this is the first.
func (s *Service) Draft(ctx context.Context) (state plan.State, former *plan.Plan, err error) {
	state, err = s.State(ctx)
	if err != nil || state.Draft == nil {
		return state, nil, err
	}
	current, draft := state.Plan, state.Draft
	reviewed, ok := state.LastReviewedDraft()
	switch {
	case current != nil && (current.ID == draft.ID || !ok && current.Root() == draft.Root()):
		former, err = s.session.ApprovedVersion(ctx, current)
	case ok:
		former, err = s.session.PlanBody(ctx, reviewed.ID)
	default:
		former, err = s.session.SubmittedVersion(ctx, draft)
	}
	return state, former, err
}
