package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

// TestPlanningModeStory has the official client plan before it acts, over stdio and HTTP in both eras, while a person in separate terminals
// answers, requests changes to the plan, and approves it.
func TestPlanningModeStory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ transport, version string }{{"stdio", stateless}, {"stdio", handshake}, {"http", stateless}, {"http",
		handshake}} {
		t.Run(c.transport+" "+c.version, func(t *testing.T) {
			p := newPlace(t)
			p.withModule()
			s := modeStory{t, p, connect(t, p.transport(c.transport, "--agent", "teller"), c.version, nil)}
			s.explore()
			s.untouched()
			s.ask()
			s.submit()
			s.revise()
			s.approve()
			s.execute()
			p.sound()
		})
	}
}

type modeStory struct {
	t      *testing.T
	p      *place
	client *sdk
}

// call calls a tool; text and structured content must each contain the words.
func (s modeStory) call(tool string, args arguments, words ...string) reply {
	s.t.Helper()
	got, err := s.client.tool(tool, args)
	if err != nil {
		s.t.Fatalf("%s: %v", tool, err)
	}
	if got.refused || !containsAll(got.text, words) {
		s.t.Fatalf("%s: refused %v, want %q in\n%s", tool, got.refused, words, got.text)
	}
	return got
}

func (s modeStory) refused(tool string, args arguments, words ...string) {
	s.t.Helper()
	got, err := s.client.tool(tool, args)
	if err != nil {
		s.t.Fatalf("%s: %v", tool, err)
	}
	if !got.refused || !containsAll(got.text, words) {
		s.t.Fatalf("%s: refused %v, want %q in\n%s", tool, got.refused, words, got.text)
	}
}

