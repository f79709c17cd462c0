package verbs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// An agent gets people's changes of the current plan, and other agents' changes of its own steps, with every status and
// once with the answer to its next report.

// The most records read for people's changes: editsBefore to find the agent's own last record, if this process does not
// know which ones the agent has seen; editsSince after that.
const (
	editsBefore = 128
	editsSince  = 1_024
)

// editsUnder describes people's changes of the current plan since the caller was last shown them, for the answer to its own
// change; if this process does not know when, since the caller's last change. An error must not fail a change that is
// recorded; the next status then shows the edits.
func (s *Service) editsUnder(ctx context.Context, c Caller, outcome session.Outcome) string {
	after := s.seen.get(c).planEdits
	isKnown := after > 0
	if !isKnown {
		after = max(0, outcome.Before.Revision-editsBefore)
	}
	text, didChange, err := s.editsAfter(ctx, c, outcome.Before, after, !isKnown)
	if err != nil {
		return ""
	}
	s.seen.set(c, func(last *sighting) { last.planEdits = outcome.After.Revision })
	if !isKnown && !didChange { // a new agent sees the plan as it is
		return ""
	}
	return text
}

// editsAfter describes people's changes of the current plan after a revision, with sinceOwn only those after the caller's
// last change, and reports whether the caller has made any.
func (s *Service) editsAfter(ctx context.Context, c Caller, state plan.State, after plan.Revision,
	sinceOwn bool) (text string, didChange bool, err error) {
	if state.Plan == nil || c.Actor.Kind != plan.Agent || c.scoped() {
		return "", false, nil
	}
	var edits personEdits
	for record, err := range s.session.Records(ctx, max(after, state.Revision-editsSince)) {
		if err != nil {
			return "", false, fmt.Errorf("read people's changes of the plan: %w", err)
		}
		if record.Seq > state.Revision {
			break
		}
		if sinceOwn && record.Actor.Name == c.Actor.Name {
			edits, didChange = nil, true
		}
		edits = edits.with(record, c)
	}
	text = edits.text(state.Plan, c)
	if state.Revision-after > editsSince {
		text += fmt.Sprintf("\nYou missed more than %d changes: read the plan again.", editsSince)
	}
	return strings.TrimPrefix(text, "\n"), didChange, nil
}

type personEdits []personEdit

// personEdit is one person's change of one step.
type personEdit struct {
	by     string
	step   plan.StepID
	fields []string // by their names for people
	how    string   // another change: a format string for the step

	byOther bool // by another agent: only the owner of the step is told
}

// with adds a record's changes. A plan that was replaced, cleared or approved starts over.
func (e personEdits) with(r plan.Record, c Caller) personEdits {
	for _, event := range r.Events {
		concerns := r.Actor.Kind == plan.Person
		switch event.(type) {
		case plan.PlanSetUp, plan.PlanRestored, plan.PlanCleared, plan.PlanApproved:
			e = nil
		case plan.StepUpdated, plan.StepMoved: // by another agent, which concerns the owner of the step
			concerns = concerns || r.Actor.Name != c.Actor.Name
		}
		if concerns {
			e = e.after(r.Actor, event)
		}
	}
	return e
}

func (e personEdits) after(actor plan.Actor, event plan.Event) personEdits {
	by, other := actor.Name, actor.Kind != plan.Person
	add := func(id plan.StepID, how string) {
		e = append(e, personEdit{by: by, step: id, how: how, byOther: other})
	}
	switch event := event.(type) {
	case plan.StepUpdated:
		i := slices.IndexFunc(e, func(known personEdit) bool { return known.by == by && known.step == event.Step && known.how == "" })
		if i < 0 {
			i, e = len(e), append(e, personEdit{by: by, step: event.Step, byOther: other})
		}
		for _, f := range event.Patch.Fields() {
			if !slices.Contains(e[i].fields, f.Words) {
				e[i].fields = append(e[i].fields, f.Words)
			}
		}
	case plan.StepsAdded:
		for _, step := range event.Steps {
			add(step.ID, "added %s")
		}
	case plan.StepMoved:
		add(event.Step, "moved %s")
	case plan.StepMarked:
		add(event.Step, "marked %s as "+string(event.Status))
	case plan.StepAnswered:
		if becomes := map[plan.Choice]plan.StepStatus{plan.Skip: plan.Skipped, plan.Deny: plan.Skipped, plan.Retry: plan.Pending,
			plan.Happened: plan.Done}[event.Choice]; becomes != "" {
			add(event.Step, "marked %s as "+string(becomes))
		}
	}
	return e
}

// planEditsTokens is the token limit of people's changes of the plan.
const planEditsTokens = 120

// text describes the changes, those of the caller's own steps first: `petra changed the title of S002 "Use it", which
// you work on; added S005 "Tell them"`.
func (e personEdits) text(p *plan.Plan, c Caller) string {
	var names []string
	changes := map[string][]string{}
	for _, own := range []bool{true, false} {
		for _, edit := range e {
			if step, ok := p.Steps.Get(edit.step); own != (ok && step.ClaimedBy == c.Actor.Name) || edit.byOther && !own {
				continue
			}
			if changes[edit.by] == nil {
				names = append(names, edit.by)
			}
			changes[edit.by] = append(changes[edit.by], edit.text(p, own))
		}
	}
	lines := make([]string, len(names))
	for i, name := range names {
		lines[i] = tokens.Block(name+" "+strings.Join(slices.Compact(changes[name]), "; ")+".", planEditsTokens/len(names))
	}
	return strings.Join(lines, "\n")
}

func (edit personEdit) text(p *plan.Plan, own bool) string {
	name := edit.step.String()
	if step, ok := p.Steps.Get(edit.step); ok {
		name += " " + plan.Quote(plan.Shorten(step.Title, titleShown))
	}
	if own {
		name += ", which you work on"
	}
	if edit.how == "" {
		return "changed the " + plan.Enumerate(edit.fields) + " of " + name
	}
	return fmt.Sprintf(edit.how, name)
}
