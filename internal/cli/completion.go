package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/plan"
)

// completer offers words for the current input. It never fails: a shell cannot show an error.
type completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// complete offers words for the value of a flag.
func complete(cmd *cobra.Command, flag string, offer completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic("planloop: no flag --" + flag + " to complete") // a programming error that every test would hit
	}
}

// words offers all words of a vocabulary.
func words[T interface{ Values() []string }](vocabulary T) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return vocabulary.Values(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// firstArgument offers words for the first argument only.
func firstArgument(offer completer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd, args, typed)
	}
}

// completeMark offers a step, then a status.
func (a *app) completeMark(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return a.completeSteps(cmd, args, typed)
	case 1:
		return words(plan.StepStatus(""))(cmd, args, typed)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// described offers the items of a list in order, each with a description.
func described[T any](list []T, word func(T) (id, text string)) ([]string, cobra.ShellCompDirective) {
	const shown = 60
	var offers []string
	for _, item := range list {
		id, text := word(item)
		offers = append(offers, cobra.CompletionWithDesc(safetext.EscapeLine(id), safetext.EscapeLine(plan.Shorten(text, shown))))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeSteps offers the steps of the current plan, open ones first.
func (a *app) completeSteps(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	state := a.peek(cmd.Context())
	finished := func(step *plan.Step) bool { return step.Status.IsFinished() }
	open := func(step *plan.Step) bool { return !step.Status.IsFinished() }
	steps := append(stepsWhere(state, open), stepsWhere(state, finished)...)
	return described(steps, func(s *plan.Step) (string, string) { return s.ID.String(), s.Title })
}

// completePlans offers all plans, the current one first.
func (a *app) completePlans(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	rows := terminal.PlanRows(a.peek(cmd.Context()))
	return described(rows, func(r terminal.PlanRow) (string, string) { return r.ID, r.Objective })
}

// completeQuestions offers the open questions, oldest first.
func (a *app) completeQuestions(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return described(a.peek(cmd.Context()).OpenQuestions(), func(q plan.Question) (string, string) { return q.ID, q.Text })
}

// completeFormer offers the plans that can be restored, newest first.
func (a *app) completeFormer(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return described(a.peek(cmd.Context()).FormerPlans(), func(p plan.PastPlan) (string, string) { return p.ID, p.Objective })
}

// peek returns the state, or an empty one if it cannot be read. It prints nothing.
func (a *app) peek(ctx context.Context) plan.State {
	a.noWarnings = true
	_, state, err := a.state(ctx)
	if err != nil {
		return plan.State{}
	}
	return state
}