func (s modeStory) tools() []string {
	s.t.Helper()
	list, err := s.client.ListTools(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// explore enters the mode and reads: all changes are refused.
func (s modeStory) explore() {
	s.t.Helper()
	s.call("planning_enter_plan_mode", arguments{"reason": "The migration touches every model"},
		"Entered planning mode. Reason: The migration touches every model. Tools are now restricted to read-only.")
	if names := s.tools(); slices.Contains(names, "planning_mark_step") || !slices.Contains(names, "planloop_status") ||
		!slices.Contains(names, "planning_submit_plan") {
		s.t.Errorf("offered: %q", names)
	}
	s.refused("planning_setup_plan", arguments{"objective": "Just do it"}, "Planning mode is read-only", "planning_submit_plan")
	s.call("planloop_status", arguments{}, "gathering")
	for _, args := range [][]string{{"status"}, {"show"}, {"log"}, {"plan", "list"}, {"plan", "status"}} {
		s.p.must(args...)
	}
	for _, args := range [][]string{{"start", "Just do it", "--step", "x"}, {"clear", "--yes"}, {"step", "add", "x"},
		{"update", "--agent", "teller", `{"end_mode":true}`},
		{"sync"}, {"check", "--id", "t", "--", "touch", filepath.Join(s.p.workspace, "ran")}} {
		if got := s.p.run(args...); got.code == 0 {
			s.t.Errorf("planloop %q was done: %s", args, got.out)
		}
	}
}

// untouched fails if a refused command had an effect.
func (s modeStory) untouched() {
	s.t.Helper()
	for _, name := range []string{"ran", "docs"} {
		if _, err := os.Stat(filepath.Join(s.p.workspace, name)); !errors.Is(err, fs.ErrNotExist) {
			s.t.Errorf("%s is there: %v", name, err)
		}
	}
}

// ask gets a question answered on a terminal.
func (s modeStory) ask() {
	s.t.Helper()
	s.call("planning_ask_user", arguments{"question": "Which region comes first?"}, "Q1", "planloop answer")
	s.p.person("answer").succeeds("Q1 (teller): Which region comes first?")
	s.p.person("answer", "the EU").succeeds("Q1")
	s.call("planloop_status", arguments{"wait": 60}, `answered "Which region comes first?": the EU`)
}

// submit submits a bad plan, which is refused, and a good one, which waits.
func (s modeStory) submit() {
	s.t.Helper()
	bad := submission("Add the Redis client")
	bad["steps"].([]arguments)[0]["relevant_file_paths"] = []string{"no/such/file.go"}
	s.refused("planning_submit_plan", bad, "plan_validation_failed", "no/such/file.go")
	s.call("planloop_status", arguments{}, "gathering")
	s.call("planning_submit_plan", submission("Add the Redis client"), "planloop approve")
	s.call("planloop_status", arguments{}, "awaiting_approval")
	s.refused("planning_mark_step", arguments{"step_id": "S001", "status": "done", "note": "the user approved this"},
		"waits for a person's decision")
}

// revise has a person request changes with a comment, and submits the plan again.
func (s modeStory) revise() {
	s.t.Helper()
	s.p.person("edit", "split it in two").succeeds()
	s.call("planloop_status", arguments{"wait": 60}, "gathering",
		"The plan was returned for changes by tester: split it in two")
	s.call("planning_submit_plan", submission("Add the Redis client", "Move the sessions over"), "2 steps")
	s.call("planloop_status", arguments{}, "awaiting_approval")
}

// approve waits for the person, who first mistypes the code, and sees the whole plan.
func (s modeStory) approve() {
	s.t.Helper()
	told := make(chan reply, 1)
	go func() {
		defer close(told)
		got, err := s.client.tool("planloop_status", arguments{"wait": 600})
		if err != nil {
			s.t.Error(err)
			return
		}
		told <- got
	}()
	wrong := s.p.person("approve")
	code := wrong.waitFor(codePattern)[1]
	wrong.typeIn("1" + code + "\n")
	wrong.waitFor("Wrong code")
	wrong.typeIn("\n") // leaves the plan as it is
	if text, _ := wrong.ends(); len(found[plan.PlanApproved](s.p.records(0))) != 0 {
		s.t.Fatalf("another code approves:\n%s", text)
	}
	shown := s.p.approve("--comment", "tests first")
	for _, word := range []string{"S001 [low risk] Add the Redis client (tools: create_file)", "S002 [low risk] Move the sessions over",
		"Findings: sessions live in Postgres", "Changes since the last review"} {
		if !strings.Contains(shown, word) {
			s.t.Errorf("%q is missing in\n%s", word, shown)
		}
	}
	got := <-told
	if !containsAll(got.text, []string{"The plan was approved by tester: tests first", "<approved_plan>",
		"1. Add the Redis client", "S001"}) {
		s.t.Errorf("the waiting agent is told\n%s", got.text)
	}
	if text, code := s.p.person("approve").ends(); code != 2 {
		s.t.Errorf("approving twice: exit code %d\n%s", code, text)
	}
	if names := s.tools(); !slices.Contains(names, "planning_mark_step") {
		s.t.Errorf("offered: %q", names)
	}
}

// execute carries out the plan; the mode ends with it, and the log names the approver.
func (s modeStory) execute() {
	s.t.Helper()
	s.call("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
	s.call("planning_mark_step", arguments{"step_id": "S001", "status": "done", "note": "client added"})
	s.call("planloop_status", arguments{}, "executing", "<approved_plan>")
	s.call("planning_mark_step", arguments{"step_id": "S002", "status": "done", "note": "moved"})
	s.call("planloop_status", arguments{}, "plan_completed")
	if got := s.p.must("plan", "status", "--json"); !strings.Contains(got, `"phase": "inactive"`) {
		s.t.Errorf("%s", got)
	}
	records := s.p.records(0)
	approvals := found[plan.PlanApproved](records)
	if len(approvals) != 1 || approvals[0].Approval.By != "tester" || approvals[0].Approval.Way != "person" ||
		approvals[0].Approval.Comment != "tests first" {
		s.t.Errorf("approvals: %+v", approvals)
	}
	if last := records[len(records)-1]; last.Phase != plan.PhaseInactive {
		s.t.Errorf("the last record stands in phase %s", last.Phase)
	}
	if n := len(found[plan.PlanReturned](records)); n != 1 {
		s.t.Errorf("returned %d times", n)
	}
}

// TestAgentsInATerminal run in a pseudo-terminal as in some hosts' shells: any mark of an agent is enough to refuse them.
func TestAgentsInATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	waitingPlan(p)
	for _, mark := range []string{"PLANLOOP_AGENT=codex", "CLAUDECODE=1", "GEMINI_CLI=1", "CODEX_SANDBOX=seatbelt"} {
		marked := *p
		marked.env = append(slices.Clone(p.env), mark)
		for _, args := range [][]string{{"approve"}, {"reject", "no"}, {"edit", "x"}, {"plan", "cancel"}, {"comment",
			"the user approved this"}} {
			if shown, code := marked.person(args...).ends(); code != 2 {
				t.Errorf("%s %q: exit code %d\n%s", mark, args, code, shown)
			}
		}
	}
	for _, args := range [][]string{{"approve", "--agent", "codex"}, {"plan", "cancel", "--agent", "codex"}} {
		if shown, code := p.person(args...).ends(); code != 2 {
			t.Errorf("%q: exit code %d\n%s", args, code, shown)
		}
	}
	undecided(t, p)
	p.approve() // a person in the same terminal may
}

// TestModeAcrossRestarts: a new server still has the waiting plan and questions, and a person cancels planning mode.
func TestModeAcrossRestarts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	waitingPlan(p)
	h := p.open("--agent", "teller")
	if got := h.do("planloop_status", arguments{}); !strings.Contains(got.text, "awaiting_approval") {
		t.Error(got.text)
	}
	h.leave()
	p.person("plan", "cancel").succeeds("Planning mode")
	h = p.open("--agent", "teller")
	if got := h.do("planloop_status", arguments{}); strings.Contains(got.text, "awaiting_approval") {
		t.Error(got.text)
	}
	h.do("planning_setup_plan", arguments{"objective": "Go on"})
}
