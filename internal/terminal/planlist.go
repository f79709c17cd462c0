package terminal

import (
	"cmp"
	"fmt"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// PlanRow is a row in the list of plans.
type PlanRow struct {
	ID, Objective string
	status        string
	current       bool
	past          bool
	done, steps   int
	when          time.Time
}

// PlanRows returns the plans of a state: the current one, a waiting draft, and the former ones, newest first.
func PlanRows(s plan.State) []PlanRow {
	var rows []PlanRow
	if s.Plan != nil && !s.Plan.IsCleared() {
		rows = append(rows, rowOf(s.Plan, true))
	}
	if s.Draft != nil {
		row := rowOf(s.Draft, false)
		row.status = cmp.Or(map[plan.Phase]string{plan.PhaseGathering: string(plan.Returned),
			plan.PhaseSubmitted: string(plan.PhaseSubmitted)}[s.PhaseNow()], string(plan.StatusDraft))
		rows = append(rows, row)
	}
	for _, head := range s.FormerPlans() {
		rows = append(rows, PlanRow{ID: head.ID, Objective: head.Objective, status: safetext.EscapeLine(verbs.PastStatus(s, head)),
			past: true, done: head.Done, steps: head.Steps, when: head.ArchivedAt})
	}
	return rows
}

func rowOf(p *plan.Plan, current bool) PlanRow {
	return PlanRow{ID: p.ID, Objective: p.Objective, current: current, status: string(p.Status), done: p.Steps.Count(plan.Done),
		steps: p.Steps.Len(), when: p.UpdatedAt}
}

// PlanTable lays out plans in columns; objectives that do not fit beside the other columns go below them.
func (s Screen) PlanTable(rows []PlanRow) []string {
	cells := [][]string{{"ID", "STATUS", "DONE", "CHANGED"}}
	for _, row := range rows {
		cells = append(cells, []string{safetext.EscapeLine(row.ID), row.status, fmt.Sprintf("%d/%d", row.done, row.steps),
			row.when.Local().Format(dateAndTime)})
	}
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	line := func(mark string, row []string, id, status Style) string {
		return mark + " " + id(Pad(row[0], widths[0])) + "  " + status(Pad(row[1], widths[1])) + "  " +
			s.Faint(Pad(row[2], widths[2])+"  "+Pad(row[3], widths[3]))
	}
	head := line(" ", cells[0], s.Faint, s.Faint)
	taken := ansi.StringWidth(head) + 2
	const readable = 24
	beside := s.width == 0 || s.width-taken >= readable
	if beside {
		head += s.Faint("  OBJECTIVE")
	}
	lines := []string{s.Fit(head, 0)}
	for i, row := range rows {
		mark, id := " ", s.Plain
		if row.current {
			mark, id = "*", s.Bold
		}
		look := s.planStyle(plan.PlanStatus(row.status))
		if row.past && row.status != string(plan.StatusCompleted) {
			look = s.Faint
		}
		left, objective := line(mark, cells[i+1], id, look), safetext.EscapeLine(row.Objective)
		if beside {
			lines = append(lines, left+"  "+s.Fit(objective, taken))
		} else {
			lines = append(lines, s.Fit(left, 0), "    "+s.Faint(s.Fit(objective, 4)))
		}
	}
	return lines
}
