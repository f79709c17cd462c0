package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/yamltext"
	"github.com/planloop/planloop/plan"
)

// taskMasterTag is one of the lists that tasks.json of Task Master (0.43) holds, by its name;
// before 0.16 it held one alone.
type taskMasterTag struct {
	Tasks    []taskMasterTask   `json:"tasks"`
	Metadata taskMasterMetadata `json:"metadata,omitzero"`
	Rest     jsontext.Value     `json:",embed"`
}

type taskMasterMetadata struct {
	Created     string         `json:"created,omitempty"`
	Updated     string         `json:"updated,omitempty"`
	Description string         `json:"description,omitempty"`
	Rest        jsontext.Value `json:",embed"`
}

type taskMasterTask struct {
	ID           taskMasterID     `json:"id"`
	Title        string           `json:"title"`
	Description  string           `json:"description"`
	Details      string           `json:"details"`
	TestStrategy string           `json:"testStrategy"`
	Status       string           `json:"status"`
	Dependencies []taskMasterID   `json:"dependencies"`
	Priority     string           `json:"priority,omitempty"`
	Subtasks     []taskMasterTask `json:"subtasks,omitempty"`
	Rest         jsontext.Value   `json:",embed"`
}

// taskMasterID is a number, or a text such as 2.1.
type taskMasterID string

// MarshalJSONTo writes it as the number that it is with us.
func (id taskMasterID) MarshalJSONTo(out *jsontext.Encoder) error {
	return out.WriteValue(jsontext.Value(id))
}

// UnmarshalJSONFrom reads either.
func (id *taskMasterID) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	var text string
	if err := json.UnmarshalDecode(in, &text, scalarsAsText()); err != nil {
		return err
	}
	*id = taskMasterID(text)
	return nil
}

const taskMasterMain = "master" // the list that there always is

func taskMasterRow() row {
	return row{
		format: TaskMaster, json: true, about: "tasks.json of Task Master", text: "Tasks from Task Master",
		files: []string{"tasks/tasks.json", ".taskmaster/tasks/*.json"},
		is: func(s shape) bool {
			if tasks := s.members["tasks"]; tasks != nil {
				return firstMembers(tasks)["title"] != nil
			}
			for _, tag := range s.members {
				return membersOf(tag)["tasks"].Kind() == jsontext.KindBeginArray // as all of them
			}
			return false
		},
		read: parseTaskMaster, write: taskMasterJSON,
		words: vocabulary{
			words: map[plan.StepStatus]string{plan.Pending: "pending", plan.InProgress: "in-progress", plan.Blocked: "blocked",
				plan.Done: "done", plan.Cancelled: "cancelled", plan.Skipped: "cancelled"},
			also: map[string]plan.StepStatus{"review": plan.InProgress, "deferred": plan.Blocked},
		},
		plan: []string{"objective"}, steps: []string{"details", "depends_on", "acceptance_criteria"},
	}
}

// parseTaskMaster reads one of the lists of Task Master.
func parseTaskMaster(in input) (*source, error) {
	if pointer, problem := plan.CheckJSON(in.text, yamltext.MaxNesting); problem != "" {
		return nil, refuse(pointer, problem, "give Task Master's tasks.json")
	}
	tag, name, others, err := in.taskMasterTag()
	if err != nil {
		return nil, err
	}
	l := in.list(tag.Metadata.Description)
	if len(others) > 0 {
		l.note("The tag %s was read; left out: %s. Name another one with --tag.", plan.Quote(name), quotedList(others))
	}
	memberNames(l.unknown, "", tag.Rest)
	for i := range tag.Tasks {
		tag.Tasks[i].onto(l, nil)
	}
	return l.done()
}

