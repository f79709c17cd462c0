package exchange

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// The kinds of section a check list is divided into.
type sectionSort int

const (
	otherSection sectionSort = iota
	stepSection
	textSection
)

const aboutSection = "about"

// sectionKind tells our own and the usual sections from others.
func sectionKind(name string) sectionSort {
	switch name {
	case "", "steps", "tasks", "todo", "to do", "checklist", "check list", "plan":
		return stepSection
	case "summary", "context notes", "context", "reasoning", "changes", "final summary", aboutSection:
		return textSection
	}
	return otherSection
}

// labelled splits "label: value" if the label is one we write.
func labelled(text string) (label, value string, ok bool) {
	label, value, ok = strings.Cut(text, ":")
	label = strings.ToLower(strings.Trim(label, "* \t"))
	value = strings.TrimSpace(strings.TrimPrefix(value, "**"))
	return label, value, ok && known(label)
}

// known reports the labels that an exported check list has.
func known(label string) bool {
	switch label {
	case "type", "depends on", "risk", "hint", "path", "creates", "criterion", "verify", "agent", "may use", "tool", "args",
		"critical", "idempotent", "needs approval", "timeout", "pause", "when", "for each",
		"status", "waiting on", "earlier notes", "note", "evidence", "output", "error", "result", "affected file", "claimed by",
		"executed by", "attempts", "started", "completed":
		return true
	}
	return false
}

// set gives the field of a step that label names its value. It reports false when
// the value does not fit; it is kept as details then.
func (r *markdownReader) set(s *sourceStep, label, value string) bool {
	switch label {
	case "waiting on", "earlier notes", "claimed by", "result":
		if label == "result" {
			r.once("Results of steps are left out.")
		}
		return true
	case "evidence":
		r.once("Evidence was taken over as text.")
		s.Evidence = append(s.Evidence, plan.Evidence{Note: value})
		return true
	}
	return setText(s, label, value) || setList(s, label, value) || setScalar(s, label, value)
}

func setText(s *sourceStep, label, value string) bool {
	fields := map[string]*string{
		"verify": &s.Verify, "agent": &s.SuggestedAgent, "tool": &s.Tool, "pause": &s.Pause, "when": &s.When, "for each": &s.ForEach,
		"output": &s.Output, "error": &s.Error, "executed by": &s.ExecutedBy,
	}
	field, ok := fields[label]
	if ok {
		*field = value
	}
	return ok
}

func setList(s *sourceStep, label, value string) bool {
	fields := map[string]*[]string{
		"hint": &s.ContextHints, "path": &s.RelevantFilePaths, "creates": &s.Creates, "criterion": &s.AcceptanceCriteria,
		"may use": &s.Tools, "note": &s.Notes, "affected file": &s.AffectedFiles,
	}
	field, ok := fields[label]
	if ok {
		*field = append(*field, value)
	}
	return ok
}

func setScalar(s *sourceStep, label, value string) bool {
	switch label {
	case "type":
		return setWord(&s.Type, value)
	case "risk":
		return setWord(&s.Risk, value)
	case "status":
		return setWord(&s.Status, value)
	case "critical":
		return setFlag(&s.Critical, value)
	case "idempotent":
		return setFlag(&s.Idempotent, value)
	case "needs approval":
		return setFlag(&s.RequiresApproval, value)
	case "timeout":
		return setNumber(&s.Timeout, strings.TrimSuffix(value, " s"))
	case "attempts":
		return setNumber(&s.Attempts, value)
	case "started":
		return setTime(&s.StartedAt, value)
	case "completed":
		return setTime(&s.CompletedAt, value)
	case "depends on":
		return setIDs(&s.DependsOn, value)
	case "args":
		s.Args = json.RawMessage(value)
		return true
	}
	return false
}

func setWord[T interface {
	~string
	Values() []string
}](field *T, value string) bool {
	word := T(strings.ToLower(value))
	if word == "" || plan.OneOf("", word) != nil {
		return false
	}
	*field = word
	return true
}

func setFlag(field *bool, value string) bool {
	*field = strings.EqualFold(value, "yes") || strings.EqualFold(value, "true")
	return *field || strings.EqualFold(value, "no") || strings.EqualFold(value, "false")
}

func setNumber(field *int, value string) bool {
	n, err := strconv.Atoi(value)
	if err == nil {
		*field = n
	}
	return err == nil
}

func setTime(field *time.Time, value string) bool {
	t, err := time.Parse(time.RFC3339, value)
	if err == nil {
		*field = t
	}
	return err == nil
}

func setIDs(field *[]plan.StepID, value string) bool {
	var ids []plan.StepID
	for word := range strings.SplitSeq(value, ",") {
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
func (r *markdownReader) about(text string) {
	label, value, _ := strings.Cut(text, ":")
	label, value = strings.ToLower(label), unescape(strings.TrimSpace(value))
	o := &r.src.outline
	fits := true
	switch label {
	case "question":
		o.Questions = append(o.Questions, value)
	case "tag":
		o.Metadata.Tags = append(o.Metadata.Tags, value)
	case "constraint":
		o.Metadata.Constraints = append(o.Metadata.Constraints, value)
	case "informed by":
		o.Metadata.InformedBy = append(o.Metadata.InformedBy, value)
	case "complexity":
		fits = setNumber(&o.Metadata.Complexity, value)
	case "estimated duration":
		fits = setNumber(&o.EstimatedDuration, strings.TrimSuffix(value, " s"))
	default:
		fits = false
	}
	if !fits {
		o.ContextNotes = joinTexts(o.ContextNotes, unescape(text))
	}
}

func lineName(n int) string { return fmt.Sprintf("line %d", n) }

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
