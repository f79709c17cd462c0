package main

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

// evidence lists what supports that a step is done: the last piece, or with all
// every one with what its command printed.
func (v planView) evidence(step *plan.Step, margin int) []string {
	pieces := step.Evidence
	if len(pieces) > 0 && !v.all {
		pieces = pieces[len(pieces)-1:]
	}
	var lines []string
	for _, e := range pieces {
		lines = append(lines, v.block("evidence: "+v.proof(e), margin, 1)...)
		if e.Output != "" && v.all {
			lines = append(lines, v.block(e.Output, margin+2, 0)...)
		}
	}
	return lines
}

// proof says what a piece of evidence is, and whether planloop saw it itself.
func (v planView) proof(e plan.Evidence) string {
	text := e.Note
	switch {
	case e.Command != "" && e.ExitCode != nil:
		text = fmt.Sprintf("%s exited with %d", e.Command, *e.ExitCode)
		if !e.Recorded {
			text += ", it is said"
		}
	case e.Command != "":
		text = e.Command + ", it is said"
	case e.Criterion != "":
		text = e.Criterion + ": " + e.Note
	}
	if v.all {
		text += fmt.Sprintf(" (%s, %s)", e.By, v.clock(e.At))
	}
	return text
}
