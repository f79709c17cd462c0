package main

import (
	"context"
	"fmt"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

func newPlansCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "plans",
		Short: "List the current plan and the former ones",
		Long: `Lists the current plan, marked with *, a draft that waits, and the former plans,
newest first. Nothing is lost when a plan is replaced or cleared.`,
		Example: `  planloop plans
  planloop show --plan ID
  planloop restore ID
  planloop plans --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listPlans(cmd.Context()) },
	}
}

func (a *app) listPlans(ctx context.Context) error {
	service, err := a.service(ctx)
	if err != nil {
		return err
	}
	state, err := service.State(ctx)
	if err != nil {
		return err
	}
	if a.flags.json {
		data, err := resources.Plans(state)
		if err != nil {
			return err
		}
		if data, err = indented(data); err != nil {
			return err
		}
		return a.print(data)
	}
	rows := planRows(state)
	if len(rows) == 0 {
		return a.print([]byte("There are no plans yet. Set one up: planloop setup OBJECTIVE\n"))
	}
	return a.print(joined(planTable(a.screen(), rows)))
}

// planRow is a plan in the list.
type planRow struct {
	id, status, objective string
	current               bool
	style                 func(screen) style
	done, steps           int
	when                  time.Time
}

func planRows(s plan.State) []planRow {
	var rows []planRow
	if s.Plan != nil && !s.Plan.Cleared() {
		rows = append(rows, rowOf(s.Plan, true))
	}
	if s.Draft != nil {
		rows = append(rows, rowOf(s.Draft, false))
	}
	for _, head := range s.Former() {
		row := planRow{id: head.ID, objective: head.Objective, done: head.Done, steps: head.Steps, when: head.ArchivedAt}
		row.status, row.style = string(head.Status), func(s screen) style { return s.faint }
		if head.Status == plan.StatusActive {
			row.status = pastWord(head.Reason)
		}
		if head.Status == plan.StatusCompleted {
			row.style = func(s screen) style { return s.good }
		}
		rows = append(rows, row)
	}
	return rows
}

func rowOf(p *plan.Plan, current bool) planRow {
	return planRow{
		id: p.ID, objective: p.Objective, current: current, status: string(p.Status),
		style: func(s screen) style { return s.planStyle(p.Status) },
		done:  p.Steps.Count(plan.Done), steps: p.Steps.Len(), when: p.UpdatedAt,
	}
}

// planTable lays the plans out in columns; where the objectives do not fit
// beside the others they stand below.
func planTable(s screen, rows []planRow) []string {
	cells := [][]string{{"ID", "STATUS", "DONE", "CHANGED"}}
	for _, row := range rows {
		cells = append(cells, []string{printableLine(row.id), row.status, fmt.Sprintf("%d/%d", row.done, row.steps),
			row.when.Local().Format("2006-01-02 15:04")})
	}
	widths := columnWidths(cells)
	line := func(mark string, row []string, id, status style) string {
		return mark + " " + id(pad(row[0], widths[0])) + "  " + status(pad(row[1], widths[1])) + "  " +
			s.faint(pad(row[2], widths[2])+"  "+pad(row[3], widths[3]))
	}
	head := line(" ", cells[0], s.faint, s.faint)
	taken := ansi.StringWidth(head) + 2
	const readable = 24
	beside := s.width == 0 || s.width-taken >= readable
	if beside {
		head += s.faint("  OBJECTIVE")
	}
	lines := []string{s.fit(head, 0)}
	for i, row := range rows {
		mark, id := " ", s.plain
		if row.current {
			mark, id = "*", s.bold
		}
		left, objective := line(mark, cells[i+1], id, row.style(s)), printableLine(row.objective)
		if beside {
			lines = append(lines, left+"  "+s.fit(objective, taken))
		} else {
			lines = append(lines, s.fit(left, 0), "    "+s.faint(s.fit(objective, 4)))
		}
	}
	return lines
}

func columnWidths(cells [][]string) []int {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	return widths
}
