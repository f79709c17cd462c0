package verbs

import (
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/strict"
)

// synonyms lists the names that models use for our fields: for each field its other names, except in inputs that have
// one of the fields in the last column, where the name means something else. A name in several rows means the first
// field that the input has, that is not given by its own name, and that can take the value.
var synonyms = sync.OnceValue(func() []strict.Synonym {
	var all []strict.Synonym
	for _, row := range [...]struct{ field, keys, unless string }{
		{"step_id", "id step task task_id number stepId", ""},
		{"id", "step_id step task task_id number stepId taskId", "message"},
		{"task", "task_id id number step step_id taskId", ""},
		{"task_id", "step_id step task", ""},
		{"id", "signal signal_id", "title"},
		{"title", "name task step content text", "step_id id"},
		{"title", "description", "step_id id"},
		{"title", "name new_title", ""},
		{"details", "description desc body instructions new_details", ""},
		{"objective", "goal task title name description", "title"},
		{"goal", "objective task title name description", ""},
		{"initial_steps", "steps tasks todos items", ""},
		{"steps", "tasks todos items initial_steps add_steps add_tasks new_steps", ""},
		{"add_tasks", "tasks steps todos task step add_steps new_tasks", ""},
		{"update_tasks", "tasks steps todos task step updates", ""},
		{"step_ids", "step_id ids id steps step tasks task task_ids", ""},
		{"status", "state new_status filter newStatus", ""},
		{"note", "result notes comment observation reason text", "question"},
		{"dependencies", "depends_on dependsOn deps blocked_by", ""},
		{"context_hints", "hints hint contextHints", ""},
		{"relevant_file_paths", "paths file_paths relevant_files relevantFilePaths", ""},
		{"relevant_file_paths", "files", "affected_files"},
		{"affected_files", "changed_files files_changed modified_files files", ""},
		{"acceptance_criteria", "criteria acceptanceCriteria", ""},
		{"ref", "id step_id", "after"},
		{"estimated_duration", "estimatedDuration duration", ""},
		{"informed_by", "memories informedBy informed_by_memories", ""},
		{"requires_approval", "requiresApproval require_approval needs_approval needsApproval approval_required approval confirm", ""},
		{"for_each", "forEach foreach loop", ""},
		{"when", "if condition", ""},
		{"final_summary", "summary", ""},
		{"message", "text description", ""},
		{"level", "severity", ""},
		{"question", "text message", ""},
		{"reason", "task goal objective", "note"},
	} {
		for key := range strings.FieldsSeq(row.keys) {
			all = append(all, strict.Synonym{Key: key, Field: row.field, Unless: strings.Fields(row.unless)})
		}
	}
	return all
})
