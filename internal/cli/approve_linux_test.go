package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// host is an agent's host. It talks to one server process at a time.
type host struct {
	home
	flags []string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	id    int
}

// serve starts a server for the agent codex, the same actor in every process.
func (h home) serve() *host {
	s := h.serving("--agent", "codex")
	s.ask(`"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	return s
}

// serving starts a server without sending it a request.
func (h home) serving(flags ...string) *host {
	h.t.Helper()
	s := &host{home: h, flags: flags}
	s.cmd = h.command(append([]string{"serve"}, flags...)...)
	s.cmd.Stderr = os.Stderr
	in, out := begin(h.t, s.cmd)
	s.in, s.out = in, bufio.NewReader(out)
	return s
}

// send sends a request and returns its id.
func (s *host) send(request string) int {
	s.t.Helper()
	s.id++
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", s.id, request); err != nil {
		s.t.Fatal(err)
	}
	return s.id
}

// answer reads up to the response to a request, and returns its text.
func (s *host) answer(id int) string {
	s.t.Helper()
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("the server ended: %v", err)
		}
		var m struct {
			ID     int `json:"id"`
			Result struct {
				Content []struct{ Text string } `json:"content"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		if m.ID != id {
			continue
		}
		if len(m.Result.Content) > 0 {
			return m.Result.Content[0].Text
		}
		return line
	}
}

func (s *host) ask(request string) string { return s.answer(s.send(request)) }

func toolCall(tool, arguments string) string {
	return `"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}`
}

func (s *host) call(tool, arguments string) string { return s.ask(toolCall(tool, arguments)) }

// killed kills the server and starts another.
func (s *host) killed() *host {
	s.t.Helper()
	must(s.t, s.cmd.Process.Kill())
	if err := s.cmd.Wait(); err == nil {
		s.t.Fatal("it was not killed")
	}
	if len(s.flags) == 0 {
		return s.home.serving()
	}
	return s.home.serve()
}

// says checks that a text contains all of the words.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is missing in:\n%s", word, text)
		}
	}
}

func planningHome(t *testing.T) home {
	h := newHome(t)
	must(t, os.WriteFile(filepath.Join(h.dir, "login.go"), []byte("package login\n"), 0o644))
	h.run("sync")
	return h
}

// submission is a plan of two steps with a risk.
func submission(risk string) string {
	const step = `{"title":%q,"type":"feature","risk":%q,"context_hints":["See ` + "`login.go`" + `."],` +
		`"relevant_file_paths":["login.go"],"acceptance_criteria":["tests pass"]}`
	return `{"summary":"Sessions move to Redis.","steps":[` + fmt.Sprintf(step, "Add a Redis session store", "low") + "," +
		fmt.Sprintf(step, "Switch the login handler", risk) + `]}`
}

// code waits for the code on the screen.
func (t *terminalSession) code() string {
	t.t.Helper()
	t.out.waitFor("To approve it, ")
	t.out.waitFor("type ")
	t.out.readOn(" and Enter")
	code := regexp.MustCompile(`\d{6}`).FindString(t.out.seen.String())
	t.out.waitFor("\n> ")
	return code
}

// readOn reads until want has come, and keeps all text.
func (o *output) readOn(want string) {
	o.t.Helper()
	for !strings.Contains(o.seen.String(), want) {
		text, ok := <-o.text
		if !ok {
			o.t.Fatalf("it ended without %q, after:\n%s", want, o.seen.String())
		}
		o.seen.WriteString(text)
	}
}

