package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/resources"
)

// TestLoopStory is the session of the specification's first two parts, with a real client in a real work tree: rules to sync, a goal to
// break down, a refused plan and an accepted one, a blocker that another process raises while the agent waits, an agent that dies and its
// successor, and the final summary.
func TestLoopStory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ transport, version string }{
		{"stdio", handshake}, {"stdio", stateless}, {"http", handshake}, {"http", stateless},
	} {
		t.Run(c.transport+" "+c.version, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.workTree()
			l := newLoop(t, p, c.transport, c.version)
			l.begin()
			l.plan()
			l.work()
			l.replace()
			l.finish()
			p.sound()
		})
	}
}

// workTree makes the workspace a git work tree with the files that the planning guide assumes, and a user's file for agents.
func (p *place) workTree() {
	p.t.Helper()
	git := exec.Command("git", "init", "--quiet")
	git.Dir, git.Env = p.workspace, p.env
	if out, err := git.CombinedOutput(); err != nil {
		p.t.Fatalf("git init: %v\n%s", err, out)
	}
	files, _ := resources.GuideExample()
	files["docs/agents.md"] = houseRules
	for name, text := range files {
		p.write(name, text)
	}
}

const houseRules = "# House rules\n\nSpeak plainly.\n"

func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.workspace, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// loop is an agent at work.
type loop struct {
	t       *testing.T
	p       *place
	client  *sdk
	connect func() (client *sdk, kill func())
	kill    func()
}

// newLoop connects an agent by a transport: over stdio to its own server, over HTTP to a shared one.
func newLoop(t *testing.T, p *place, transport, version string) *loop {
	l := &loop{t: t, p: p}
	if transport == "stdio" {
		l.connect = func() (*sdk, func()) {
			command := p.command("serve")
			client := connect(t, &mcp.CommandTransport{Command: command}, version, nil)
			return client, func() { _ = command.Process.Kill(); _ = client.Close() }
		}
	} else {
		server := p.serveHTTP()
		l.connect = func() (*sdk, func()) {
			client := connect(t, server.transport(transport), version, nil)
			return client, func() { _ = client.Close() }
		}
	}
	l.client, l.kill = l.connect()
	return l
}

// told is the part of a status that the story needs.
type told struct {
	Now struct {
		Reason       string `json:"reason"`
		Message      string `json:"message"`
		Instructions string `json:"instructions_content"`
		Task         struct {
			ID     int      `json:"id"`
			Title  string   `json:"title"`
			Status string   `json:"status"`
			Hints  []string `json:"context_hints"`
			Paths  []string `json:"relevant_file_paths"`
		} `json:"current_task"`
	} `json:"now"`
	Signal struct {
		ID     string `json:"id"`
		Task   int    `json:"task_id"`
		Level  string `json:"level"`
		Output string `json:"output"`
	} `json:"signal"`
	TaskIDs []int  `json:"task_ids"`
	Next    string `json:"next_action"`
}

// call calls a tool that must accept.
func (l *loop) call(tool string, args any) told {
	l.t.Helper()
	got, err := l.client.tool(tool, args)
	if err != nil || got.refused {
		l.t.Fatalf("%s: %v %s", tool, err, got.text)
	}
	return l.told(got)
}

func (l *loop) told(got reply) told {
	l.t.Helper()
	var what told
	if err := json.Unmarshal(got.structured, &what); err != nil {
		l.t.Fatal(err)
	}
	if what.Next == "" || !strings.Contains(got.text, what.Next) {
		l.t.Errorf("no next action in %s\n%s", got.text, got.structured)
	}
	return what
}

// status asks for the status, which must have the given reason.
func (l *loop) status(reason string) told {
	l.t.Helper()
	got := l.call("planloop_status", arguments{})
	if got.Now.Reason != reason {
		l.t.Fatalf("the status is %+v, want %s", got, reason)
	}
	return got
}

// begin starts the session and brings the agent's own rules up to date.
func (l *loop) begin() {
	l.t.Helper()
	l.call("planloop_start", arguments{"goal": "Implement the features described in spec.md"})
	got := l.status("sync_instructions")
	if !strings.HasPrefix(got.Now.Instructions, houseRules) || !strings.Contains(got.Now.Instructions, "Working with planloop") {
		l.t.Fatalf("the content is %q", got.Now.Instructions)
	}
	l.p.write("docs/agents.md", got.Now.Instructions)
	got = l.status("ready_for_task")
	if task := got.Now.Task; task.ID != 1 || task.Status != "TODO" ||
		task.Title != "Decompose the goal 'Implement the features described in spec.md' into a detailed task list for planloop." {
		l.t.Fatalf("the first task is %+v", task)
	}
}

