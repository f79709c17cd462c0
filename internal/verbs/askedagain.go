package verbs

import (
	"slices"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/plan"
)

// AskedAgain says that a change goes beyond what was approved, so that it was put
// before a person instead of being made. The reply tells of it; nothing failed.
type AskedAgain struct {
	Reply SubmitPlanReply
}

func (e *AskedAgain) Error() string { return e.Reply.Message }

// asksAgain reports whether a change to an approved plan became a submission.
func asksAgain(events []plan.Event) bool {
	return slices.ContainsFunc(events, func(e plan.Event) bool {
		submitted, ok := e.(plan.PlanSubmitted)
		return ok && submitted.Request.Base != ""
	})
}

func (s *Service) resubmitted(outcome session.Outcome, c Caller) SubmitPlanReply {
	shown := outcome.Before
	shown.Phase, shown.Draft = plan.PhaseSubmitted, outcome.Before.Plan // what was approved is what was shown
	reply := s.submitted(shown, outcome.After, c, gates.Report{})
	reply.Message = "This goes beyond the approved plan (" + outcome.After.Draft.Changes + "), so it was not done but put before a person, who can decide with `" + c.word(Call{Act: ActApprove}) + "` on a terminal. Report again afterwards what else you had to report. (A task that only splits an approved one, `splits`, needs no agreement.)"
	return reply
}
