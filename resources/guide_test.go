package resources_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

func TestGuideGolden(t *testing.T) {
	golden(t, "guide.md", []byte(resources.PlanningGuide()))
}

func TestGuideTeaches(t *testing.T) {
	text := resources.PlanningGuide()
	inOrder(t, text, []string{
		"## A good task", "**One thing.**", "Bad:", "Good:", "**Verifiable.**", "Bad:", "Good:", "**Commit-sized.**", "**A clear goal.**",
		"**Context hints.**", "Bad:", "Good:", "**File paths.**", "`creates`", "**Dependencies.**", "No circles", "**A way back.**",
		"**Draft.**", "**Critique.**", "**Refine.**", "until the gates pass",
		"## The gates", "completeness", "structure", "paths", "duplicates", "judge", "a person gives it",
		"## Example", "```markdown\n# dupes", "```json\n{", "\"update_tasks\": [{\"id\": 1, \"status\": \"DONE\"}]\n}\n```\n",
	})
	requireASCII(t, text)
	budget(t, "planning guide", text, 2500)
}

// exampleTask is a task with the contract's field names.
type exampleTask struct {
	Ref           string   `json:"ref"`
	Title         string   `json:"title"`
	Type          string   `json:"type"`
	Risk          string   `json:"risk"`
	Dependencies  []string `json:"dependencies"`
	ContextHints  []string `json:"context_hints"`
	RelevantPaths []string `json:"relevant_file_paths"`
	Creates       []string `json:"creates"`
	Criteria      []string `json:"acceptance_criteria"`
	Verify        string   `json:"verify"`
}

func example(t *testing.T) (files map[string]string, tasks []exampleTask) {
	t.Helper()
	files, payload := resources.GuideExample()
	var update struct {
		AddTasks    []exampleTask `json:"add_tasks"`
		UpdateTasks []struct {
			ID     int    `json:"id"`
			Status string `json:"status"`
		} `json:"update_tasks"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(payload)))
	decoder.DisallowUnknownFields()
	testenv.Check(t, decoder.Decode(&update))
	if len(update.UpdateTasks) != 1 || update.UpdateTasks[0].ID != 1 || update.UpdateTasks[0].Status != "DONE" {
		t.Errorf("the task that asked for the plan is not done: %+v", update.UpdateTasks)
	}
	return files, update.AddTasks
}

// TestGuideExampleIsTheGuides: callers get the same example as readers.
func TestGuideExampleIsTheGuides(t *testing.T) {
	files, payload := resources.GuideExample()
	guide := resources.PlanningGuide()
	for name, part := range map[string]string{"spec.md": files["spec.md"], "payload": string(payload)} {
		if part == "" || !strings.Contains(guide, "\n"+strings.TrimSpace(part)+"\n```\n") {
			t.Errorf("the guide does not show %s whole", name)
		}
	}
	for name := range files {
		if !strings.Contains(guide, "`"+name+"`") {
			t.Errorf("the guide does not say that the workspace holds %s", name)
		}
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "main.go", files["main.go"], 0); err != nil {
		t.Error(err)
	}
	files["spec.md"], payload[0] = "changed", 'x'
	if again, data := resources.GuideExample(); again["spec.md"] == "changed" || data[0] == 'x' {
		t.Error("a caller can change the example")
	}
}

// TestGuideExampleKeepsTheRules is a second, plain reading of the rules that the
// gates hold a plan to.
func TestGuideExampleKeepsTheRules(t *testing.T) {
	files, tasks := example(t)
	if len(tasks) < 4 {
		t.Fatalf("%d tasks show too little", len(tasks))
	}
	made := map[string][]string{} // by ref: the files it creates
	for _, task := range tasks {
		exists := slices.Clone(task.Creates)
		for name := range files {
			exists = append(exists, name)
		}
		for _, ref := range task.Dependencies {
			known, ok := made[ref]
			if !ok {
				t.Errorf("%s: depends on %q, which is not given before it", task.Title, ref)
			}
			exists = append(exists, known...)
		}
		made[task.Ref] = exists
		for _, path := range task.RelevantPaths {
			if !slices.Contains(exists, path) {
				t.Errorf("%s: %s does not exist by then", task.Title, path)
			}
		}
		for _, hint := range task.ContextHints {
			for i, word := range strings.Split(hint, "`") {
				if i%2 == 1 && strings.Contains(word, ".") && !slices.Contains(exists, word) {
					t.Errorf("%s: the hint %q names a file that does not exist by then", task.Title, hint)
				}
			}
		}
		switch {
		case len(task.ContextHints) == 0, len(task.RelevantPaths) == 0, task.Verify == "" && len(task.Criteria) == 0:
			t.Errorf("%s: hints, paths or proof are missing", task.Title)
		case plan.OneOf("type", plan.StepType(task.Type)) != nil, plan.OneOf("risk", plan.Risk(task.Risk)) != nil, task.Type == "":
			t.Errorf("%s: type %q or risk %q is unknown", task.Title, task.Type, task.Risk)
		case len(task.Title) > plan.MaxTitle, strings.Contains(task.Title, " and "):
			t.Errorf("%s: the title is too long or holds two things", task.Title)
		}
	}
}