// taskMasterTag returns the list that is asked for, else the main one, and the names of those left out.
func (in input) taskMasterTag() (tag taskMasterTag, name string, others []string, err error) {
	members := membersOf(in.text)
	if members == nil {
		return tag, "", nil, refuse("", "the text holds no tasks", "give Task Master's tasks.json")
	}
	whole := jsontext.Value(in.text)
	if members["tasks"].Kind() != jsontext.KindBeginArray {
		tags := keysOf(members)
		name = cmp.Or(in.options.Tag, taskMasterMain)
		if in.options.Tag == "" && !slices.Contains(tags, name) && len(tags) > 0 {
			name = tags[0]
		}
		if whole = members[name]; whole == nil {
			return tag, "", nil, &plan.ValidationError{Kind: plan.NotFound, Problem: "there is no tag " + plan.Quote(name) + " in it",
				Fix: "name one of " + quotedList(tags)}
		}
		others = slices.DeleteFunc(tags, func(other string) bool { return other == name })
	}
	if err := json.Unmarshal(whole, &tag, scalarsAsText()); err != nil {
		root := ""
		if name != "" {
			root = "/" + plan.Shorten(name, 60)
		}
		return tag, "", nil, decodeError(root, err)
	}
	return tag, name, others, nil
}

func quotedList(names []string) string {
	const shown = 10
	quoted := make([]string, 0, shown)
	for _, name := range names[:min(len(names), shown)] {
		quoted = append(quoted, plan.Quote(name))
	}
	if n := len(names) - shown; n > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", n))
	}
	return strings.Join(quoted, ", ")
}

// onto adds a task and its subtasks to l.
func (t *taskMasterTask) onto(l *list, whole *taskMasterTask) {
	if len(l.tasks) > maxSteps { // more are refused anyway
		return
	}
	to := task{name: string(t.ID), Step: plan.Step{Spec: plan.Spec{Title: t.Title,
		Details: paragraphs(t.Description, t.Details)}}}
	if t.Description == t.Title { // which there must be one of
		to.Details = t.Details
	}
	to.Status = l.status(t.Status)
	judgedBy(&to.Step, "Test strategy", t.TestStrategy)
	if t.Priority != "medium" {
		to.priority = t.Priority
	}
	if whole != nil {
		to.name, to.part = string(whole.ID)+"."+string(t.ID), string(whole.ID)
	}
	for _, id := range t.Dependencies {
		name := string(id)
		if whole != nil && slices.ContainsFunc(whole.Subtasks, func(sub taskMasterTask) bool { return sub.ID == id }) {
			name = string(whole.ID) + "." + name
		}
		to.after = append(to.after, name)
	}
	known := map[string]bool{"parentTaskId": true, "parentId": true, "updatedAt": true}
	for name := range jsonKeys(t.Rest) {
		if !known[name] {
			l.unknown["tasks[]."+plan.Shorten(name, 60)] = true
		}
	}
	l.add(to)
	subtasks := t.Subtasks
	if whole != nil { // which have none there
		subtasks = nil
	}
	for i := range subtasks {
		subtasks[i].onto(l, t)
	}
}

func taskMasterJSON(r *row, s plan.State) ([]byte, []string, error) {
	tag := taskMasterTag{Tasks: []taskMasterTask{}, Metadata: taskMasterMetadata{Description: s.Plan.Objective,
		Created: s.Plan.CreatedAt.Format(time.RFC3339), Updated: s.Plan.UpdatedAt.Format(time.RFC3339)}}
	for step := range s.Plan.Steps.All() {
		t := taskMasterTask{ID: taskMasterIDOf(step.ID), Title: step.Title, Description: step.Title, Details: step.Details,
			Status:       r.words.write(step.Status),
			Dependencies: []taskMasterID{}, Priority: cmp.Or(priority(step), "medium"), TestStrategy: bullets(step.AcceptanceCriteria)}
		if step.Details != "" && !strings.Contains(step.Details, "\n\n") && step.Details != step.Title {
			t.Description, t.Details = step.Details, ""
		}
		for _, dep := range step.DependsOn {
			t.Dependencies = append(t.Dependencies, taskMasterIDOf(dep))
		}
		tag.Tasks = append(tag.Tasks, t)
	}
	data, err := json.Marshal(map[string]taskMasterTag{taskMasterMain: tag})
	return append(data, '\n'), r.losses(s.Plan), err
}

func taskMasterIDOf(id plan.StepID) taskMasterID { return taskMasterID(strconv.Itoa(int(id))) }
