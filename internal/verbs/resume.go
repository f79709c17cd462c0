package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Resume returns what an agent needs to continue after it lost its context: its situation and the next action.
func (s *Service) Resume(ctx context.Context, state plan.State, c Caller) (string, error) {
	reply, err := s.StatusIn(ctx, state, c)
	if err != nil {
		return "", err
	}
	return prompts.Resume(prompts.ResumeData{Where: reply.WorkspaceInfo.lines(), Situation: reply.situationText(),
		NextAction: reply.NextAction}), nil
}

// taskAtHand returns the caller's current step, even if something else comes first; nil while planning mode restricts
// changes.
func (v view) taskAtHand(next NextAction) *plan.Step {
	switch {
	case next.step != nil, v.scoped():
		return next.step
	case v.state.PhaseNow().IsRestricted():
		return nil
	}
	return v.afterDecisions().step
}

// openSignals lists the open signals except the one that the next action is about.
func openSignals(state plan.State, next NextAction) []plan.Signal {
	all := slices.Concat(state.OpenSignals(plan.Blocker), state.OpenSignals(plan.Warning), state.OpenSignals(plan.Info))
	return slices.DeleteFunc(all, func(signal plan.Signal) bool { return next.Reason == WaitingOnSignal && signal.ID == next.signal.ID })
}

func draftLines(state plan.State, c Caller) []string {
	draft, read := state.Draft, c.word(Call{Kind: CallRead, ID: string(DraftPlan)})
	switch {
	case draft == nil:
		return nil
	case state.HasProposal() && draft.Root() == root(state):
		mode := state.ModeNow()
		at := cmp.Or(mode.Request, mode.Returned).At.Local().Format("15:04")
		return []string{"A change of the approved plan, proposed at " + at + ": " +
			tokens.Block(draft.Changes, 4*titleTokens) + ": " + read}
	}
	lines := []string{draft.Objective + " (" + steps(draft) + "): " + read}
	for step := range draft.Steps.All() {
		lines = append(lines, idAndTitle(step))
	}
	return lines
}

// idAndTitle returns a step's id and title, for a list.
func idAndTitle(step *plan.Step) string {
	return step.ID.String() + " " + tokens.ShortenCautiously(step.Title, 2*titleTokens, plan.MaxTitle)
}

// nextShown is how many steps after the current one are listed.
const nextShown = 3

func followingSteps(p *plan.Plan, current *plan.Step) []string {
	var next []string
	from := 0
	if current != nil {
		from = p.Steps.Position(current.ID) + 1
	}
	for i := from; i < p.Steps.Len() && len(next) < nextShown; i++ {
		if step := p.Steps.At(i); !step.Status.IsFinished() {
			next = append(next, idAndTitle(step))
		}
	}
	return next
}

// Texts for an agent at the beginning and end of a session or turn, which a host's hooks report.

// Briefing returns the resume if there is work to continue, else "".
func (s *Service) Briefing(ctx context.Context, state plan.State, c Caller) (string, error) {
	if open, _, err := s.choices(ctx, c); err != nil || len(open) > 0 {
		return s.Resume(ctx, state, c)
	}
	switch s.view(state, c, Rules{}).nextAction().Reason {
	case NoPlan, Closed, Ended:
		return "", nil
	}
	return s.Resume(ctx, state, c)
}

// UnfinishedWork returns the caller's unfinished business if it ends its turn now: its step in progress, an open blocker,
// or its own plan without any report. It is "" without any, and while planning mode restricts changes.
func (s *Service) UnfinishedWork(state plan.State, c Caller) string {
	p := state.Plan
	if p == nil || p.Status != plan.StatusActive || state.PhaseNow().IsRestricted() {
		return ""
	}
	v := s.view(state, c, Rules{})
	if v.scoped() {
		next := v.nextAction()
		if next.Reason == Ended {
			return ""
		}
		return fmt.Sprintf("Your step %s is not reported. Next action: %s", next.step.ID, next.For(c))
	}
	var left []string
	worked := false
	for step := range p.Steps.Running() {
		if step.ClaimedBy == c.Actor.Name && !step.IsRunning() {
			left, worked = append(left, fmt.Sprintf("%s %s is in progress and not reported.", step.ID, plan.Quote(step.Title))), true
		}
	}
	mine := p.CreatedBy == c.Actor.Name
	if blockers := state.OpenSignals(plan.Blocker); len(blockers) > 0 && (worked || mine) {
		left = append(left, fmt.Sprintf("The blocker %s is open: %s", plan.Quote(blockers[0].ID), plan.Quote(blockers[0].Message)))
	}
	if mine && p.Steps.Len() > 0 && p.Steps.Count(plan.Pending) == p.Steps.Len() {
		left = append(left, fmt.Sprintf("None of the plan's %d steps was begun or reported.", p.Steps.Len()))
	}
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("The plan %s is not finished. %s Next action: %s", plan.Quote(p.Objective), strings.Join(left, " "),
		v.nextAction().For(c))
}
