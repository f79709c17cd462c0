package verbs

import (
	"context"

	"github.com/planloop/planloop/plan"
)

// Replan describes the next version of the plan (rawko: Replanning).
type Replan struct {
	Changes     string   `json:"changes" hint:"the differences"`
	Reasoning   string   `json:"reasoning,omitempty" hint:"the reasons"`
	Discoveries []string `json:"discoveries,omitempty"`
	Constraints []string `json:"constraints,omitempty"`
}

// Alone names the field to set when a plain text is given for a replan.
func (Replan) Alone() string { return "changes" }

// action returns the cleaned action.
func (r Replan) action(faults *plan.Faults, field string) *plan.Replan {
	long := func(name string) plan.Text {
		return plan.Text{Field: field + name, Max: plan.MaxLongText, Multiline: true}
	}
	return &plan.Replan{Changes: required(faults, long("/changes"), r.Changes), Reasoning: cleaned(faults, long("/reasoning"), r.Reasoning),
		Discoveries: cleanedLines(faults, field+"/discoveries", r.Discoveries, plan.MaxLongLine),
		Constraints: cleanedLines(faults, field+"/constraints", r.Constraints, plan.MaxLongLine)}
}

// NextVersion is the input of Replan: a description of the next version, and the changes for it.
type NextVersion struct {
	Replan
	AddTasks    []NewTask    `json:"add_tasks,omitempty"`
	UpdateTasks []TaskUpdate `json:"update_tasks,omitempty" jsonschema:"description=as planloop_update takes them"`
}

// Replan turns the plan into its next version: done steps are kept, failed ones retried unless they are skipped or
// changed. A person's replan waits for running steps to end.
func (s *Service) Replan(ctx context.Context, c Caller, in NextVersion) (UpdateReply, error) {
	var faults plan.Faults
	input := updateInput{replan: in.action(&faults, "")}
	input.read(&faults, in.AddTasks, in.UpdateTasks)
	drained := ""
	if err := faults.Err(); err == nil && c.wrong == nil && c.decides() {
		if drained, err = s.pauseAndWait(ctx, c); err != nil {
			return UpdateReply{}, err
		}
	}
	reply, err := retryIfChanged(func() (UpdateReply, error) { return s.update(ctx, c, input, faults.Err()) })
	reply.Message += drained
	return reply, err
}
