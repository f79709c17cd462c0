package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/plan"
)

// purgeWord is what a person types to agree.
const purgeWord = "purge"

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 10

func newPurgeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "purge",
		Short: "Delete all plans of this workspace for good",
		Long: `Deletes the whole history of this workspace: the current plan, all former ones
and the log. It cannot be undone, so it asks a person at a terminal; there is no
flag to skip the question.`,
		Example: `  planloop export -o backup.json      # keep the current plan
  planloop purge`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.purge(cmd.Context()) },
	}
}

func (a *app) purge(ctx context.Context) error {
	if a.flags.json || !a.inTerminal || !a.outIsTerm {
		return &plan.ValidationError{Kind: plan.Conflict, Problem: "only a person at a terminal may delete the history",
			Fix: "run `planloop purge` in a terminal, without --json"}
	}
	if err := a.personPresent("deleting the history"); err != nil {
		return err
	}
	opened, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	state, err := opened.verbs.State(ctx)
	if err != nil {
		return err
	}
	if state.Revision == 0 {
		return a.print([]byte("There is nothing to delete.\n"))
	}
	question := fmt.Sprintf("This deletes for good what planloop knows of %s:\n%s, %s of history.\nType %s to agree: ",
		safetext.EscapeLine(opened.place.Path), plan.Counted(len(terminal.PlanRows(state)), "plan"),
		plan.Counted(int(state.Revision), "change"), purgeWord)
	if err := a.print([]byte(question)); err != nil {
		return err
	}
	answer, err := readLine(ctx, a.in)
	if err != nil {
		return err
	}
	if strings.TrimSpace(answer) != purgeWord {
		return &plan.ValidationError{Kind: plan.Conflict, Problem: "nothing was deleted", Fix: "type the word " + purgeWord + " to agree"}
	}
	if err := opened.verbs.Purge(ctx, a.caller()); err != nil {
		return err
	}
	return a.print([]byte("All plans of this workspace are deleted.\n"))
}

// readLine reads a line, unless ctx ends first: then the reading goroutine is
// left behind until the process ends, since a terminal cannot be interrupted.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(in, maxAnswer)).ReadString('\n')
		answers <- answer{text, err}
	}()
	select {
	case got := <-answers:
		if got.err != nil && !errors.Is(got.err, io.EOF) {
			return "", fmt.Errorf("read the answer: %w", got.err)
		}
		return got.text, nil
	case <-ctx.Done():
		return "", nil
	}
}
