package main

import (
	"fmt"
	"time"
)

// marking goes through steps of a plan and marks each in_progress, done and
// pending again, so that every call changes something and the plan never
// completes.
type marking struct {
	client *client
	tool   string
	first  int // number of the first step
	steps  int // how many
	stride int // from one to the next
	n      int
}

func (m *marking) next() (time.Duration, error) {
	step := m.first + m.n/3*m.stride%m.steps
	status := []string{"in_progress", "done", "pending"}[m.n%3]
	m.n++
	return m.client.call(m.tool, map[string]any{"step_id": fmt.Sprintf("S%03d", step), "status": status})
}

const markTool = "planning_mark_step"

// marks goes through all steps of a plan of that length, far from each other.
func marks(c *client, steps int) *marking {
	return &marking{client: c, tool: markTool, first: 1, steps: steps, stride: 7}
}

// commits asks the floor for the same.
func commits(c *client) *marking {
	return &marking{client: c, tool: "commit", first: 1, steps: 10, stride: 7}
}
