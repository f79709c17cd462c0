package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// planCall returns a call of a host's planning tool; with a result, one that has ended.
func planCall(tool, input, result string) Call {
	c := Call{Host: VSCode, Session: "s", Moment: BeforeTool, Effect: Plans, Tool: tool, Input: []byte(input)}
	if result != "" {
		c.Host, c.Moment, c.Result = Claude, AfterTool, []byte(result)
	}
	return c
}

func TestHostPlan(t *testing.T) {
	for _, c := range []struct {
		tool, input, result string
		want                string // the steps, or the change of a task; "" for nothing
		agreed, named       bool
	}{
		{"TodoWrite", `{"todos":[{"content":"A","status":"completed","activeForm":"a"},{"content":"B","status":"pending"}]}`, "",
			"A(done) B(pending)", false, false},
		{"TodoWrite", `{"todos":[{"content":"A\n b","status":"in_progress"}]}`, `{}`, "A b(in_progress)", false, false},
		{"todowrite", `{"todos":[{"content":"A","status":"pending","priority":"high"}]}`, `"[]"`, "A(pending)[Priority: high]",
			false, false},
		{"todo__todo_write", `{"content":"- [x] A\n- [ ] B\n"}`, "", "A(done) B(pending)", false, false},
		{"update_todo", `{"todos":"- [x] A\n- [ ] B\n"}`, "", "A(done) B(pending)", false, false},
		{"manage_todo_list", `{"operation":"write","todoList":[{"id":1,"title":"A","description":"d","status":"not-started"}]}`, "",
			"A(pending)", false, false},
		{"update_plan", `{"explanation":"why","plan":[{"step":"A","status":"in_progress"}]}`, `"Plan updated"`, "A(in_progress)",
			false, false},
		{"write_todos", `{"todos":[{"description":"A","status":"blocked"}]}`, "", "A(blocked)", false, false},
		{"ExitPlanMode", `{"plan":"# Plan\n\n1. A\n2. B\n","planFilePath":"/x"}`, "", "A(pending) B(pending)", false, false},
		{"ExitPlanMode", `{}`, `{"plan":"# Mend it\n\n1. A\n2. B\n","isAgent":false}`, "A(pending) B(pending)", true, true},
		{"TaskCreate", `{"subject":"A","description":"d"}`, `{"task":{"id":"7","subject":"A"}}`, "7: A d", false, false},
		{"TaskCreate", `{"subject":"A","description":"d"}`, "", "", false, false},
		{"TaskUpdate", `{"taskId":"7","status":"in_progress","addBlockedBy":["3",4]}`, `{"success":true}`, "7: in_progress after 3 4",
			false, false},
		{"TaskUpdate", `{"taskId":7,"status":"deleted"}`, `{}`, "7: gone", false, false},

		{"exit_plan_mode", `{"plan_filename":"p.md"}`, `{"llmContent":"Plan approved."}`, "", false, false},
		{"TaskList", `{}`, `{"tasks":[]}`, "", false, false},
		{"TodoWrite", `{"todos":[{"content":"a\u001b[2J","status":"pending"}]}`, "", "", false, false},
		{"TodoWrite", `{"todos":5}`, "", "", false, false},
		{"update_plan", `{"plan":` + strings.Repeat("[", 200_000) + `}`, "", "", false, false},
		{"update_plan", `[`, "", "", false, false},
	} {
		got, text := planCall(c.tool, c.input, c.result).HostPlan(nil), ""
		if got != nil {
			text = planText(got)
			if got.IsHostApproved != c.agreed || got.IsOutlineGenerated == c.named || got.Objective == "" || got.Session != "s" {
				t.Errorf("%s %.60s: %+v", c.tool, c.input, got)
			}
		}
		if text != c.want {
			t.Errorf("%s %.60s: got %q, want %q", c.tool, c.input, text, c.want)
		}
	}
}

