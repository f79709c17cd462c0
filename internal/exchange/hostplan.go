package exchange

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/yamltext"
	"github.com/planloop/planloop/plan"
)

// HostPlan is what a call of a host's own tool says of the plan that its agent follows there.
type HostPlan struct {
	plan.SetUp                  // the whole list, without one of Task
	MadeUp     bool             // it says no objective: one was made up
	Task       *plan.TaskChange // one task of it alone
	Agreed     bool             // the host's user agreed to it
}

// ReadHostPlan reads what a host's tool was given and what it answered, nil while it has not. It is nil
// for a tool that says nothing of a plan, and for what cannot be read.
func ReadHostPlan(tool string, input, result []byte) *HostPlan {
	for _, text := range [][]byte{input, result} {
		if len(text) > maxBytes {
			return nil
		}
		if _, problem := plan.CheckJSON(text, yamltext.MaxNesting); len(text) > 0 && problem != "" {
			return nil
		}
	}
	given, answered := membersOf(input), membersOf(result)
	switch format, text := hostTool(tool), cmp.Or(textOf(answered["plan"]), textOf(given["plan"])); {
	case format == ClaudeTasks:
		return readTaskChange(given, answered)
	case format == ClaudePlan && text != "":
		return readWhole(format, []byte(text), result != nil)
	case format == TodoWrite && given["todoList"] != nil: // of VS Code
		return readWhole(format, []byte(`{"todos":`+string(given["todoList"])+`}`), false)
	case format == TodoWrite && given["todos"].Kind() != jsontext.KindBeginArray: // a check list, of Goose and Copilot
		return readWhole(Markdown, []byte(cmp.Or(textOf(given["todos"]), textOf(given["content"]))), false)
	case format != "" && format != ClaudePlan:
		return readWhole(format, input, false)
	}
	return nil
}

// hostTool is the format in which a host's tool is told a plan, "" for another tool. Some hosts put the
// name of an extension before it.
func hostTool(tool string) Format {
	if _, name, of := cutLast(tool, "__"); of {
		tool = name
	}
	switch strings.ReplaceAll(strings.ToLower(tool), "_", "") {
	case "todowrite", "updatetodo", "managetodolist":
		return TodoWrite
	case "updateplan":
		return UpdatePlan
	case "writetodos":
		return WriteTodos
	case "exitplanmode", "createplan":
		return ClaudePlan
	case "taskcreate", "taskupdate":
		return ClaudeTasks
	}
	return ""
}

func readWhole(format Format, text []byte, agreed bool) *HostPlan {
	read, err := Import(text, format, ImportOptions{})
	if err != nil {
		return nil
	}
	h := &HostPlan{SetUp: read.Action, Agreed: agreed}
	h.MadeUp = h.Objective == rowOf(format).text || format == Markdown
	return h
}

// readTaskChange reads a task that is created, by the id that the answer gives it, or changed.
func readTaskChange(given, answered map[string]jsontext.Value) *HostPlan {
	t := &plan.TaskChange{Name: cmp.Or(textOf(given["taskId"]), textOf(membersOf(answered["task"])["id"]))}
	for _, text := range []struct {
		to   **string
		name string
	}{{&t.Title, "subject"}, {&t.Details, "description"}, {&t.Agent, "owner"}} {
		if value := given[text.name]; value.Kind() == jsontext.KindString {
			read := textOf(value)
			if text.to != &t.Details {
				read = foldLine(read)
			}
			*text.to = &read
		}
	}
	if t.Title != nil && strings.TrimSpace(*t.Title) == "" {
		t.Title = nil
	}
	word := textOf(given["status"])
	t.Gone, t.Status = word == "deleted", rowOf(ClaudeTasks).words.read(word)
	_ = json.Unmarshal(given["addBlockedBy"], &t.After, scalarsAsText()) // what is no list names nothing
	_ = json.Unmarshal(given["addBlocks"], &t.Before, scalarsAsText())
	if t.Name == "" {
		return nil
	}
	h := &HostPlan{Task: t, MadeUp: true}
	h.Objective = rowOf(ClaudeTasks).text
	return h
}

// ShowsPlan reports whether a host's tool puts a plan before its user.
func ShowsPlan(tool string) bool { return hostTool(tool) == ClaudePlan }
