package exchange

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/yamltext"
	"github.com/planloop/planloop/plan"
)

// beadsIssue is an issue of beads, which keeps one in each line of .beads/issues.jsonl.
type beadsIssue struct {
	ID                 string            `json:"id"`
	Title              string            `json:"title"`
	Description        string            `json:"description"`
	Design             string            `json:"design,omitempty"`
	AcceptanceCriteria string            `json:"acceptance_criteria,omitempty"`
	Notes              string            `json:"notes,omitempty"`
	Status             string            `json:"status"`
	Priority           string            `json:"priority"`
	IssueType          string            `json:"issue_type"`
	Assignee           string            `json:"assignee,omitempty"`
	CreatedAt          string            `json:"created_at"`
	UpdatedAt          string            `json:"updated_at"`
	ClosedAt           string            `json:"closed_at,omitempty"`
	CloseReason        string            `json:"close_reason,omitempty"`
	Labels             []string          `json:"labels,omitempty"`
	Dependencies       []beadsDependency `json:"dependencies,omitempty"`
	Rest               jsontext.Value    `json:",embed"`
}

type beadsDependency struct {
	IssueID     string         `json:"issue_id"`
	DependsOnID string         `json:"depends_on_id"`
	Type        string         `json:"type"`
	CreatedAt   string         `json:"created_at"`
	CreatedBy   string         `json:"created_by"`
	Rest        jsontext.Value `json:",embed"`
}

// The kinds of dependency that say something about the order.
const (
	beadsBlocks = "blocks"
	beadsParent = "parent-child"
)

const beadsUsual = "2" // the middle priority of 0 to 4

func beadsRow() row {
	return row{format: Beads, about: "the issues of beads, one in a line (JSONL)", text: "Issues from beads",
		files: []string{".beads/*.jsonl"}, ending: []string{".jsonl"},
		is: func(s shape) bool {
			return s.members["issue_type"] != nil || s.members["id"] != nil && s.members["priority"].Kind() == jsontext.KindNumber
		},
		read: parseBeads, write: beadsJSONL,
		words: vocabulary{
			words: map[plan.StepStatus]string{plan.Pending: "open", plan.InProgress: "in_progress", plan.Blocked: "blocked",
				plan.Done: "closed", plan.Skipped: "closed", plan.Cancelled: "closed"},
			also: map[string]plan.StepStatus{"deferred": plan.Blocked, "hooked": plan.InProgress, "pinned": plan.Pending},
		},
		steps: []string{"details", "depends_on", "acceptance_criteria", "suggested_agent"},
		keeps: func(f plan.Field[plan.Step], s *plan.Step) bool { // why and when it was closed, of closed ones
			return (f.Name == "output" || f.Name == "completed_at") && s.Status.Finished() || f.Name == "type" && s.Type != plan.Test
		}}
}

// parseBeads reads one issue from each line. Those that were deleted leave a tombstone, which is no task.
func parseBeads(in input) (*source, error) {
	l, deleted, comments := in.list(""), 0, 0
	loose := map[string]bool{}
	number := 0
	for line := range bytes.Lines(in.text) {
		if number++; len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		at := fmt.Sprintf("line %d", number)
		var issue beadsIssue
		if pointer, problem := plan.CheckJSON(line, yamltext.MaxNesting); problem != "" {
			return nil, fmt.Errorf("%s: %w", at, refuse(pointer, problem, "give one issue in each line"))
		}
		if err := json.Unmarshal(line, &issue, scalarsAsText()); err != nil {
			return nil, fmt.Errorf("%s: %w", at, decodeError("", err))
		}
		if issue.Status == "tombstone" {
			deleted++
			continue
		}
		if len(l.tasks) > maxSteps { // more are refused anyway
			break
		}
		if membersOf(issue.Rest)["comments"] != nil {
			comments++
		}
		issue.onto(l, at, loose)
	}
	for _, name := range []string{"content_hash", "compaction_level", "original_size", "source_repo", "created_by", "comments"} {
		delete(l.unknown, name)
	}
	for _, left := range []struct {
		n    int
		noun string
	}{{deleted, "deleted issue"}, {comments, "list of comments"}} {
		if left.n > 0 {
			l.note("%s left out.", plan.Counted(left.n, left.noun))
		}
	}
	if len(loose) > 0 {
		l.note("Dependencies that say nothing about the order were left out: %s.", someOf(loose))
	}
	return l.done()
}

