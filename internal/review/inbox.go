package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// WaitingKind is the kind of a waiting item.
type WaitingKind string

// The kinds.
const (
	PlanWaits     WaitingKind = "plan"
	QuestionWaits WaitingKind = "question"
	StepWaits     WaitingKind = "step"
	BlockerWaits  WaitingKind = "blocker"
	ReplyWaits    WaitingKind = "reply"
)

// Values lists the kinds.
func (WaitingKind) Values() []string {
	return []string{string(PlanWaits), string(QuestionWaits), string(StepWaits), string(BlockerWaits), string(ReplyWaits)}
}

// Waiting is an item that waits for a person.
type Waiting struct {
	Workspace string      `json:"workspace"` // its id
	Name      string      `json:"name"`
	Kind      WaitingKind `json:"kind"`
	ID        string      `json:"id"` // of the request, question, comment, step or signal
	Step      int         `json:"step,omitempty"`
	Title     string      `json:"title"`
	Text      string      `json:"text,omitempty"`
	By        string      `json:"by,omitempty"`
	At        time.Time   `json:"at"`
}

// WaitingIn lists the items in a workspace that wait for a person, newest first.
func WaitingIn(ctx context.Context, workspace *Workspace) ([]Waiting, error) {
	state, err := workspace.Service.State(ctx)
	if err != nil {
		return nil, err
	}
	all := workspace.waiting(state)
	workspace.show(&all)
	return all, nil
}

// waiting lists the waiting items, newest first. A draft with requested changes waits for an agent, so it is not listed.
func (workspace *Workspace) waiting(state plan.State) []Waiting {
	all := []Waiting{}
	add := func(kind WaitingKind, w Waiting) {
		w.Workspace, w.Name, w.Kind = workspace.ID, workspace.Name, kind
		all = append(all, w)
	}
	if p := state.Draft; p != nil && !state.IsReturned() && workspace.noVote(state) == "" {
		w := Waiting{ID: p.ID, Title: p.Objective, Text: p.Summary, By: p.CreatedBy, At: p.CreatedAt}
		if request := state.ModeNow().Request; request != nil {
			w.ID, w.By, w.At = request.ID, request.By, request.At
		}
		add(PlanWaits, w)
	}
	for _, q := range state.CurrentQuestions() {
		add(QuestionWaits, Waiting{ID: q.ID, Title: q.Text, By: q.By, At: q.AskedAt})
	}
	for _, c := range state.Comments {
		if c.IsQuestion && c.Reply != nil && !c.IsResolved {
			add(ReplyWaits, Waiting{ID: c.ID, Step: int(c.Step), Title: c.Text, Text: c.Reply.Text, By: c.Reply.By, At: c.Reply.At})
		}
	}
	for _, s := range state.OpenSignals(plan.Blocker) {
		add(BlockerWaits, Waiting{ID: s.ID, Step: int(state.SignalStep(s)), Title: s.Message, Text: s.Output, By: s.RaisedBy,
			At: s.RaisedAt})
	}
	if state.Plan == nil || state.Plan.FinalSummary != "" {
		return newest(all)
	}
	run := state.OpenRun() // stuck: a failed step needs a decision, or a dependency will never be done
	stuck := run != nil && run.IsPaused && (run.Reason == plan.StopFailed || run.Reason == plan.StopDeadlocked)
	for step := range state.Plan.Steps.All() {
		if stuck && step.Status == plan.Failed && step.OpenQuestion() == nil {
			add(StepWaits, Waiting{ID: step.ID.String(), Step: int(step.ID), Title: step.Title, By: step.ClaimedBy,
				At: cmp.Or(step.CompletedAt, state.Plan.UpdatedAt), Text: "It failed. The run waits until you retry or skip it."})
		}
		if id := givenUp(state.Plan, step); stuck && id != 0 {
			add(StepWaits, Waiting{ID: step.ID.String(), Step: int(step.ID), Title: step.Title, At: state.Plan.UpdatedAt,
				Text: fmt.Sprintf("It waits for %s, which was skipped or cancelled. The run waits until you remove this "+
					"dependency or skip the step.", id)})
		}
		if ask := workspace.ask(step); ask != nil && !ask.Early {
			at := cmp.Or(ask.At, state.Plan.UpdatedAt) // it is not recorded since when a step is blocked
			add(StepWaits, Waiting{ID: step.ID.String(), Step: int(step.ID), Title: step.Title, Text: ask.Text, At: at,
				By: verbs.Carrier(step)})
		}
	}
	return newest(all)
}

// noVote says why the viewer's approval of the waiting plan would not count, "" if it would.
func (workspace *Workspace) noVote(state plan.State) string {
	if workspace.Person == "" {
		return ""
	}
	return state.WhyNoVote(workspace.Person, workspace.Members)
}

// givenUp returns the skipped or cancelled step that a pending step waits for; 0 if none.
func givenUp(p *plan.Plan, step *plan.Step) plan.StepID {
	if step.Status != plan.Pending {
		return 0
	}
	for _, id := range p.Steps.UnmetDependencies(step.ID) {
		if dep, ok := p.Steps.Get(id); ok && (dep.Status == plan.Skipped || dep.Status == plan.Cancelled) {
			return id
		}
	}
	return 0
}

func newest(all []Waiting) []Waiting {
	slices.SortStableFunc(all, func(a, b Waiting) int { return b.At.Compare(a.At) })
	return all
}

// ReadInbox lists everything that waits for a person in all workspaces of workspaces. An unreadable workspace is listed as
// unreadable and does not affect the others.
func ReadInbox(ctx context.Context, workspaces Workspaces) (Inbox, error) {
	inbox := Inbox{Workspaces: []InboxPlace{}, Waiting: []Waiting{}}
	places, err := workspaces.Places(ctx)
	if err != nil {
		return inbox, err
	}
	inbox.Workspaces = make([]InboxPlace, len(places))
	waiting := make([][]Waiting, len(places))
	var group errgroup.Group
	group.SetLimit(atATime)
	for i, place := range places {
		group.Go(func() error {
			shown, waits, err := workspaces.InInbox(ctx, place)
			if err != nil {
				shown = InboxPlace{Place: place, Headline: "This workspace cannot be read. For details, run `planloop doctor` in it."}
				if refused, ok := errors.AsType[*plan.ValidationError](err); ok {
					shown.Headline = "This workspace cannot be read: " + refused.Error() + "."
				}
			}
			inbox.Workspaces[i], waiting[i] = shown, waits
			return nil
		})
	}
	_ = group.Wait() // never fails: each place shows its own error
	inbox.Waiting = newest(append(inbox.Waiting, slices.Concat(waiting...)...))
	safetext.MapTexts(&inbox, safetext.Escape)
	return inbox, ctx.Err()
}

const atATime = 4 // workspaces

// InInbox returns a workspace's entry in an inbox, and its waiting items, newest first.
func InInbox(ctx context.Context, workspace *Workspace) (InboxPlace, []Waiting, error) {
	state, err := workspace.Service.State(ctx)
	if err != nil {
		return InboxPlace{}, nil, err
	}
	waiting := workspace.waiting(state)
	workspace.show(&waiting)
	return InboxPlace{Place: workspace.Place, Waiting: len(waiting), Phase: state.PhaseNow(), UpdatedAt: state.UpdatedAt,
		Headline: workspace.Service.Headline(state, viewer())}, waiting, nil
}