// If a plan is submitted again while a person reads the former one, it is shown again: the old code does not approve the new plan.
func TestApproveWhatWasShown(t *testing.T) {
	h := planningHome(t)
	agent := h.serve()
	says(t, agent.call("planning_submit_plan", submission("medium")), "Plan submitted")
	person := h.terminal(120, 60, "approve")
	former := person.code()
	says(t, agent.call("planning_submit_plan", submission("high")), "Plan submitted")
	person.typeIn(former + "\n")
	person.out.waitFor("The plan has changed. This is the new version:")
	person.out.waitFor("Changes since the last review:")
	person.out.waitFor("  + risk: high")
	code := person.code()
	if log := h.run("log", "--audit"); strings.Contains(log, "approved by") {
		t.Errorf("the former code approved:\n%s", log)
	}
	person.typeIn(code + "\n")
	if shown, exit := person.ends(); exit != 0 || !strings.Contains(shown, "Approved. The agent continues") {
		t.Errorf("exit code %d:\n%s", exit, shown)
	}
	says(t, h.run("show"), "Approved by alice at ")
}

// A plan that another person decided in the meantime is not approved again.
func TestApproveWhatWasDecidedAlready(t *testing.T) {
	h := planningHome(t)
	says(t, h.serve().call("planning_submit_plan", submission("medium")), "Plan submitted")
	first, second := h.terminal(120, 60, "approve"), h.terminal(120, 60, "approve")
	one, two := first.code(), second.code()
	first.typeIn(one + "\n")
	if shown, exit := first.ends(); exit != 0 {
		t.Errorf("exit code %d:\n%s", exit, shown)
	}
	second.typeIn(two + "\n")
	if shown, exit := second.ends(); exit != 2 {
		t.Errorf("exit code %d:\n%s", exit, shown)
	}
	if log := h.run("log", "--audit"); strings.Count(log, "approved by alice") != 1 {
		t.Errorf("%s", log)
	}
}

// An approval ends all waiting: a server's status call and the status command, which are unaware of each other.
func TestApprovalEndsWaiting(t *testing.T) {
	h := planningHome(t)
	agent := h.serve()
	says(t, agent.call("planning_submit_plan", submission("medium")), "Plan submitted")
	says(t, agent.call("planloop_status", `{}`), "awaiting_approval")
	waiting := agent.send(toolCall("planloop_status", `{"wait":50}`))
	cmd, out := h.start("status", "--wait", "5m", "--agent", "bob")
	person := h.terminal(120, 60, "approve", "--comment", "tests first")
	person.typeIn(person.code() + "\n")
	person.ends()
	says(t, agent.answer(waiting), "The plan was approved by alice: tests first", "<approved_plan>")

	ended := make(chan string, 1)
	go func() { ended <- out.rest() }() // ends with the process
	for i := 0; ; i++ {                 // the wait may begin only after the approval; then any change ends it
		select {
		case text := <-ended:
			says(t, text, "The plan was approved by alice: tests first")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			return
		default:
			h.run("step", "mark", "S001", "in_progress", "--agent", "codex", "--note", fmt.Sprint("going on ", i))
		}
	}
}

