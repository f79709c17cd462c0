package exchange

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/yamltext"
	"github.com/planloop/planloop/plan"
)

// claudeTask is a task of Claude Code (2.1), which keeps each in a file of its own:
// ~/.claude/tasks/LIST/1.json.
type claudeTask struct {
	ID          string         `json:"id"`
	Subject     string         `json:"subject"`
	Description string         `json:"description"`
	ActiveForm  string         `json:"activeForm,omitempty"`
	Owner       string         `json:"owner,omitempty"`
	Status      string         `json:"status"`
	Blocks      []string       `json:"blocks"`
	BlockedBy   []string       `json:"blockedBy"`
	Rest        jsontext.Value `json:",embed"`
}

func claudeTasksRow() row {
	return row{format: ClaudeTasks, json: true, apart: true, about: "the tasks of Claude Code: a folder of them, or a list",
		text: "Tasks of Claude Code",
		is: func(s shape) bool {
			first := s.members
			if tasks := s.members["tasks"]; tasks != nil && !s.list {
				first = firstMembers(tasks)
			}
			return first["subject"] != nil && first["status"] != nil
		},
		read: parseClaudeTasks, write: claudeTasksJSON,
		words: vocabulary{words: map[plan.StepStatus]string{plan.Pending: "pending", plan.InProgress: "in_progress",
			plan.Done: "completed", plan.Skipped: "completed", plan.Cancelled: "completed"}},
		steps: []string{"details", "depends_on", "suggested_agent"}}
}

// parseClaudeTasks reads a folder of tasks, a list of them, an object with the list, or one.
func parseClaudeTasks(in input) (*source, error) {
	var tasks []claudeTask
	if in.files != nil {
		slices.SortFunc(in.files, func(a, b File) int { return byNumber(a.Name, b.Name) })
	}
	for _, file := range in.files {
		if path.Ext(file.Name) != ".json" {
			continue
		}
		read, err := claudeTasksOf(file.Data)
		if err != nil {
			return nil, inFile(file.Name, err)
		}
		tasks = append(tasks, read...)
	}
	if in.files == nil {
		var err error
		if tasks, err = claudeTasksOf(in.text); err != nil {
			return nil, err
		}
	}
	return in.claudeTasks(tasks)
}

// byNumber orders names of files that begin with numbers by these.
func byNumber(a, b string) int {
	number := func(name string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(path.Base(name), path.Ext(name)))
		if err != nil {
			return maxSteps * maxSteps // behind those that have one
		}
		return n
	}
	if d := number(a) - number(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func claudeTasksOf(text []byte) (tasks []claudeTask, err error) {
	if pointer, problem := plan.CheckJSON(text, yamltext.MaxNesting); problem != "" {
		return nil, refuse(pointer, problem, "give Claude Code's tasks")
	}
	text = bytes.TrimSpace(text)
	at, whole := "", jsontext.Value(text)
	if members := membersOf(text); members["tasks"] != nil {
		at, whole = "/tasks", members["tasks"]
	} else if members != nil {
		whole = slices.Concat(jsontext.Value("["), text, jsontext.Value("]"))
	}
	if err := json.Unmarshal(whole, &tasks, scalarsAsText()); err != nil {
		return nil, decodeError(at, err)
	}
	return tasks, nil
}

func (in input) claudeTasks(tasks []claudeTask) (*source, error) {
	l, deleted := in.list(""), 0
	blockedBy := map[string][]string{} // as the others say
	for _, t := range tasks {
		for _, other := range t.Blocks {
			blockedBy[other] = append(blockedBy[other], t.ID)
		}
	}
	for _, t := range tasks {
		if t.Status == "deleted" {
			deleted++
			continue
		}
		memberNames(l.unknown, "", t.Rest)
		l.add(task{name: t.ID, after: slices.Concat(t.BlockedBy, blockedBy[t.ID]), Step: plan.Step{
			Spec:     plan.Spec{Title: t.Subject, Details: t.Description, SuggestedAgent: t.Owner},
			Progress: plan.Progress{Status: l.status(t.Status)}}})
	}
	if deleted > 0 {
		l.note("%s left out.", plan.Counted(deleted, "deleted task"))
	}
	return l.done()
}

func claudeTasksJSON(r *row, s plan.State) ([]byte, []string, error) {
	blocks := map[plan.StepID][]string{}
	for step := range s.Plan.Steps.All() {
		for _, dep := range step.DependsOn {
			blocks[dep] = append(blocks[dep], strconv.Itoa(int(step.ID)))
		}
	}
	tasks := []claudeTask{}
	for step := range s.Plan.Steps.All() {
		t := claudeTask{ID: strconv.Itoa(int(step.ID)), Subject: step.Title, Description: step.Details, Owner: step.SuggestedAgent,
			ActiveForm: step.Title, Status: r.words.write(step.Status), Blocks: append([]string{}, blocks[step.ID]...),
			BlockedBy: []string{}}
		for _, dep := range step.DependsOn {
			t.BlockedBy = append(t.BlockedBy, strconv.Itoa(int(dep)))
		}
		tasks = append(tasks, t)
	}
	data, err := json.Marshal(map[string]any{"tasks": tasks})
	return append(data, '\n'), r.losses(s.Plan), err
}
