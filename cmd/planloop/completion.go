package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/plan"
)

// completer offers words for what is being typed. It never fails: a shell has no
// place for an error.
type completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// complete offers words for the value of a flag.
func complete(cmd *cobra.Command, flag string, offer completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic("planloop: no flag --" + flag + " to complete") // a mistake in this program, met by every test
	}
}

// words offers the words of a vocabulary.
func words[T interface{ Values() []string }](vocabulary T) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return vocabulary.Values(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// firstArgument offers words for the first argument alone.
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

const describedTitle = 60

// completeSteps offers the steps of the current plan, open ones first.
func (a *app) completeSteps(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	state := a.peek(cmd.Context())
	var open, finished []string
	if state.Plan != nil {
		for step := range state.Plan.Steps.All() {
			word := cobra.CompletionWithDesc(step.ID.String(), safetext.EscapeLine(plan.Shorten(step.Title, describedTitle)))
			if step.Status.Finished() {
				finished = append(finished, word)
			} else {
				open = append(open, word)
			}
		}
	}
	return slices.Concat(open, finished), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completePlans offers all plans, the current one first.
func (a *app) completePlans(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var offers []string
	for _, row := range terminal.PlanRows(a.peek(cmd.Context())) {
		offers = append(offers, cobra.CompletionWithDesc(safetext.EscapeLine(row.ID),
			safetext.EscapeLine(plan.Shorten(row.Objective, describedTitle))))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeQuestions offers the open questions, oldest first.
func (a *app) completeQuestions(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var offers []string
	for _, q := range a.peek(cmd.Context()).OpenQuestions() {
		offers = append(offers, cobra.CompletionWithDesc(q.ID, safetext.EscapeLine(plan.Shorten(q.Text, describedTitle))))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeFormer offers the plans that can be restored, newest first.
func (a *app) completeFormer(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var offers []string
	for _, head := range a.peek(cmd.Context()).Former() {
		offers = append(offers, cobra.CompletionWithDesc(safetext.EscapeLine(head.ID),
			safetext.EscapeLine(plan.Shorten(head.Objective, describedTitle))))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// peek returns the state, an empty one if it cannot be read, and says nothing.
func (a *app) peek(ctx context.Context) plan.State {
	if ctx == nil {
		ctx = context.Background()
	}
	a.quiet = true
	service, err := a.service(ctx)
	if err != nil {
		return plan.State{}
	}
	state, err := service.State(ctx)
	if err != nil {
		return plan.State{}
	}
	return state
}
