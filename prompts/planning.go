package prompts

import (
	"strings"

	"github.com/planloop/planloop/plan"
)

// DecomposeData is the data of the prompt decompose_goal. All text is quoted as data; empty fields are left out.
type DecomposeData struct {
	Goal        string
	Tree        string     // summary of the files in the workspace
	Documents   []Document // specification files
	Code        []Document // excerpts that show conventions
	Memories    []string   // from former plans and their summaries
	Constraints []string
	Findings    []string // why the former draft was refused
	Former      string   // the former draft, JSON

	// ForAgent: the text is for an agent that submits the result, not for a model that answers with JSON only.
	ForAgent bool
	// Task is the number of the task that asks for the plan, which the agent should finish; 0 without one.
	Task int
}

// Decompose returns the prompt that turns a goal into tasks.
func Decompose(d DecomposeData) string { return mustRender("decompose_goal", d) }

// JudgeData is the data of the prompt judge_plan. All text is quoted as data.
type JudgeData struct {
	Goal     string
	Tasks    string   // the tasks, JSON
	Findings []string // of the gates that work without a model

	// ForAgent: the text is for an agent that submits the verdict, not for a model that answers with JSON only.
	ForAgent bool
}

// Judge returns the prompt that asks for a verdict on a plan. It forbids approval of a plan too long to be shown whole.
func Judge(d JudgeData) string { return mustRender("judge_plan", d) }

// SuggestData is the data of the prompt suggest_tasks. All text is quoted as data; empty fields are left out.
type SuggestData struct {
	Goal  string
	Focus string // where to look first
	Tree  string // summary of the files in the workspace
	Tasks []string
	Marks []string // TODO marks and the like, each with its place
	Files []Document

	// ForAgent: the text is for an agent that adds the tasks, not for a model that answers with JSON only.
	ForAgent bool
}

// SuggestTasks returns the prompt that looks for unplanned work.
func SuggestTasks(d SuggestData) string { return mustRender("suggest_tasks", d) }

// ResumeData is the data for an agent to continue after it lost its context. The caller limits it.
type ResumeData struct {
	Where      string // lines about the workspace
	Situation  string // of [Facts]; empty without a plan
	NextAction string
}

// Fact is one kind of fact about a plan: a text, or a list of texts.
type Fact struct {
	Name  string   `json:"name"`
	Texts []string `json:"texts"`
}

// Resume returns a summary to continue with.
func Resume(d ResumeData) string {
	d.NextAction = oneLine(d.NextAction, plan.MaxLongLine)
	return mustRender("resume", d)
}

// Facts lists facts, one or more lines each. Texts are unchanged, except that their further lines are indented, so that
// they cannot imitate a heading. The caller marks those of other authors.
func Facts(facts []Fact) string {
	var lines []string
	for _, f := range facts {
		if len(f.Texts) == 1 {
			lines = append(lines, f.Name+": "+indented(f.Texts[0]))
		} else if len(f.Texts) > 1 {
			lines = append(lines, f.Name+":")
			for _, text := range f.Texts {
				lines = append(lines, "- "+indented(text))
			}
		}
	}
	return strings.Join(lines, "\n")
}

func indented(text string) string { return strings.ReplaceAll(quotable(text), "\n", "\n  ") }