// A server killed at any point of the story loses nothing: the next one continues at the same point.
func TestKilledAtEveryArrow(t *testing.T) {
	h := planningHome(t)
	agent := h.serve()
	says(t, agent.call("planning_enter_plan_mode", `{"reason":"many files change"}`), "Entered planning mode.")

	agent = agent.killed()
	says(t, agent.call("planloop_status", `{}`), "gathering")
	says(t, agent.call("planning_setup_plan", `{"objective":"Slip it in"}`), "Nothing was changed.")
	says(t, agent.call("planning_ask_user", `{"question":"Which region?"}`), "Q1")

	agent = agent.killed()
	says(t, agent.call("planloop_status", `{}`), "gathering", "Open questions: Q1: ")
	says(t, agent.call("planning_submit_plan", submission("medium")), "Plan submitted")

	agent = agent.killed()
	says(t, agent.call("planloop_status", `{}`), "awaiting_approval")
	h.terminal(120, 60, "edit", "say how we go back").ends()
	h.terminal(120, 60, "answer", "Frankfurt").ends()

	agent = agent.killed()
	says(t, agent.call("planloop_status", `{}`), "gathering", "returned for changes by alice", "say how we go back", "Frankfurt")
	says(t, agent.call("planning_submit_plan", submission("high")), "Plan submitted")

	agent = agent.killed()
	says(t, agent.call("planloop_status", `{}`), "awaiting_approval")
	person := h.terminal(120, 60, "approve")
	person.out.waitFor("  + risk: high")
	person.typeIn(person.code() + "\n")
	person.ends()

	agent = agent.killed()
	says(t, agent.call("planloop_status", `{}`), "approved by alice", "<approved_plan>", "S001")
	says(t, agent.call("planning_mark_step", `{"step_id":"S001","status":"done"}`), "S001 is done")

	agent = agent.killed()
	says(t, agent.call("planloop_status", `{}`), "<approved_plan>", "S002")
	says(t, agent.call("planning_mark_step", `{"step_id":"S002","status":"done"}`), "completed")

	agent = agent.killed()
	says(t, agent.call("planloop_status", `{}`), "plan_completed")
	says(t, h.run("plan", "status"), "Planning mode: off", "Last time: ended")
	log := h.run("log", "--audit")
	if strings.Count(log, "approved by alice (person)") != 1 || strings.Count(log, "returned for changes") != 1 ||
		strings.Count(log, "submitted by codex") != 2 {
		t.Errorf("something is lost or twice:\n%s", log)
	}
	h.run("doctor")
}

// The user of a stateless client decides while the server restarts: the answer counts, whether or not the client has a name.
func TestAnsweredAcrossARestart(t *testing.T) {
	for name, client := range map[string]string{"unnamed": "",
		"named": `"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},`} {
		t.Run(name, func(t *testing.T) {
			h := planningHome(t)
			meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` + client +
				`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
			submit := `"method":"tools/call","params":{` + meta + `,"name":"planning_submit_plan","arguments":` + submission("medium")
			agent := h.serving()
			asked := agent.ask(submit + "}")
			state := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(asked)
			if state == nil {
				t.Fatalf("not asked: %s", asked)
			}
			agent = agent.killed()
			says(t, agent.ask(submit+`,"requestState":"`+state[1]+`","inputResponses":{"planloop":{"action":"accept",`+
				`"content":{"decision":"approve"}}}}`), "The plan was approved by ")
			says(t, h.run("plan", "status", "--json"), `"phase": "executing"`)
		})
	}
}

// In planning mode CI=true does not turn a command into a CI job if an agent served here may have started it: below one host, below
// several, or with an unknown lineage.
func TestCIRunsNothingWhereAgentsAreServed(t *testing.T) {
	for name, servers := range map[string][][]string{
		"its host is above":        {{"planloop", "serve"}},
		"two hosts are above":      {{"planloop", "serve"}, {"planloop", "serve"}},
		"its host is not a parent": {{"sh", "-c", "planloop serve; true"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			for i, server := range servers {
				cmd := h.program(server[0], server[1:]...)
				in, stdout := begin(t, cmd)
				defer func() { _, _ = in.Close(), cmd.Wait() }() // before the test's context ends and kills only the shell
				for _, line := range []string{
					`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
						`"clientInfo":{"name":"c` +
						strconv.Itoa(i) + `","version":"1"}}}`,
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
					`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"planning_enter_plan_mode",` +
						`"arguments":{"reason":"look"}}}`,
				} {
					if _, err := io.WriteString(in, line+"\n"); err != nil {
						t.Fatal(err)
					}
				}
				follow(t, stdout).waitFor(`"id":2`)
			}
			h.env = append(h.env, "CI=true")
			out, err := h.command("check", "--id", "tests", "--", "touch", "made").CombinedOutput()
			if _, made := os.Stat(filepath.Join(h.dir, "made")); made == nil || err == nil ||
				!strings.Contains(string(out), "Planning mode is read-only") {
				t.Errorf("%v, made: %v\n%s", err, made, out)
			}
		})
	}
}