// TestRecordedHostPlans: the plan in each recorded payload, if any.
func TestRecordedHostPlans(t *testing.T) {
	want := map[string]string{
		"claude/2.1.330-post-tool-use-exitplanmode": "Plan of Claude Code: Write the test(pending) Mend the fault(pending)",
		"claude/2.1.330-post-tool-use-taskcreate":   "Tasks of Claude Code: 1: Write the test It fails first",
		"claude/2.1.330-post-tool-use-taskupdate":   "Tasks of Claude Code: 1: in_progress",
		"codex/0.169.0-post-tool-use-update-plan":   "Plan of Codex: Write the test(in_progress) Mend the fault(pending)",
		"gemini/0.61.0-after-tool-write-todos":      "To-do list of Gemini CLI: Write the test(in_progress) Mend the fault(pending)",
		"opencode/1.18.33-tool-execute-after-todowrite": "To-do list of Claude Code: Write the test(in_progress)[Priority: high] " +
			"Mend the fault(pending)",
	}
	got := map[string]string{}
	for _, p := range payloads(t) {
		call, err := Read(p.host, p.event, p.text)
		if a := call.HostPlan(nil); err == nil && a != nil {
			got[p.name] = a.Objective + ": " + planText(a)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostPlanExplanation(t *testing.T) {
	for why, inNotes := range map[string]bool{"why": false, strings.Repeat("a", plan.MaxSummary+1): true} {
		a := planCall("update_plan", `{"explanation":"`+why+`","plan":[{"step":"A"}]}`, "").HostPlan(nil)
		if a == nil || (a.Summary == why) == inNotes || (a.ContextNotes == why) != inNotes {
			t.Errorf("%.10s: %+v", why, a)
		}
	}
}

// TestHostPlanIsReadOnce: a plan is read at one moment, and only from the session's own agent.
func TestHostPlanIsReadOnce(t *testing.T) {
	todos := planCall("TodoWrite", `{"todos":[{"content":"A","status":"pending"}]}`, "{}")
	shown := planCall("ExitPlanMode", `{"plan":"1. A"}`, "{}")
	for name, c := range map[string]struct {
		call Call
		read bool
	}{
		"after":           {todos, true},
		"before":          {with(todos, func(c *Call) { c.Moment = BeforeTool }), false},
		"before, only":    {with(todos, func(c *Call) { c.Host, c.Moment = Goose, BeforeTool }), true},
		"about to see":    {with(shown, func(c *Call) { c.Moment = BeforeTool }), false},
		"seen":            {shown, true},
		"subagent":        {with(todos, func(c *Call) { c.Subagent = "a1" }), false},
		"unknown session": {with(todos, func(c *Call) { c.Session = "" }), false},
		"another tool":    {with(todos, func(c *Call) { c.Effect = Reads }), false},
	} {
		if got := c.call.HostPlan(nil); (got != nil) != c.read {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func with(c Call, change func(*Call)) Call {
	change(&c)
	return c
}

func planText(a *plan.AdoptHostPlan) string {
	var words []string
	for _, step := range a.Steps {
		word := step.Title + "(" + string(step.Status) + ")"
		if len(step.ContextHints) > 0 {
			word += "[" + strings.Join(step.ContextHints, "|") + "]"
		}
		words = append(words, word)
	}
	t := a.Task
	if t == nil {
		return strings.Join(words, " ")
	}
	words = []string{t.Name + ":"}
	for _, text := range []*string{t.Title, t.Details} {
		if text != nil {
			words = append(words, *text)
		}
	}
	if t.Status != "" {
		words = append(words, string(t.Status))
	}
	if len(t.DependsOn) > 0 {
		words = append(words, "after", strings.Join(t.DependsOn, " "))
	}
	if t.IsRemoved {
		words = append(words, "gone")
	}
	return strings.Join(words, " ")
}

// FuzzHostPlan: a decision is possible on every plan that was read.
func FuzzHostPlan(f *testing.F) {
	f.Add("TodoWrite", `{"todos":[{"content":"A","status":"completed"}]}`, "")
	f.Add("todo_write", `{"content":"# T\n- [ ] S002 A\n  - depends on: S001\n- [x] S001 B"}`, "")
	f.Add("ExitPlanMode", "{}", `{"plan":"1. a\n2. b"}`)
	f.Add("ExitPlanMode", `{"plan":"# P\n## Steps\n1) **a** b\n\n---\n### Step 1 - e\n### Step 2: f\n"}`, "")
	f.Add("TaskUpdate", `{"taskId":"7","addBlocks":["1"]}`, "{}")
	f.Fuzz(func(t *testing.T, tool, input, result string) {
		if len(input)+len(result) > 64<<10 {
			return
		}
		a := planCall(tool, input, result).HostPlan(nil)
		if a == nil {
			return
		}
		facts := plan.Facts{Now: time.Unix(1, 0), Actor: plan.Actor{Kind: plan.Agent, Name: "a"}}
		testenv.Must(plan.Decide(plan.State{}, *a, facts))(t)
	})
}

// TestPlanOfTurn: the plan that Codex's last answer proposes, from the recorded file of a session. Its hooks' payload leaves the plan out.
func TestPlanOfTurn(t *testing.T) {
	session := string(testenv.Must(os.ReadFile(filepath.Join("testdata", "codex", "0.169.0-session-with-plans.jsonl")))(t))
	stop := testenv.Must(os.ReadFile(filepath.Join("testdata", "codex", "0.169.0-stop-plan.json")))(t)
	asked, _, _ := strings.Cut(session, `{"type":"message","id":"msg_3"`) // before the second plan
	asked = asked[:strings.LastIndex(asked, "\n")+1]
	returned := asked[:strings.Index(asked, "<hook_prompt")]
	otherTurn := func(c *Call) { c.Turn = "01a22339-2ca2-79f0-920a-039a908a5863" }
	for name, c := range map[string]struct {
		session, want string
		change        func(*Call)
	}{
		"first":                   {returned[:strings.LastIndex(returned, "\n")+1], "Print the greeting", nil},
		"revised":                 {session, "Print the greeting with the name", nil},
		"returned, not revised":   {asked, "", nil},
		"of an earlier turn":      {session, "", otherTurn},
		"in the message":          {"", "B", func(c *Call) { c.Message = "<proposed_plan>\n1. A\n2. B\n</proposed_plan>" }},
		"of a turn without an id": {session, "", func(c *Call) { c.Turn = "" }},
		"without a file":          {session, "", func(c *Call) { c.Transcript = "" }},
		"of a subagent":           {session, "", func(c *Call) { c.Subagent = "a1" }},
	} {
		call := testenv.Must(Read(Codex, "stop", stop))(t)
		if c.change != nil {
			c.change(&call)
		}
		got, last := call.ReviewedPlan(func(path string) string {
			if path != call.Transcript {
				t.Errorf("%s: reads %s", name, path)
			}
			return c.session
		}), ""
		if got != nil {
			last = got.Steps[len(got.Steps)-1].Title
		}
		if last != c.want {
			t.Errorf("%s: got %q, want %q", name, last, c.want)
		}
	}
}

// TestPlanOfGemini: Gemini CLI names the file of its plan before and after it asks its user, whatever the user answers.
func TestPlanOfGemini(t *testing.T) {
	read := func(name string) string {
		return map[string]string{"p.md": "# Mend it\n\n1. A\n2. B\n", "greet.md": "# Greet\n\n1. A\n"}[name]
	}
	got := map[string]string{}
	for _, p := range payloads(t) {
		call, err := Read(p.host, p.event, p.text)
		if err != nil || p.host != Gemini || !call.IsPlanShown() {
			continue
		}
		if a := call.ReviewedPlan(read); a != nil {
			got[p.name] = "reviewed: " + a.Objective
		}
		if a := call.HostPlan(read); a != nil {
			got[p.name] = "accepted: " + a.Objective
		}
	}
	want := map[string]string{"gemini/0.61.0-before-tool-exit-plan-mode": "reviewed: Mend it",
		"gemini/0.61.0-after-tool-exit-plan-mode": "accepted: Mend it"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
