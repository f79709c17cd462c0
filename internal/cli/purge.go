package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

const purgeWord = "purge"

func newPurgeCommand(a *app) *cobra.Command {
	var all bool
	cmd := newCommand("purge", "", noArguments, func(cmd *cobra.Command, _ []string) error { return a.purge(cmd.Context(), all) })
	cmd.Flags().BoolVar(&all, allTracks, false, "delete every track, main too")
	return cmd
}

func (a *app) purge(ctx context.Context, all bool) error {
	if a.flags.json || !a.inIsTerminal || !a.outIsTerminal {
		return plan.Refuse(plan.Conflict, "", "only a person at a terminal may delete the history",
			"run `planloop purge` in a terminal, without --json")
	}
	if err := a.requirePerson("deleting the history"); err != nil {
		return err
	}
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	histories, unread := a.histories(ctx, ws.place, all)
	if len(histories) == 0 && errors.Is(unread, session.ErrDeleted) {
		return errors.Join(ws.place.Mark(false), a.print([]byte("Planning mode is off. The history was deleted before.\n")))
	}
	if unread != nil && (!all || len(histories) == 0) {
		return unread
	}
	if len(histories) == 0 {
		return a.print([]byte("This workspace has no history.\n"))
	}
	if len(histories) > 1 && !all && !a.namesTrack() {
		return usageError{fmt.Errorf("this workspace has several tracks: %s; name one with --track NAME, or delete all with --all",
			describeHistories(histories, "; "))}
	}
	question := fmt.Sprintf("This permanently deletes all planloop data about %s:\n%s of history.\nType %s to confirm.\n> ",
		safetext.EscapeLine(ws.place.Path), describeHistories(histories, " of history,\n"), purgeWord)
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
	for _, h := range histories {
		if err := h.ws.verbs.Purge(ctx, a.caller()); err != nil {
			return err
		}
		if err := engine.RemoveLogs(h.ws.place.StateDir); err != nil {
			return fmt.Errorf("the history is deleted, but not the agents' output: %w", err)
		}
	}
	if err := removeErrors(ws.place.SharedDir()); err != nil {
		return fmt.Errorf("the history is deleted, but not the recorded errors: %w", err)
	}
	if of := histories[0].ws.place; ws.place.HasTracks() && !all {
		return a.print([]byte("All plans of track " + of.TrackName() + " are deleted.\n"))
	}
	if unread != nil {
		return unread
	}
	return a.print([]byte("All plans of this workspace are deleted.\n"))
}

// trackHistory is what purge deletes of a track.
type trackHistory struct {
	ws    *openWorkspace
	state plan.State
}

// histories returns the tracks with a history: that of the opened one if the user named it, else of all. The error is about the
// tracks that cannot be read.
func (a *app) histories(ctx context.Context, opened workspace.Workspace, all bool) (found []trackHistory, err error) {
	places := []workspace.Workspace{opened}
	if !a.flags.ephemeral && (all || !a.namesTrack()) {
		places = tracksOf(opened)
	}
	for _, place := range places {
		ws, state, failed := a.readTrack(ctx, place)
		hasHistory := failed == nil && hasHistory(ws.session.Records(ctx, 0))
		if failed == nil {
			failed = ws.release()
		}
		if err = errors.Join(err, failed); hasHistory {
			found = append(found, trackHistory{ws, state})
		}
	}
	return found, err
}

// hasHistory reports whether a log has more than the record that a purge left. A record that cannot be read counts.
func hasHistory(records iter.Seq2[plan.Record, error]) bool {
	for record, err := range records {
		if err != nil || record.Action != plan.ActionWord(plan.Purge{}) || len(record.Events) > 1 { // a team's purge keeps the plan
			return true
		}
	}
	return false
}

func describeHistories(histories []trackHistory, between string) string {
	const shown = 10
	var texts []string
	for _, h := range histories[:min(len(histories), shown)] {
		text := plan.Pluralize(len(terminal.PlanRows(h.state)), "plan") + ", " + plan.Pluralize(int(h.state.Revision), "change")
		if len(histories) > 1 || h.ws.place.Track != "" {
			text = "track " + h.ws.place.TrackName() + ": " + text
		}
		texts = append(texts, text)
	}
	if more := len(histories) - shown; more > 0 {
		texts = append(texts, plan.Pluralize(more, "further track"))
	}
	return strings.Join(texts, between)
}
