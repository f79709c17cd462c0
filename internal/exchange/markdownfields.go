package exchange

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// stepField returns the field of a step that a label names in a check list, as a
// pointer, or nil.
func stepField(s *sourceStep, label string) any {
	switch label {
	case "type":
		return &s.Type
	case "depends on":
		return &s.DependsOn
	case "risk":
		return &s.Risk
	case "hint":
		return &s.ContextHints
	case "path":
		return &s.RelevantFilePaths
	case "creates":
		return &s.Creates
	case "criterion":
		return &s.AcceptanceCriteria
	case "verify":
		return &s.Verify
	case "agent":
		return &s.SuggestedAgent
	case "may use":
		return &s.Tools
	case "tool":
		return &s.Tool
	case "args":
		return &s.Args
	case "critical":
		return &s.Critical
	case "idempotent":
		return &s.Idempotent
	case "needs approval":
		return &s.RequiresApproval
	case "timeout":
		return &s.Timeout
	case "pause":
		return &s.Pause
	case "when":
		return &s.When
	case "for each":
		return &s.ForEach
	case "status":
		return &s.Status
	case "note":
		return &s.Notes
	case "evidence":
		return &s.Evidence
	case "output":
		return &s.Output
	case "error":
		return &s.Error
	case "affected file":
		return &s.AffectedFiles
	case "executed by":
		return &s.ExecutedBy
	case "attempts":
		return &s.Attempts
	case "started":
		return &s.StartedAt
	case "completed":
		return &s.CompletedAt
	}
	return nil
}

// leftOut reports the labels of an exported check list that are not read.
func leftOut(label string) bool {
	switch label {
	case "waiting on", "earlier notes", "claimed by", "result":
		return true
	}
	return false
}

// labelled splits "label: value" if the label is one we write.
func labelled(text string) (label, value string, ok bool) {
	label, value, ok = strings.Cut(text, ":")
	label = strings.ToLower(strings.Trim(label, "* \t"))
	value = strings.TrimSpace(strings.TrimPrefix(value, "**"))
	return label, value, ok && (leftOut(label) || stepField(new(sourceStep), label) != nil)
}

// set gives the field of a step that label names its value. It reports false when
// the value does not fit; it is kept as details then.
func (r *checkListReader) set(s *sourceStep, label, value string) bool {
	switch label {
	case "result":
		r.once("Results of steps are left out.")
	case "evidence":
		r.once("Evidence was taken over as text.")
	}
	return leftOut(label) || assign(stepField(s, label), value)
}

// assign reads text into a field, if it fits.
func assign(field any, text string) bool {
	var err error
	switch field := field.(type) {
	case *string:
		*field = text
	case *[]string:
		*field = append(*field, text)
	case *[]plan.Evidence:
		*field = append(*field, plan.Evidence{Note: text})
	case *json.RawMessage:
		*field = json.RawMessage(text)
	case *plan.StepType:
		return assignWord(field, text)
	case *plan.Risk:
		return assignWord(field, text)
	case *plan.StepStatus:
		return assignWord(field, text)
	case *bool:
		*field = strings.EqualFold(text, "yes") || strings.EqualFold(text, "true")
		return *field || strings.EqualFold(text, "no") || strings.EqualFold(text, "false")
	case *int:
		var n int
		if n, err = strconv.Atoi(strings.TrimSuffix(text, " s")); err == nil {
			*field = n
		}
	case *time.Time:
		var t time.Time
		if t, err = time.Parse(time.RFC3339, text); err == nil {
			*field = t
		}
	case *[]plan.StepID:
		return assignIDs(field, text)
	default:
		return false
	}
	return err == nil
}

func assignWord[T interface {
	~string
	Values() []string
}](field *T, text string) bool {
	word := T(strings.ToLower(text))
	if word == "" || plan.OneOf("", word) != nil {
		return false
	}
	*field = word
	return true
}

func assignIDs(field *[]plan.StepID, text string) bool {
	var ids []plan.StepID
	for word := range strings.SplitSeq(text, ",") {
		id, err := plan.ParseStepID(word)
		if err != nil {
			return false
		}
		ids = append(ids, id)
	}
	*field = append(*field, ids...)
	return true
}

// about reads an item of the section with the plan's own fields.
func (r *checkListReader) about(text string) {
	label, value, _ := strings.Cut(text, ":")
	if !assign(planField(&r.src.outline, strings.ToLower(label)), unescape(strings.TrimSpace(value))) {
		r.context = append(r.context, unescape(text))
	}
}

// planField returns the field of a plan that a label names, as a pointer, or nil.
func planField(o *plan.Outline, label string) any {
	switch label {
	case "question":
		return &o.Questions
	case "tag":
		return &o.Metadata.Tags
	case "constraint":
		return &o.Metadata.Constraints
	case "informed by":
		return &o.Metadata.InformedBy
	case "complexity":
		return &o.Metadata.Complexity
	case "estimated duration":
		return &o.EstimatedDuration
	}
	return nil
}

// markdownLosses says what of p a check list shows and cannot give back.
func markdownLosses(p *plan.Plan) []string {
	lost := losses(p, []string{
		"summary", "context_notes", "questions", "reasoning", "metadata", "estimated_duration",
		"details", "type", "depends_on", "context_hints", "relevant_file_paths", "creates", "acceptance_criteria", "suggested_agent", "risk",
		"tools", "tool", "args", "critical", "idempotent", "requires_approval", "timeout", "pause", "when", "for_each", "verify",
		"notes", "output", "error", "affected_files", "attempts", "executed_by", "started_at", "completed_at",
	})
	if len(lost) == 0 {
		return nil
	}
	return []string{"A check list cannot give back, when it is imported, all of: " + strings.Join(lost, ", ") + "."}
}
