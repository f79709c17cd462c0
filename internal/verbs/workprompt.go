package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// WorkOrder is an attempt of a step that an agent is started for.
type WorkOrder struct {
	Agent   string // its configured name
	Nonce   string // identifies its report
	Attempt int    // from 1
	Former  string // the end of the previous agent's output
}

// Limits of a started agent's prompt, in tokens: of the step, of other steps' outcomes, and of people's input; and the
// most outcomes and later steps.
const (
	workRoom     = 12_000
	outcomesRoom = 4_000
	inputRoom    = 1_000
	pastShown    = 60
	laterShown   = 20
)

// WorkPrompt returns everything an agent needs to do one step in a context of its own. step is as it was before the
// attempt began, because that clears the previous error.
func (s *Service) WorkPrompt(ctx context.Context, state plan.State, step *plan.Step, o WorkOrder) string {
	p := state.Plan
	data := prompts.WorkData{ArbiterData: arbiter(state, step), Agent: o.Agent, Step: step.ID.String(), Task: step.ID.Number(),
		Nonce: o.Nonce, Constraints: p.Metadata.Constraints, Attempt: o.Attempt, Verified: step.Verify != ""}
	if seen := data.Plan; seen != nil {
		at := p.Steps.Position(step.ID) + 1
		seen.Remaining = slices.DeleteFunc(seen.Remaining, func(other prompts.ArbiterStep) bool { return other.Number == at })
		shown := min(len(seen.Remaining), laterShown)
		seen.Left += len(seen.Remaining) - shown
		seen.Remaining = seen.Remaining[:shown]
	}
	if o.Attempt > 1 {
		data.Error, data.Output, data.Changed = step.Error, cmp.Or(step.Output, o.Former), step.AffectedFiles
		if step.Result != nil { // the error of a step to retry is in its result
			data.Error = cmp.Or(data.Error, step.Result.Error)
		} else { // an engine that died recorded nothing
			data.Error = cmp.Or(data.Error, "It was broken off.")
		}
	}
	data.Whole = remainingFields(p, step, data.Error)
	data.Said = peoplesInput(state)
	data.Needed, data.Done = s.outcomesFor(ctx, state, step)
	return prompts.WorkOnStep(data)
}

// remainingFields returns the author's fields of a step except title and criteria, which the arbiter's text has, and its notes
// except the error, which the prompt has, too.
func remainingFields(p *plan.Plan, step *plan.Step, failed string) string {
	own := *step
	own.Execution, own.Result = nil, nil // without its results so far, but with its loop entry
	if x := step.Execution; x != nil {
		own.Execution = &plan.Execution{Loop: x.Loop, Item: x.Item}
	}
	t := task(p, &own)
	t.AcceptanceCriteria, t.Dependencies, t.WaitingOn, t.SuggestedAgent, t.ClaimedBy = nil, nil, nil, "", "" // shown elsewhere
	t.Error, t.Output, t.AffectedFiles = "", "", nil
	t.EarlierNotes = 0
	t.Notes = slices.DeleteFunc(slices.Clone(step.Notes), func(note string) bool { return note == failed })
	t.fit(workRoom, "there was no room")
	text := t.lines()
	if t.Type != "" {
		text = "Type: " + string(t.Type) + text
	}
	return text
}

// peoplesInput returns people's answers and comments since the plan began, the newest last; if there are too many, the newest.
func peoplesInput(state plan.State) []string {
	input := []tokens.Part{{Long: true, Newest: true}}
	add := func(text string) { input[0].Texts = append(input[0].Texts, text) }
	for _, q := range state.Questions {
		if q.Plan == state.Plan.Root() && q.Answer != "" {
			add(q.Text + "\n" + q.AnsweredBy + ": " + q.Answer)
		}
	}
	comments := commentsNow(state)
	for _, c := range state.Comments {
		if !comments.isReplaced(c) && !c.At.Before(state.Plan.CreatedAt) && !c.IsResolved {
			add(PlacedComment{Comment: c, Now: c.Step}.Lines(false)[0])
		}
	}
	shown, _ := tokens.Fit(input, inputRoom)
	return shown[0].Texts
}

// outcomesFor returns the outcomes of a step's dependencies, and of the other steps that ended in this run: whole while
// they fit, then the newest first.
func (s *Service) outcomesFor(ctx context.Context, state plan.State, step *plan.Step) (needed, others []string) {
	p, run := state.Plan, state.OpenRun()
	var past []*plan.Step
	for other := range p.Steps.All() {
		if run != nil && !other.CompletedAt.Before(run.Since) && other.ID != step.ID && !slices.Contains(step.DependsOn, other.ID) {
			past = append(past, other)
		}
	}
	slices.SortStableFunc(past, func(a, b *plan.Step) int { return a.CompletedAt.Compare(b.CompletedAt) })
	left := max(0, len(past)-pastShown)
	parts := []tokens.Part{{Long: true}, {Long: true, Newest: true}}
	for _, id := range step.DependsOn {
		if dependency, ok := p.Steps.Get(id); ok {
			parts[0].Texts = append(parts[0].Texts, s.outcome(ctx, p, dependency))
		}
	}
	for _, other := range past[left:] {
		parts[1].Texts = append(parts[1].Texts, s.outcome(ctx, p, other))
	}
	shown, _ := tokens.Fit(parts, outcomesRoom)
	needed, others = shown[0].Texts, shown[1].Texts
	if missing := len(parts[0].Texts) - len(needed); missing > 0 {
		needed = append(slices.Clip(needed), fmt.Sprintf("(%d more had no room)", missing))
	}
	if left += len(parts[1].Texts) - len(others); left > 0 {
		others = append([]string{fmt.Sprintf("(%d more had no room)", left)}, others...)
	}
	return needed, others
}

func (s *Service) outcome(ctx context.Context, p *plan.Plan, step *plan.Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s", step.ID, statusWord(step), step.Title)
	add := func(label, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("\n  " + label + ": " + safetext.AfterLabel(text))
		}
	}
	add("output", tokens.Block(s.OutputOf(ctx, p, step), outcomesRoom))
	add("error", step.Error)
	add("note", lastOf(step.Notes))
	add("files", strings.Join(step.AffectedFiles, ", "))
	return b.String()
}

// OutputOf returns the recorded value of a step, or else its output.
func (s *Service) OutputOf(ctx context.Context, p *plan.Plan, step *plan.Step) string {
	output := step.Output
	if value, err := p.ValueOf(step.ID, s.KeptValue(ctx)); err == nil && json.Unmarshal(value, &output) != nil {
		output = string(value)
	}
	return output
}
