package prompts

import (
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// ResumeData is what an agent needs to go on after its context was lost. The caller
// bounds it.
type ResumeData struct {
	Where      []ResumeSection // of the workspace
	Sections   []ResumeSection // those without texts are left out; none at all: there is no plan
	NextAction string
}

// ResumeSection is one thing that [Resume] tells: a text, or a list of them.
type ResumeSection struct {
	Name  string
	Texts []string
}

// Resume returns a summary to go on by. What authors wrote stands between fences as it
// was written; further lines of a text are indented, so that none poses as a section.
func Resume(d ResumeData) string {
	var lines []string
	for _, s := range slices.Concat(d.Where, d.Sections) {
		if len(s.Texts) == 1 {
			lines = append(lines, s.Name+": "+indented(s.Texts[0]))
		} else if len(s.Texts) > 1 {
			lines = append(lines, s.Name+":")
			for _, text := range s.Texts {
				lines = append(lines, "- "+indented(text))
			}
		}
	}
	situation := strings.Join(lines, "\n")
	return mustRender("resume", struct {
		Plan                         bool
		Situation, Fence, NextAction string
	}{len(lines) > len(d.Where), situation, fence(situation), oneLine(d.NextAction, plan.MaxLongLine)})
}

func indented(text string) string { return strings.ReplaceAll(quotable(text), "\n", "\n  ") }
