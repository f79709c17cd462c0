package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/plan"
)

const purgeWord = "purge"

func (a *app) purge(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	if a.flags.json || !a.inIsTerminal || !a.outIsTerminal {
		return plan.Refuse(plan.Conflict, "", "only a person at a terminal may delete the history",
			"run `planloop purge` in a terminal, without --json")
	}
	if err := a.requirePerson("deleting the history"); err != nil {
		return err
	}
	ws, state, err := a.state(ctx)
	if errors.Is(err, session.ErrDeleted) {
		return errors.Join(ws.place.Mark(false), a.print([]byte("Planning mode is off. The history was deleted before.\n")))
	}
	if err != nil {
		return err
	}
	if state.Revision == 0 {
		return a.print([]byte("This workspace has no history.\n"))
	}
	question := fmt.Sprintf("This permanently deletes all planloop data about %s:\n%s, %s of history.\nType %s to confirm: ",
		safetext.EscapeLine(ws.place.Path), plan.Pluralize(len(terminal.PlanRows(state)), "plan"),
		plan.Pluralize(int(state.Revision), "change"), purgeWord)
	if err := a.print([]byte(question)); err != nil {
		return err
	}
	answer, err := readLine(ctx, a.in)
	if err != nil {
		return err
	}
	if strings.TrimSpace(answer) != purgeWord {
		return plan.Refuse(plan.Conflict, "", "nothing was deleted", "type the word "+purgeWord+" to confirm")
	}
	if err := ws.verbs.Purge(ctx, a.caller()); err != nil {
		return err
	}
	if err := engine.RemoveLogs(ws.place.StateDir); err != nil {
		return fmt.Errorf("the history is deleted, but not the agents' output: %w", err)
	}
	if err := removeErrors(ws.place.SharedDir()); err != nil {
		return fmt.Errorf("the history is deleted, but not the recorded errors: %w", err)
	}
	return a.print([]byte("All plans of this workspace are deleted.\n"))
}
