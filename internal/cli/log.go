package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

type logOptions struct {
	last                  int
	limited               bool // last was given
	since                 int64
	audit, events, follow bool
}

const defaultLastChanges = 20

func newLogCommand(a *app) *cobra.Command {
	var o logOptions
	cmd := newCommand("log", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		o.limited = cmd.Flags().Changed("last")
		if err := o.check(); err != nil {
			return err
		}
		if o.events {
			return a.printEvents(cmd.Context(), plan.Revision(o.since), o.follow)
		}
		return a.showLog(cmd.Context(), o)
	})
	cmd.Flags().IntVarP(&o.last, "last", "n", defaultLastChanges, "show the last `N` changes, 0 for all")
	cmd.Flags().Int64Var(&o.since, "since", 0, "show all changes after revision `REV`")
	cmd.Flags().BoolVar(&o.audit, "audit", false, "show only decisions and their authors")
	cmd.Flags().BoolVar(&o.events, "events", false, "print events as JSON lines, oldest first")
	cmd.Flags().BoolVar(&o.follow, "follow", false, "with --events: keep printing new events")
	return cmd
}

func (o logOptions) check() error {
	switch {
	case o.last < 0 || o.since < 0:
		return usageError{errors.New("--last and --since must be 0 or more")}
	case o.events && (o.audit || o.limited):
		return usageError{errors.New("--events prints all events; leave out --audit and --last, or start from --since REV")}
	case o.follow && !o.events:
		return usageError{errors.New("--follow works only with --events; to watch the plan: planloop show --watch")}
	}
	return nil
}

func (a *app) showLog(ctx context.Context, o logOptions) error {
	ws, state, err := a.state(ctx)
	if err != nil {
		return err
	}
	if o.audit {
		entries, err := history.Audit(ws.verbs.Records(ctx, 0))
		if err != nil {
			return err
		}
		return a.printAudit(state.Revision, o.within(entries))
	}
	var records []plan.Record
	for record, err := range ws.verbs.Records(ctx, o.after(state.Revision)) {
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	if a.flags.json {
		return a.printRecords(state.Revision, records)
	}
	if len(records) == 0 {
		text := "There are no changes yet.\n"
		if state.Revision > 0 {
			text = fmt.Sprintf("There are no changes after revision %d.\n", o.since)
		}
		return a.print([]byte(text))
	}
	s := a.screen()
	var lines []string
	if n := int(records[0].Seq) - 1; n > 0 && o.since == 0 {
		lines = append(lines, s.Faint(s.Fit(plan.Pluralize(n, "earlier change")+": planloop log -n 0", 0)))
	}
	for _, record := range records {
		text := a.forPeople(history.SentenceIn(state, record), record.Actor.Name)
		lines = append(lines, s.Dated(record.Seq, record.Time, text, len(fmt.Sprint(state.Revision)))...)
	}
	return a.printLines(lines)
}

func (o logOptions) after(head plan.Revision) plan.Revision {
	after := plan.Revision(o.since)
	if o.last > 0 && (o.limited || o.since == 0) {
		after = max(after, head-plan.Revision(o.last))
	}
	return after
}

// printRecords prints records in the shape of plan://log.
func (a *app) printRecords(head plan.Revision, records []plan.Record) error {
	lines := make([]json.RawMessage, len(records))
	for i, record := range records {
		line, err := store.EncodeRecord(record)
		if err != nil {
			return err
		}
		lines[i] = line
	}
	return a.printJSON(struct {
		Revision plan.Revision     `json:"revision"`
		Records  []json.RawMessage `json:"records"`
	}{head, lines})
}

// within returns the entries that the options select: the last ones, or those after a revision. Without options it returns all.
func (o logOptions) within(entries []history.Decision) []history.Decision {
	entries = slices.DeleteFunc(entries, func(e history.Decision) bool { return int64(e.Revision) <= o.since })
	if o.limited && o.last > 0 {
		entries = entries[max(0, len(entries)-o.last):]
	}
	return entries
}

func (a *app) printAudit(head plan.Revision, entries []history.Decision) error {
	if a.flags.json {
		return a.printJSON(struct {
			Revision plan.Revision      `json:"revision"`
			Audit    []history.Decision `json:"audit"`
		}{head, entries})
	}
	if len(entries) == 0 {
		return a.print([]byte("There are no decisions yet.\n"))
	}
	s := a.screen()
	var lines []string
	for _, entry := range entries {
		lines = append(lines, s.Dated(entry.Revision, entry.Time, a.forPeople(entry.Sentence(), entry.By), len(fmt.Sprint(head)))...)
	}
	return a.printLines(lines)
}

// printEvents prints one JSON object per line. An interrupt while following is not an error.
func (a *app) printEvents(ctx context.Context, since plan.Revision, follow bool) error {
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	for event, err := range ws.verbs.Events(ctx, since, follow) {
		if err == nil {
			var line []byte
			if line, err = resources.Event(event); err == nil {
				err = a.print(append(safetext.EscapeJSON(line), '\n'))
			}
		}
		if follow && ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
