package exchange_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/plan"
)

// TestReadHostPlan: what hosts' own tools were given and answered, as hooks tell it.
func TestReadHostPlan(t *testing.T) {
	for _, c := range []struct {
		tool, input, result string
		want                string // the steps, or the change of a task; "" for nothing
		agreed, named       bool
	}{
		{"TodoWrite", `{"todos":[{"content":"A","status":"completed","activeForm":"a"},{"content":"B","status":"pending"}]}`, "",
			"A B", false, false},
		{"todowrite", `{"todos":[{"content":"A","status":"pending","priority":"high"}]}`, `"[]"`, "A", false, false},
		{"todo__todo_write", `{"content":"- [x] A\n- [ ] B\n"}`, "", "A B", false, false},
		{"manage_todo_list", `{"operation":"write","todoList":[{"id":1,"title":"A","description":"d","status":"not-started"}]}`, "",
			"A", false, false},
		{"update_plan", `{"explanation":"why","plan":[{"step":"A","status":"in_progress"}]}`, `"Plan updated"`, "A", false, false},
		{"write_todos", `{"todos":[{"description":"A","status":"blocked"}]}`, "", "A", false, false},
		{"ExitPlanMode", `{"plan":"# Plan\n\n1. A\n2. B\n","planFilePath":"/x"}`, "", "A B", false, false},
		{"ExitPlanMode", `{}`, `{"plan":"# Mend it\n\n1. A\n2. B\n","isAgent":false}`, "A B", true, true},
		{"TaskCreate", `{"subject":"A","description":"d"}`, `{"task":{"id":"7","subject":"A"}}`, "7: A d", false, false},
		{"TaskCreate", `{"subject":"A","description":"d"}`, "", "", false, false},
		{"TaskUpdate", `{"taskId":"7","status":"in_progress","addBlockedBy":["3",4]}`, `{"success":true}`, "7: in_progress after 3 4",
			false, false},
		{"TaskUpdate", `{"taskId":7,"status":"deleted"}`, `{}`, "7: gone", false, false},

		{"exit_plan_mode", `{"plan_filename":"p.md"}`, `{"llmContent":"Plan approved."}`, "", false, false},
		{"TaskList", `{}`, `{"tasks":[]}`, "", false, false},
		{"TodoWrite", `{"todos":[{"content":"a\u001b[2J","status":"pending"}]}`, "", "", false, false},
		{"TodoWrite", `{"todos":5}`, "", "", false, false},
		{"update_plan", `{"plan":` + strings.Repeat("[", 200_000) + `}`, "", "", false, false},
		{"update_plan", `[`, "", "", false, false},
	} {
		var result []byte
		if c.result != "" {
			result = []byte(c.result)
		}
		got, text := exchange.ReadHostPlan(c.tool, []byte(c.input), result), ""
		if got != nil {
			text = stepsOf(got.SetUp) + changeOf(got.Task)
			if got.Agreed != c.agreed || got.MadeUp == c.named || got.Objective == "" {
				t.Errorf("%s %.60s: %+v", c.tool, c.input, got)
			}
		}
		if text != c.want {
			t.Errorf("%s %.60s: got %q, want %q", c.tool, c.input, text, c.want)
		}
	}
}

func changeOf(t *plan.TaskChange) string {
	if t == nil {
		return ""
	}
	words := []string{t.Name + ":"}
	for _, text := range []*string{t.Title, t.Details} {
		if text != nil {
			words = append(words, *text)
		}
	}
	if t.Status != "" {
		words = append(words, string(t.Status))
	}
	if len(t.After) > 0 {
		words = append(words, "after", strings.Join(t.After, " "))
	}
	if t.Gone {
		words = append(words, "gone")
	}
	return strings.Join(words, " ")
}

func FuzzReadHostPlan(f *testing.F) {
	f.Add("TodoWrite", `{"todos":[{"content":"A","status":"completed"}]}`, "")
	f.Add("ExitPlanMode", "{}", `{"plan":"1. a\n2. b"}`)
	f.Add("TaskUpdate", `{"taskId":"7","addBlocks":["1"]}`, "{}")
	f.Fuzz(func(t *testing.T, tool, input, result string) {
		if len(input)+len(result) > 64<<10 {
			return
		}
		if h := exchange.ReadHostPlan(tool, []byte(input), []byte(result)); h != nil && h.Task == nil {
			if err := plan.CleanAction(h.SetUp); err != nil {
				t.Fatal(err)
			}
		}
	})
}
