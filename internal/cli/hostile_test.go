package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// The content of a log was checked when written, but perhaps not by this version: all of it is escaped before it reaches a terminal.
func TestHostileRecordsAreEscaped(t *testing.T) {
	dir := t.TempDir()
	const bad = "evil \x1b]0;title\x07\x1b[2J\u202e\u009b31m text"
	writeHostileLog(t, dir, bad)
	environment := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state"), "USER": "alice"}
	for _, args := range [][]string{
		{"show"}, {"show", "--all"}, {"show", "--json"}, {"show", "--format", "md"}, {"show", "--format", "yaml"}, {"show", "--format",
			"mermaid"},
		{"log"}, {"log", "--json"}, {"plan", "list"}, {"plan", "list", "--json"}, {"plan", "diff"}, {"export"}, {"doctor"},
		{"step", "mark", "S001", "done"}, {"plan", "restore"}, {"__complete", "step", "mark", ""}, {"__complete", "show", "--plan", ""},
	} {
		w, out, stderr := emptyWorld()
		w.getenv = func(name string) string { return environment[name] }
		run(t.Context(), w, append([]string{"-C", dir}, args...))
		shown := out.String() + stderr.String()
		if strings.ContainsAny(shown, "\x1b\x07\u202e\u009b") {
			t.Errorf("planloop %q: %q", args, shown)
		}
		if !strings.Contains(shown, "evil") && args[0] != "doctor" {
			t.Errorf("planloop %q does not show the text: %q", args, shown)
		}
	}
}

func writeHostileLog(t *testing.T, dir, bad string) {
	t.Helper()
	place, err := workspace.Find(workspace.Lookup{Flag: dir, Getenv: func(name string) string {
		return map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state")}[name]
	}})
	must(t, err)
	log := sqlite.New(place.StateDir, sqlite.Options{})
	defer log.Close()
	step := func(id plan.StepID, status plan.StepStatus) *plan.Step {
		return &plan.Step{ID: id, Spec: plan.Spec{Title: bad, Details: bad},
			Progress: plan.Progress{Status: status, Notes: []string{bad}, Error: bad, ClaimedBy: bad}}
	}
	body := func(id string) plan.Body {
		return plan.Body{Plan: plan.Plan{ID: id, Outline: plan.Outline{Objective: bad, Summary: bad}, Status: plan.StatusActive,
			Version: 1},
			Steps: []*plan.Step{step(1, plan.Pending), step(2, plan.InProgress), step(3, plan.Failed)}}
	}
	former := plan.PastPlan{ID: "evil\x1b[31m-1", Objective: bad, Status: plan.StatusActive, Revision: 1, Reason: bad}
	for i, events := range [][]plan.Event{
		{plan.PlanSetUp{Plan: body("evil\x1b[31m-1")}},
		{plan.PlanArchived{Head: former}, plan.PlanSetUp{Plan: body("evil\x1b[31m-2")}, plan.DraftMade{Plan: body("evil\x1b[31m-3")}},
		{plan.StepMarked{Step: 2, Status: plan.InProgress, Note: bad, By: bad}},
	} {
		record := plan.Record{Seq: plan.Revision(i + 1), Action: bad, Actor: plan.Actor{Kind: plan.Agent, Name: bad},
			Phase: plan.PhaseInactive, Events: events}
		if _, err := log.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
}
