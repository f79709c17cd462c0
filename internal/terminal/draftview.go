package terminal

import (
	"regexp"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
)

// stepLine is the first line of a step as it is shown before a decision.
var stepLine = regexp.MustCompile(`^([-+ ]?)(\d+\. )(\[(?:HIGH RISK|medium risk|low risk|risk not said)\])( .*)$`)

// Draft puts emphasis on the text a plan is reviewed by: on titles, risks and differences.
// Nothing is cut.
func (s Screen) Draft(text string) []string {
	lines := strings.Split(strings.TrimSuffix(safetext.Escape(text), "\n"), "\n")
	diff := false
	for i, line := range lines {
		switch {
		case i == 0 && line == "What has changed since it was shown:":
			diff, lines[i] = true, s.Bold(line)
		case diff && line == "The whole plan:":
			diff, lines[i] = false, s.Bold(line)
		case diff && strings.HasPrefix(line, "+"):
			lines[i] = s.Good(line)
		case diff && strings.HasPrefix(line, "-"):
			lines[i] = s.Wrong(line)
		case diff:
			lines[i] = s.Faint(line)
		case strings.HasPrefix(line, "Plan: "):
			lines[i] = s.Bold(line)
		default:
			lines[i] = s.draftStep(line)
		}
	}
	return lines
}

func (s Screen) draftStep(line string) string {
	parts := stepLine.FindStringSubmatch(line)
	if parts == nil {
		return line
	}
	look := s.Waiting
	switch parts[3] {
	case "[HIGH RISK]":
		look = s.Wrong
	case "[low risk]":
		look = s.Good
	}
	return parts[1] + parts[2] + look(parts[3]) + s.Bold(parts[4])
}