func (issue beadsIssue) onto(l *list, at string, loose map[string]bool) {
	t := task{name: issue.ID, at: at, Step: plan.Step{
		Spec: plan.Spec{Title: issue.Title, SuggestedAgent: issue.Assignee, Type: typeOf(issue.IssueType),
			Details: paragraphs(issue.Description, titled("Design", issue.Design), titled("Notes", issue.Notes))},
		Progress: plan.Progress{Status: l.status(issue.Status), Output: issue.CloseReason},
	}}
	if issue.Priority != "" && issue.Priority != beadsUsual {
		t.priority = issue.Priority
	}
	if closed, err := time.Parse(time.RFC3339, issue.ClosedAt); err == nil && t.Status.Finished() {
		t.CompletedAt = closed
	}
	judgedBy(&t.Step, "Acceptance criteria", issue.AcceptanceCriteria)
	if issue.IssueType == "epic" {
		t.ContextHints = append(t.ContextHints, "An epic: what it is about are its parts")
	}
	t.hints("Label: ", issue.Labels...)
	for _, dep := range issue.Dependencies {
		switch {
		case dep.Type == beadsBlocks:
			t.after = append(t.after, dep.DependsOnID)
		case dep.Type == beadsParent && t.part == "":
			t.part = dep.DependsOnID
		default:
			loose[plan.Shorten(dep.Type, 40)] = true
		}
	}
	if whole, _, dotted := cutLast(issue.ID, "."); dotted && t.part == "" { // bd-a3f8.1 is a part of bd-a3f8
		t.part = whole
	}
	memberNames(l.unknown, "", issue.Rest)
	l.add(t)
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

func beadsJSONL(r *row, s plan.State) ([]byte, []string, error) {
	var b bytes.Buffer
	name := func(id plan.StepID) string { return "plan-" + strconv.Itoa(int(id)) }
	at := func(t time.Time) string { return cmp.Or(t, s.Plan.CreatedAt).Format(time.RFC3339) }
	for step := range s.Plan.Steps.All() {
		issue := struct {
			beadsIssue
			Priority int `json:"priority"`
		}{Priority: 2, beadsIssue: beadsIssue{ID: name(step.ID), Title: step.Title, Description: step.Details,
			Status: r.words.write(step.Status), IssueType: "task", Assignee: step.SuggestedAgent, CreatedAt: at(s.Plan.CreatedAt),
			UpdatedAt: at(s.Plan.UpdatedAt), AcceptanceCriteria: bullets(step.AcceptanceCriteria)}}
		switch step.Type {
		case plan.Bugfix:
			issue.IssueType = "bug"
		case plan.Feature, plan.Chore:
			issue.IssueType = string(step.Type)
		}
		if n, err := strconv.Atoi(priority(step)); err == nil && n >= 0 && n <= 4 {
			issue.Priority = n
		}
		if issue.Status == "closed" {
			issue.ClosedAt, issue.CloseReason = at(cmp.Or(step.CompletedAt, s.Plan.UpdatedAt)), step.Output
		}
		for _, dep := range step.DependsOn {
			issue.Dependencies = append(issue.Dependencies, beadsDependency{IssueID: issue.ID, DependsOnID: name(dep), Type: beadsBlocks,
				CreatedAt: issue.CreatedAt, CreatedBy: "planloop"})
		}
		if err := json.MarshalWrite(&b, issue); err != nil {
			return nil, nil, err
		}
		b.WriteByte('\n')
	}
	return b.Bytes(), r.losses(s.Plan), nil
}
