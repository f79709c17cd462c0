package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// AddContext asks to add to what is known about the current plan. Constraints bind: a new one of an approved plan is
// proposed. Findings are free.
type AddContext struct {
	Constraints []string
	Findings    string // one per line
}

func (a AddContext) clean(c *cleaner) Action {
	c.list(&a.Constraints, "constraints", LinesField, MaxLongLine, MaxList)
	c.report(&a.Findings, "findings")
	return a
}

func (a AddContext) decide(s State, f Facts) ([]Event, error) {
	p, err := openPlan(s, "nothing can be added to it", true)
	if err != nil {
		return nil, err
	}
	constraints, err := withConstraints(p, a.Constraints)
	if err != nil {
		return nil, err
	}
	known := strings.Split(p.ContextNotes, "\n")
	findings := slices.DeleteFunc(strings.Split(a.Findings, "\n"), func(line string) bool {
		return strings.TrimSpace(line) == "" || slices.Contains(known, line)
	})
	e := ContextAdded{Constraints: constraints[len(p.Metadata.Constraints):], Findings: findings, By: f.Actor.Name, At: f.Now}
	if len(e.Constraints)+len(e.Findings) == 0 {
		return nil, nil
	}
	if n := len([]rune(addLines(p.ContextNotes, findings))); n > MaxLongText {
		return nil, conflict(fmt.Sprintf("the plan's findings would have %d characters; at most %d are kept", n, MaxLongText),
			"write them to a file, and name it here")
	}
	return []Event{e}, nil
}

// withConstraints returns the constraints of a plan with those of added that it does not have.
func withConstraints(p *Plan, added []string) ([]string, error) {
	all := slices.Clone(p.Metadata.Constraints)
	for _, constraint := range added {
		if !slices.Contains(all, constraint) {
			all = append(all, constraint)
		}
	}
	if len(all) > MaxList {
		return nil, conflict(fmt.Sprintf("the plan would have %d constraints; at most %d are kept", len(all), MaxList), "give fewer")
	}
	return all, nil
}

func addLines(text string, lines []string) string {
	return strings.TrimPrefix(text+"\n"+strings.Join(lines, "\n"), "\n")
}

// ContextAdded adds constraints and findings to the plan, and to the revision that waits for a decision.
type ContextAdded struct {
	Constraints []string  `json:"constraints,omitempty"`
	Findings    []string  `json:"findings,omitempty"`
	By          string    `json:"by"`
	At          time.Time `json:"at"`
}

func (e ContextAdded) apply(s State) State {
	if s.hasRevision() {
		draft := *s.Draft
		e.addTo(&draft)
		s.Draft = &draft
	}
	return s.withPlan(e.At, e.addTo)
}

func (e ContextAdded) addTo(p *Plan) {
	for _, constraint := range e.Constraints {
		if !slices.Contains(p.Metadata.Constraints, constraint) {
			p.Metadata.Constraints = append(slices.Clip(p.Metadata.Constraints), constraint)
		}
	}
	if len(e.Findings) > 0 {
		p.ContextNotes = addLines(p.ContextNotes, e.Findings)
	}
}
