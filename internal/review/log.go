package review

import (
	"context"
	"slices"
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/plan"
)

// LogLine is a change as a sentence.
type LogLine struct {
	Revision plan.Revision  `json:"revision"`
	At       time.Time      `json:"at"`
	Who      string         `json:"who"`
	Kind     plan.ActorKind `json:"kind"`
	Text     string         `json:"text"`
}

// Log is a part of the log, newest first.
type Log struct {
	Lines []LogLine `json:"lines"`
	More  bool      `json:"more,omitempty"` // there are older ones
}

// ReadLog returns the last n changes before a revision; 0 means the newest. With the id of a former plan it returns
// changes from its creation until it was replaced.
func ReadLog(ctx context.Context, workspace *Workspace, of string, before plan.Revision, n int) (Log, error) {
	page, who := Log{Lines: []LogLine{}}, []string(nil)
	state, err := workspace.Service.State(ctx)
	if err != nil {
		return page, err
	}
	last, first := state.Revision, time.Time{}
	if head, is := state.PastPlan(of); is {
		last, first = head.Revision+1, head.CreatedAt
	}
	if before <= 0 || before > last+1 {
		before = last + 1
	}
	after := max(0, before-1-plan.Revision(max(1, n)))
	for record, err := range workspace.Service.Records(ctx, after) {
		if err != nil {
			return page, err
		}
		if record.Seq >= before {
			break
		}
		if record.Time.Before(first) {
			after = 0 // older records belong to other plans
			continue
		}
		by := &record.Actor
		if by.Kind == plan.Planloop { // instead of the engine's name
			by.Name = string(plan.Planloop)
		}
		who = append(who, by.Name)
		page.Lines = append(page.Lines, LogLine{record.Seq, record.Time, by.Name, by.Kind, history.Sentence(record)})
	}
	slices.Reverse(page.Lines)
	page.More = after > 0
	workspace.show(&page, who...)
	return page, nil
}
