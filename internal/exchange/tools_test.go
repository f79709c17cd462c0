package exchange_test

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// toolFiles are files of other programs: testdata/README.md says where each comes from.
func toolFiles() []struct {
	file   string // below testdata; what is read from it stands beside it
	name   string // as it was called, with its folders
	format exchange.Format
} {
	return []struct {
		file, name string
		format     exchange.Format
	}{
		{"taskmaster/tasks-0.43.1.json", "/home/me/shop/.taskmaster/tasks/tasks.json", exchange.TaskMaster},
		{"backlog/1.52.0/tasks/task-1 - Add-a-health-endpoint.md", "backlog/tasks/task-1 - Add-a-health-endpoint.md", exchange.Backlog},
		{"beads/issues.jsonl", "/home/me/shop/.beads/issues.jsonl", exchange.Beads},
		{"speckit/tasks.md", "specs/004-health-endpoint/tasks.md", exchange.SpecKit},
		{"openspec/tasks.md", "openspec/changes/add-health-endpoint/tasks.md", exchange.OpenSpec},
		{"claude/plan-ordered.md", "/home/me/.claude/plans/brave-fox.md", exchange.ClaudePlan},
		{"claude/plan-phases.md", "/home/me/.claude/plans/sly-owl.md", exchange.ClaudePlan},
		{"claude/task-2.1.json", "1.json", exchange.ClaudeTasks},
		{"claude/todowrite.json", "todos.json", exchange.TodoWrite},
		{"codex/update-plan.json", "plan.json", exchange.UpdatePlan},
		{"gemini/write-todos.json", "todos.json", exchange.WriteTodos},
		{"acp/v1.json", "update.json", exchange.ACP},
		{"acp/v2.json", "update.json", exchange.ACP},
		{"acp/v2-markdown.json", "update.json", exchange.ACP},
	}
}

// TestToolFiles: what other programs wrote is recognised by its name and by what stands in it,
// and read as its golden file shows.
func TestToolFiles(t *testing.T) {
	for _, c := range toolFiles() {
		t.Run(c.file, func(t *testing.T) {
			data := testdata(t, c.file)
			for _, name := range []string{c.name, "x" + path.Ext(c.name)} {
				if c.format == exchange.ClaudePlan && name != c.name {
					continue // which any Markdown could be
				}
				if got, err := exchange.Detect(data, name); got != c.format {
					t.Errorf("%s is taken for %q (%v), want %q", name, got, err, c.format)
				}
			}
			got, err := exchange.Import(data, c.format, exchange.ImportOptions{Name: c.name})
			if err != nil {
				t.Fatal(err)
			}
			text, _ := export(t, exchange.YAML, setUp(t, got.Action))
			golden(t, c.file+".golden.yaml", text)
			golden(t, c.file+".notes", strings.Join(got.Notes, "\n")+"\n")
		})
	}
}

// TestBacklogFolder: the tasks of a project are read with its name and the words for a status that it has
// made up; drafts and what was archived stay.
func TestBacklogFolder(t *testing.T) {
	var files []exchange.File
	root := filepath.Join("testdata", "backlog", "1.52.0")
	for _, name := range []string{"config.yml", "drafts/draft-1 - Later-idea.md", "tasks/task-1 - Add-a-health-endpoint.md",
		"tasks/task-1.1 - Write-the-handler.md", "tasks/task-2 - Describe-it.md"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, exchange.File{Name: name, Data: data})
	}
	if format, err := exchange.DetectFolder(files); err != nil || format != exchange.Backlog {
		t.Errorf("taken for %q, %v", format, err)
	}
	got, err := exchange.ImportFolder(files, exchange.Backlog, exchange.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := setUp(t, got.Action)
	text, _ := export(t, exchange.YAML, s)
	golden(t, "backlog/folder.golden.yaml", text)
	golden(t, "backlog/folder.notes", strings.Join(got.Notes, "\n")+"\n")

	written, notes, err := exchange.ExportFolder(exchange.Backlog, s)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(notes, "\n") + "\n"
	for _, file := range written {
		all += "-- " + file.Name + " --\n" + string(file.Data)
	}
	golden(t, "backlog/written.txtar", all)
}

