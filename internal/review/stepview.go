package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// step returns the view of a step; approval, which may be nil, tells whether its approver has seen it.
func (workspace *Workspace) step(state plan.State, p *plan.Plan, step *plan.Step, approval *plan.Approval) Step {
	shown := Step{ID: step.ID, Number: int(step.ID), Title: step.Title, Details: step.Details, Type: step.Type, Risk: step.Risk,
		DependsOn: numbers(step.DependsOn), Hints: step.ContextHints, Paths: step.RelevantFilePaths, Creates: step.Creates,
		Verify: step.Verify, Verified: step.Verify != "" && plan.IsVerified(step), SuggestedAgent: step.SuggestedAgent, Tools: step.Tools,
		Tool: step.Tool, Args: verbs.Pretty(step.Args),
		ToolSays: workspace.Service.ToolDescription(state, p, step), Critical: step.Critical,
		Idempotent: step.Idempotent, RequiresApproval: step.RequiresApproval, Timeout: step.Timeout, Pause: step.Pause,
		Always: step.Always, When: step.When, ForEach: step.ForEach, Unseen: approval.UnseenNote(step.ID),
		Status: step.Status, Notes: step.Notes, Output: step.Output, Error: step.Error, AffectedFiles: step.AffectedFiles,
		Attempts: step.Attempts, ClaimedBy: verbs.Carrier(step), ExecutedBy: step.ExecutedBy,
		StartedAt: step.StartedAt, CompletedAt: step.CompletedAt, Agent: step.ActiveAgent(), Of: int(step.Loop()),
		Stale: step.IsStale(), Other: slices.Concat(limits(step), verbs.RunResults(step))}
	if shown.Edited = p.Edits.StepNote(step.ID); shown.Edited == "" && p.Approval != nil {
		shown.Edited = p.Approval.Edits.StepNote(step.ID)
	}
	if step.Status == plan.InProgress {
		shown.Lapsed = workspace.Service.Lapsed(step)
	}
	shown.Criteria, shown.Evidence = proof(step)
	if p == state.Draft {
		shown.Warnings = state.ModeNow().DraftFindings().WarningsOn(step.ID)
	}
	if p != state.Plan {
		return shown
	}
	shown.Ask = workspace.ask(step)
	if step.Status == plan.Pending {
		shown.WaitingOn = numbers(p.Steps.UnmetDependencies(step.ID))
		shown.Ready = shown.WaitingOn == nil
	}
	return shown
}

// limits returns the fields that say where, how often and how alone a step runs.
func limits(step *plan.Step) (shown []verbs.LabelledText) {
	for _, f := range plan.SpecFields() {
		if slices.Contains([]string{"retry", "cwd", "lock", "output_file"}, f.Name) {
			for _, text := range f.Texts(step) {
				if f.Name == "retry" {
					text = retryText(step)
				}
				shown = append(shown, verbs.LabelledText{Label: f.Label, Text: text})
			}
		}
	}
	return shown
}

// retryText describes a step's retry field in words.
func retryText(step *plan.Step) string {
	policy, err := plan.ParseRetry(step.Retry)
	if err != nil {
		return string(step.Retry)
	}
	var on []string
	for _, code := range policy.On {
		on = append(on, fmt.Sprintf("exit code %d", code))
	}
	if policy.Timeout && !policy.Any {
		on = append(on, "a timeout")
	}
	if policy.Any {
		on = []string{"any failure"}
	}
	return fmt.Sprintf("up to %d attempts, at first %s apart, after %s", policy.Attempts, policy.Wait, strings.Join(on, " or "))
}

func proof(step *plan.Step) (criteria []Criterion, other []Evidence) {
	for _, text := range step.AcceptanceCriteria {
		criteria = append(criteria, Criterion{Text: text})
	}
	for _, e := range step.Evidence {
		shown := Evidence{e.Note, e.Command, e.ExitCode, e.Output, e.Recorded, e.Stale, e.By, e.At}
		i := slices.Index(step.AcceptanceCriteria, e.Criterion)
		if i < 0 || e.Criterion == "" {
			shown.Note = strings.TrimPrefix(e.Criterion+": "+shown.Note, ": ")
			other = append(other, shown)
			continue
		}
		criteria[i].Evidence = append(criteria[i].Evidence, shown)
	}
	return criteria, other
}

// ask returns a step's question to a person, or one that it will ask when a run comes to it; nil without a question.
func (workspace *Workspace) ask(step *plan.Step) *Ask {
	switch ask := step.OpenQuestion(); {
	case ask != nil:
		args := ask.Args
		if len(args) == 0 {
			args = step.Args
		}
		return &Ask{Kind: AskKind(ask.Kind), Text: ask.Text, Digest: ask.Digest, Short: history.ShortDigest(ask.Digest),
			Args: verbs.Pretty(args), Attempt: ask.Attempt, Choices: ask.Kind.Choices(), At: ask.At}
	case step.NeedsUnblocking():
		return &Ask{Kind: AskBlocked, Text: verbs.BlockedText(step), Choices: []plan.Choice{plan.Reply, plan.Skip}}
	case step.NeedsReply():
		return &Ask{Kind: AskKind(plan.AskPause), Text: step.Pause, Choices: plan.AskPause.Choices(), Early: true}
	case step.NeedsApproval():
		digest := workspace.Service.StartDigest(step)
		return &Ask{Kind: AskKind(plan.AskApproval), Digest: digest, Short: history.ShortDigest(digest), Args: verbs.Pretty(step.Args),
			Attempt: cmp.Or(step.Attempts, 1), Choices: plan.AskApproval.Choices(), Early: true}
	}
	return nil
}

func numbers(ids []plan.StepID) []int {
	var all []int
	for _, id := range ids {
		all = append(all, int(id))
	}
	return all
}
