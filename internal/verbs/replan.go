package verbs

import (
	"context"
	"fmt"

	"github.com/planloop/planloop/plan"
)

// Replan describes the next version of the plan (rawko: Replanning).
type Replan struct {
	Changes     string   `json:"changes" hint:"what is different"`
	Reasoning   string   `json:"reasoning,omitempty" hint:"why that works"`
	Discoveries []string `json:"discoveries,omitempty"`
	Constraints []string `json:"constraints,omitempty"`
}

// Alone names the field to set when a plain text is given for a replan.
func (Replan) Alone() string { return "changes" }

// action returns the cleaned action.
func (r Replan) action(faults *plan.Faults, field string) *plan.Replan {
	a := plan.Replan{Changes: required(faults, plan.Text{Field: field + "/changes", Max: plan.MaxLongText, Multiline: true}, r.Changes)}
	var err error
	a.Reasoning, err = plan.Text{Field: field + "/reasoning", Max: plan.MaxLongText, Multiline: true}.Clean(r.Reasoning)
	faults.Add(err)
	a.Discoveries, err = plan.CleanLines(field+"/discoveries", r.Discoveries, plan.MaxLongLine)
	faults.Add(err)
	a.Constraints, err = plan.CleanLines(field+"/constraints", r.Constraints, plan.MaxLongLine)
	faults.Add(err)
	return &a
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
	reply, err := s.updateOrAgain(ctx, c, input, faults.Err())
	reply.Message += drained
	return reply, err
}

func versionMessage(p *plan.Plan) string {
	return fmt.Sprintf("The plan is version %d now, %s.", p.Version, p.ID)
}
