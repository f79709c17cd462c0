package prompts

import (
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// ResumeData is the data for an agent to continue after it lost its context. The caller limits it.
type ResumeData struct {
	Where      []ResumeSection // about the workspace
	Sections   []ResumeSection // empty ones are left out; nil without a plan
	NextAction string
}

// ResumeSection is one section of [Resume]: a text, or a list of texts.
type ResumeSection struct {
	Name  string
	Texts []string
}

// Resume returns a summary to continue with. Authors' texts are fenced and unchanged, except that their further lines
// are indented, so that they cannot imitate a section.
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