// plan submits a plan that is refused, and one that is accepted.
func (l *loop) plan() {
	l.t.Helper()
	before := l.p.revision()
	got, err := l.client.tool("planloop_update", arguments{"add_tasks": []arguments{
		{"title": "Add `password_hash` to User model", "type": "feature", "context_hints": []string{"Edit the User class."}},
		{"title": "Create login endpoint", "type": "feature", "context_hints": []string{"See `src/api/utils.py`."},
			"relevant_file_paths": []string{"main.go"}},
	}, "update_tasks": []arguments{{"id": 1, "status": "DONE"}}})
	if err != nil || !got.refused || !containsAll(got.text, []string{"plan_validation_failed",
		"The submitted plan is invalid and was rejected. You must fix the plan and resubmit.",
		"Task 'Add `password_hash` to User model' is missing the `relevant_file_paths` field.",
		"Task 'Create login endpoint' has a hint pointing to a non-existent file: `src/api/utils.py`."}) {
		l.t.Fatalf("%v %s", err, got.text)
	}
	if after := l.p.revision(); after != before {
		l.t.Fatalf("the refused plan made revision %d of %d", after, before)
	}
	_, payload := resources.GuideExample()
	if ids := l.call("planloop_update", json.RawMessage(payload)).TaskIDs; len(ids) != 5 || ids[0] != 2 {
		l.t.Fatalf("the tasks are %v", ids)
	}
}

// work does the first task; while the agent waits for news, a check in another process fails and raises a blocker.
func (l *loop) work() {
	l.t.Helper()
	got := l.status("ready_for_task")
	if task := got.Now.Task; task.ID != 2 || len(task.Hints) != 2 || len(task.Paths) != 2 {
		l.t.Fatalf("the task is %+v", task)
	}
	l.mark(2, "IN_PROGRESS")
	l.p.write("find.go", "package main\n")
	waiting := make(chan reply, 1)
	go func() {
		got, err := l.client.tool("planloop_status", arguments{"wait": int(patience.Seconds())})
		if err != nil {
			got.text = err.Error()
		}
		waiting <- got
	}()
	failing := l.p.run("check", "--id", "test_failure", "--task", "2", "--", "sh", "-c", "echo TestFind fails; exit 7")
	if failing.code != 7 {
		l.t.Errorf("the check exits with %d\n%s", failing.code, failing.err)
	}
	news := l.told(<-waiting)
	if news.Now.Reason != "waiting_on_signal" || news.Now.Message != "Waiting for signal 'test_failure' on task 2 to be cleared." ||
		news.Signal.ID != "test_failure" || news.Signal.Task != 2 || news.Signal.Level != "blocker" ||
		!strings.Contains(news.Signal.Output, "TestFind fails") {
		l.t.Fatalf("the agent that waited was told %+v", news)
	}
	if passing := l.p.run("check", "--id", "test_failure", "--task", "2", "--", "sh", "-c", "exit 0"); passing.code != 0 {
		l.t.Fatalf("the check exits with %d\n%s", passing.code, passing.err)
	}
	if got := l.status("ready_for_task"); got.Now.Task.ID != 2 {
		l.t.Fatalf("after the check has passed: %+v", got)
	}
	l.mark(2, "DONE")
}

func (l *loop) mark(id int, status string) {
	l.t.Helper()
	l.call("planloop_update", arguments{"update_tasks": []arguments{{"id": id, "status": status, "note": "as planned"}}})
}

// replace kills the agent in the middle of a task. Its successor knows only what planloop says.
func (l *loop) replace() {
	l.t.Helper()
	if got := l.status("ready_for_task"); got.Now.Task.ID != 3 {
		l.t.Fatalf("the task is %+v", got.Now.Task)
	}
	l.mark(3, "IN_PROGRESS")
	l.kill()
	l.client, l.kill = l.connect()
	resumed, err := l.client.GetPrompt(l.t.Context(), &mcp.GetPromptParams{Name: "resume"})
	if err != nil {
		l.t.Fatal(err)
	}
	if text := resumed.Messages[0].Content.(*mcp.TextContent).Text; !containsAll(text, []string{"spec.md", "S003",
		"Print duplicate groups"}) {
		l.t.Errorf("the new agent is told: %s", text)
	}
	if got := l.status("ready_for_task"); got.Now.Task.ID != 3 || got.Now.Task.Status != "IN_PROGRESS" {
		l.t.Fatalf("the new agent's task is %+v", got.Now.Task)
	}
	l.mark(3, "IN_PROGRESS")
	l.mark(3, "DONE")
}

// finish does the remaining tasks and closes the plan.
func (l *loop) finish() {
	l.t.Helper()
	for _, id := range []int{4, 5, 6} {
		if got := l.status("ready_for_task"); got.Now.Task.ID != id {
			l.t.Fatalf("the task is %+v, want %d", got.Now.Task, id)
		}
		l.mark(id, "IN_PROGRESS")
		l.mark(id, "DONE")
	}
	if got := l.status("plan_completed"); got.Now.Message != "All tasks are complete. The agent should provide a final summary." {
		l.t.Errorf("%+v", got)
	}
	l.call("planloop_update", arguments{"final_summary": "Feature implementation complete. All tests passing and code reviewed."})
	l.status("closed")
	if got := l.p.must("show"); !strings.Contains(got, "Feature implementation complete.") {
		l.t.Errorf("the plan that is shown lacks the summary:\n%s", got)
	}
}