// TestToolTexts: awkward lists of other programs are read as far as they say something, and refused
// where they are unsafe or mean nothing.
func TestToolTexts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		format     exchange.Format
		want       string // title<dependencies … of the steps
		note       string // in one of the notes
		refused    string
	}{
		{"ids of all kinds", `{"tasks":[{"id":"a","title":"A","dependencies":[7,"7"]},{"id":7,"title":"B","subtasks":[
			{"id":1,"title":"C"},{"id":2,"title":"D","dependencies":[1,"a",9e999]}]}]}`, exchange.TaskMaster,
			"A<S002 B<S003 C D<S003,S001", "Of these 1 wait for the whole instead, as it says there.", ""},
		{"unknown dependencies", `{"tasks":[{"id":1,"title":"A","dependencies":["other:3",{}]}]}`, exchange.TaskMaster,
			"", "", "dependencies"},
		{"dependencies across tags", `{"x":{"tasks":[{"id":1,"title":"A","dependencies":["y:3",9e999]}]},
			"y":{"tasks":[{"id":3,"title":"B"}]}}`, exchange.TaskMaster, "A",
			"Dependencies on tasks that are not among them were left out: 9e999, y:3.", ""},
		{"words for a status", `{"tasks":[{"id":1,"title":"A","status":"review"},{"id":2,"title":"B","status":"frozen"}]}`,
			exchange.TaskMaster, "A B", "These words for a status are not known, so the tasks are to do: frozen.", ""},
		{"fields from the future", `{"tasks":[{"id":1,"title":"A","colour":"red"}],"theme":1}`, exchange.TaskMaster, "A",
			"Fields that have no place here were left out: tasks[].colour, theme.", ""},
		{"no tasks", `{"tasks":[]}`, exchange.TaskMaster, "", "", ""},
		{"twice", `{"tasks":[{"id":1,"title":"A"},{"id":"1","title":"B"}]}`, exchange.TaskMaster, "", "", `"1" appears twice`},
		{"itself", `{"tasks":[{"id":1,"title":"A","dependencies":[1]}]}`, exchange.TaskMaster, "", "", "circle: 1 -> 1"},
		{"hidden text", `{"tasks":[{"id":1,"title":"A\u202eB"}]}`, exchange.TaskMaster, "", "", "text-reordering"},
		{"an escape", `{"tasks":[{"id":1,"title":"A","details":"\u001b[2J"}]}`, exchange.TaskMaster, "", "", "control character"},
		{"no such tag", `{"master":{"tasks":[]}}`, exchange.TaskMaster, "", "", `no tag "experiments"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := exchange.ImportOptions{}
			if strings.Contains(c.refused, "no tag") {
				o.Tag = "experiments"
			}
			got, err := exchange.Import([]byte(c.text), c.format, o)
			var refusal *plan.ValidationError
			switch {
			case c.refused != "" && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), c.refused) || refusal.Fix == ""):
				t.Fatalf("got %v, want a refusal with %q", err, c.refused)
			case c.refused != "":
				return
			case err != nil:
				t.Fatal(err)
			}
			if steps := stepsOf(got.Action); steps != c.want {
				t.Errorf("steps %q, want %q", steps, c.want)
			}
			if !strings.Contains(strings.Join(got.Notes, "\n"), c.note) {
				t.Errorf("notes %q, want one with %q", got.Notes, c.note)
			}
		})
	}
}

func stepsOf(a plan.SetUp) string {
	var list []string
	for _, step := range a.Steps {
		text := step.Title
		if len(step.DependsOn) > 0 {
			text += "<" + strings.ReplaceAll(plan.ListIDs(step.DependsOn), ", ", ",")
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// TestToolRoundTrip: what is written for another program is read as the plan that it was, as far
// as the format has a place for it.
func TestToolRoundTrip(t *testing.T) {
	for format, kept := range map[exchange.Format]string{
		exchange.TaskMaster: "objective title details after criteria", exchange.Backlog: "title details after criteria",
		exchange.Beads: "title details after criteria", exchange.SpecKit: "objective title details after",
		exchange.OpenSpec: "objective title details", exchange.ClaudePlan: "objective title details criteria",
		exchange.ClaudeTasks: "title details after", exchange.TodoWrite: "title", exchange.UpdatePlan: "title",
		exchange.WriteTodos: "title", exchange.ACP: "", exchange.ACP2: "",
	} {
		t.Run(string(format), func(t *testing.T) {
			rapidtest.Check(t, func(t *rapid.T) {
				a := setUpAction(t)
				if len(a.Steps) == 0 {
					t.Skip("a list of nothing")
				}
				s := setUp(t, a)
				got, text := thereAndBack(t, format, s)
				if diff := cmp.Diff(keeping(s.Plan, kept), keeping(setUp(t, got.Action).Plan, kept), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("(-exported +imported):\n%s\n%s", diff, text)
				}
			})
		})
	}
}

// thereAndBack writes a plan and reads what was written.
func thereAndBack(t fatal, format exchange.Format, s plan.State) (got exchange.Imported, text string) {
	t.Helper()
	var err error
	if format.Folder() {
		files, _, failed := exchange.ExportFolder(format, s)
		if failed != nil {
			t.Fatal(failed)
		}
		for _, file := range files {
			text += "-- " + file.Name + " --\n" + string(file.Data)
		}
		got, err = exchange.ImportFolder(files, format, exchange.ImportOptions{})
	} else {
		text, _ = export(t, format, s)
		got, err = exchange.Import([]byte(text), format, exchange.ImportOptions{})
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", format, err, text)
	}
	return got, text
}

// keeping is what of a plan is compared, its steps numbered by their places.
func keeping(p *plan.Plan, fields string) []string {
	number, list := map[plan.StepID]plan.StepID{}, p.Steps.List()
	for i, step := range list {
		number[step.ID] = plan.StepID(i + 1)
	}
	kept := func(name, text string) string {
		if slices.Contains(strings.Fields(fields), name) {
			return name + ": " + trimmed(text) + "\n"
		}
		return ""
	}
	all := []string{kept("objective", p.Objective)}
	for _, step := range list {
		var after []string
		for _, dep := range step.DependsOn {
			after = append(after, number[dep].String())
		}
		all = append(all, kept("title", step.Title)+kept("details", step.Details)+kept("after", strings.Join(after, " "))+
			kept("criteria", strings.Join(step.AcceptanceCriteria, "\n")))
	}
	return all
}
