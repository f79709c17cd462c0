package exchange

import (
	"fmt"
	"slices"

	"github.com/planloop/planloop/plan"
)

// losses names the fields that p uses and that are not among those kept, with
// the number of steps for the fields of steps.
func losses(p *plan.Plan, kept []string) []string {
	var names []string
	for _, f := range planFields(p) {
		if f.used && !slices.Contains(kept, f.name) {
			names = append(names, f.name)
		}
	}
	counts := map[string]int{}
	for step := range p.Steps.All() {
		for _, f := range stepFields(step) {
			if f.used {
				counts[f.name]++
			}
		}
	}
	for name, n := range counts {
		if !slices.Contains(kept, name) {
			names = append(names, fmt.Sprintf("%s (%d %s)", name, n, plural(n, "step", "steps")))
		}
	}
	slices.Sort(names)
	return names
}

// field is a field by its name in JSON, and whether it says anything.
type field struct {
	name string
	used bool
}

func planFields(p *plan.Plan) []field {
	return []field{
		{"summary", p.Summary != ""}, {"context_notes", p.ContextNotes != ""}, {"questions", len(p.Questions) > 0},
		{"reasoning", p.Reasoning != ""}, {"metadata", !p.Metadata.IsZero()}, {"estimated_duration", p.EstimatedDuration != 0},
		{"changes", p.Changes != ""}, {"approval", p.Approval != nil}, {"final_summary", p.FinalSummary != ""},
	}
}

func stepFields(s *plan.Step) []field {
	return []field{
		{"details", s.Details != ""}, {"type", s.Type != ""}, {"depends_on", len(s.DependsOn) > 0}, {"context_hints", len(s.ContextHints) > 0},
		{"relevant_file_paths", len(s.RelevantFilePaths) > 0}, {"creates", len(s.Creates) > 0},
		{"acceptance_criteria", len(s.AcceptanceCriteria) > 0}, {"suggested_agent", s.SuggestedAgent != ""}, {"risk", s.Risk != ""},
		{"tools", len(s.Tools) > 0}, {"tool", s.Tool != ""}, {"args", len(s.Args) > 0}, {"critical", s.Critical},
		{"idempotent", s.Idempotent}, {"requires_approval", s.RequiresApproval}, {"timeout", s.Timeout != 0}, {"pause", s.Pause != ""},
		{"when", s.When != ""}, {"for_each", s.ForEach != ""}, {"verify", s.Verify != ""},
		{"notes", len(s.Notes) > 0}, {"evidence", len(s.Evidence) > 0}, {"result", s.Result != nil}, {"output", s.Output != ""},
		{"error", s.Error != ""}, {"affected_files", len(s.AffectedFiles) > 0}, {"attempts", s.Attempts != 0}, {"claimed_by", s.ClaimedBy != ""},
		{"executed_by", s.ExecutedBy != ""}, {"started_at", !s.StartedAt.IsZero()}, {"completed_at", !s.CompletedAt.IsZero()},
	}
}
