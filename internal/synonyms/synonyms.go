// Package synonyms has the names that models use for the fields of planloop's inputs. It must know nothing of the inputs
// but the names of their fields.
package synonyms

import (
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/strict"
)

// Table lists the names for each field. After = is what true means for the field, after > the member that the value is of. The
// other names do not apply in inputs that have one of the fields in the last column. A name in several rows means the
// first field that the input has, that is not given by its own name, and that can take the value.
var Table = sync.OnceValue(func() []strict.Synonym {
	var all []strict.Synonym
	for _, row := range [...]struct{ field, keys, unless string }{
		{"step_id", "id step task task_id number issue_number issue_id issue ref key", ""},
		{"id", "step_id step task task_id number issue_number issue_id issue ref key", "message"},
		{"task", "task_id id number step step_id ref", ""},
		{"step", "step_id id task task_id number ref", ""},
		{"task_id", "step_id step task", ""},
		{"id", "signal signal_id alert alert_id name title", "title status"},
		{"clear", "status state action resolved cleared closed resolve fixed close state_reason", ""},
		{"leave", "exit disable", ""},
		{"title", "name task step content text summary subject", "step_id id"},
		{"title", "description", "step_id id"},
		{"title", "name new_title", ""},
		{"title", "summary subject content", "id note"},
		{"details", "description desc instructions new_details", ""},
		{"details", "body", "note"},
		{"objective", "goal task title name description explanation", "title"},
		{"goal", "objective task title name description", ""},
		{"initial_steps", "steps tasks todos items plan phases milestones checklist", ""},
		{"steps", "tasks todos items initial_steps add_steps add_tasks new_steps plan phases milestones checklist", ""},
		{"steps", "subtasks substeps children", ""},
		{"add_tasks", "tasks steps todos task step add_steps new_tasks phases subtasks add plan checklist", ""},
		{"update_tasks", "tasks steps todos task step updates", ""},
		{"step_ids", "step_id ids id steps step tasks task task_ids", ""},
		{"status", "state new_status filter state_reason state_id transition", ""},
		{"note", "result notes comment observation reason text summary message body append explanation", "question"},
		{"dependencies", "depends_on deps blocked_by prerequisites requires waits_for waiting_on dependency", ""},
		{"findings", "context_notes finding discoveries notes decision decisions rationale", "step_id id"},
		{"findings", "explanation", "summary step_id id objective goal"},
		{"findings", "observation observations learnings assumptions note", "summary step_id id"},
		{"questions", "open_questions question", ""},
		{"reasoning", "rationale why justification", ""},
		{"type", "issuetype issue_type kind category", ""},
		{"verify", "test command check verification verify_command", ""},
		{"constraints", "constraint requirements rules", ""},
		{"context_hints", "hints hint", ""},
		{"relevant_file_paths", "paths file_paths relevant_files", ""},
		{"relevant_file_paths", "files", "affected_files"},
		{"affected_files", "changed_files files_changed modified_files files", ""},
		{"acceptance_criteria", "criteria acceptance success_criteria definition_of_done", ""},
		{"ref", "id key", "step_id"},
		{"ref", "step_id", "after"},
		{"estimated_duration", "duration", ""},
		{"informed_by", "memories informed_by_memories", ""},
		{"requires_approval", "require_approval needs_approval approval_required approval confirm", ""},
		{"for_each", "foreach loop", ""},
		{"when", "if condition", ""},
		{"final_summary", "summary", ""},
		{"message", "text description reason resolution body details comment", "question"},
		{"level", "severity type kind priority", ""},
		{"question", "text message comment prompt body questions", ""},
		{"reason", "task goal objective", "note"},
		{"after", "insert_after parent_id parent", ""},
		{"title=null", "active_form", ""},
		{"step_id=null", "active_form", ""},
		{"add_tasks=null", "merge", ""},
		{"dependencies>add", "add_blocked_by add_dependencies add_depends_on", ""},
		{"full=null", "verbose format detail details", ""},
		{"of=null", "verbose format", ""},
		{"question=null", "header multi_select", ""},
		{`status="skipped"`, "delete remove deleted removed", ""},
		{`status="done"`, "done completed finished", ""},
	} {
		field, value, _ := strings.Cut(row.field, "=")
		field, in, _ := strings.Cut(field, ">")
		for key := range strings.FieldsSeq(row.keys) {
			all = append(all, strict.Synonym{Key: key, Field: field, Unless: strings.Fields(row.unless), True: value, In: in})
		}
	}
	return all
})

// Skip says how a step is left out.
const Skip = `a step that is not needed is skipped with a reason: update_tasks takes {"id":3,"skip":"<why>"}`

// Advice says how to correct a call that has a key or a word for which no field can be given; "" for others.
func Advice(key string) string {
	goal := "the goal of a plan cannot be changed; add a constraint or a finding, or set up another plan"
	fixed := `a signal cannot be acknowledged; work on its cause, then clear it with "clear":true`
	return map[string]string{"remove_tasks": Skip, "delete_tasks": Skip, "remove_steps": Skip, "delete_steps": Skip, "remove": Skip,
		"delete": Skip, "deleted": Skip, "removed": Skip, "goal": goal, "objective": goal, "acknowledge": fixed,
		"acknowledged": fixed, "ack": fixed, "approve": "a person approves a plan; submit it and wait for the decision",
		"plan_id": "this acts on the current plan alone; read it first, and leave out \"plan_id\" if you mean that plan",
		"reopen":  "a done step is reopened by the status in_progress alone"}[key]
}
