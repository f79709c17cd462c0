package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/planloop/planloop/internal/testenv"
)

// payload returns Claude Code's hook input before a tool: one of planloop's own, or of the host.
func (p *place) payload(tool string) string {
	if strings.HasPrefix(tool, "plan") {
		tool = "mcp__planloop__" + tool
	}
	return fmt.Sprintf(`{"session_id":"s1","cwd":%q,"hook_event_name":"PreToolUse","tool_name":%q,"tool_input":{}}`, p.workspace, tool)
}

// tell calls the hook as a command of the test, which acts as the host of the servers that it opens.
func (p *place) tell(tool string) {
	p.t.Helper()
	if got := p.feed(p.payload(tool), "hook", "claude", "pre-tool-use"); got.code != 0 || got.err != "" {
		p.t.Fatalf("hook: %+v", got)
	}
}

// told calls a tool after its hook.
func (p *place) told(h *host, tool string, args any) reply {
	p.t.Helper()
	p.tell(tool)
	return h.do(tool, args)
}

// enforcement returns the line on enforcement that people see, without times and the client's name.
func (p *place) enforcement() string {
	p.t.Helper()
	line := regexp.MustCompile(`(?m)^(Enforced|Not enforced|Hooks not responding).*$`).FindString(p.must("plan", "status"))
	line = regexp.MustCompile(`\d\d:\d\d|\d+ \w+ ago|just now`).ReplaceAllString(line, "TIME")
	return regexp.MustCompile(`\b(raw|agent)(#\w+)?'s`).ReplaceAllString(line, "NAME's")
}

func (p *place) expectEnforcement(when, want string) {
	p.t.Helper()
	if got := p.enforcement(); got != want {
		p.t.Errorf("%s: %q, want %q", when, got, want)
	}
}

const (
	canWrite = ", so its shell and editor can still write. Fix: planloop init, then start a new session."
	enforced = "Enforced: Claude Code's hooks check its tools (last heard TIME)."
	noHook   = "Not enforced: NAME's hooks have not responded" + canWrite
	untold   = "Hooks not responding since TIME: Claude Code's hook did not report the call of planloop_status" +
		", so its shell and editor can still write. Fix: start a new session."
)

// TestAttested: planning mode is enforced while hooks answer and report each of the agent's calls.
func TestAttested(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("init", "claude", "--yes")
	setUp(p, 1)
	h := p.open()
	p.told(h, "planning_enter_plan_mode", arguments{"reason": "it is large"})
	p.expectEnforcement("entered, and told of", enforced)
	p.tell("Bash") // refused
	p.tell("planning_mark_step")
	p.told(h, "planloop_status", arguments{})
	for _, got := range []string{p.must("plan", "status"), p.must("show")} {
		if !regexp.MustCompile(`\nEnforced: Claude Code's hooks check its tools \(last heard (\d+ s ago|just now)\)\.`).MatchString(got) {
			t.Errorf("it is not told:\n%s", got)
		}
	}
	p.withModule()
	p.told(h, "planning_submit_plan", submission("Add the Redis client"))
	h.do("planloop_status", arguments{})
	p.expectEnforcement("a call without its hook", untold)
	p.told(h, "planning_read_plan", arguments{})
	p.expectEnforcement("and one with it, in the same phase", untold)
	tty := p.person("approve")
	tty.waitFor(`Hooks not responding since [\d:]+(?s:.*)To approve it`)
	tty.typeIn("reject\n")
	tty.succeeds("Rejected")

	p.told(h, "planning_enter_plan_mode", arguments{"reason": "once more"})
	p.expectEnforcement("in another phase", enforced)
}

// TestAttestedFromTheBeginning: in a new workspace hooks count from the agent's next call on, no matter how planning mode begins.
func TestAttestedFromTheBeginning(t *testing.T) {
	t.Parallel()
	for name, enter := range map[string]func(p *place, h *host){
		"by a tool": func(p *place, h *host) { p.told(h, "planning_enter_plan_mode", arguments{"reason": "it is large"}) },
		"by a prompt": func(_ *place, h *host) {
			if _, err := h.request("prompts/get", arguments{"name": "plan", "arguments": arguments{"task": "Move"}}); err != nil {
				t.Error(err)
			}
		},
		"by a person": func(p *place, _ *host) { p.person("plan", "Move").succeeds("Planning mode is on") },
	} {
		p := newPlace(t)
		p.must("init", "claude", "--yes")
		h := p.open()
		enter(p, h)
		p.tell("Bash")                                                                       // refused
		if got := p.enforcement(); got != enforced && (got != "" || name != "by a person") { // its server has not announced itself
			t.Errorf("%s, a tool of the host's own: %q", name, got)
		}
		p.told(h, "planloop_status", arguments{})
		if got := p.enforcement(); got != enforced {
			t.Errorf("%s, a tool of planloop's: %q", name, got)
		}
		h.leave()
	}
}

// TestAttestedAtOnce: concurrent calls and hooks, and a restarted server.
func TestAttestedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("init", "claude", "--yes")
	setUp(p, 1)
	h := p.open()
	p.told(h, "planning_enter_plan_mode", arguments{"reason": "it is large"})
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() {
			if got, err := p.try(p.payload("planloop_status"), "hook", "claude", "pre-tool-use"); err != nil || got.code != 0 {
				t.Errorf("%+v, %v", got, err)
			}
			if _, err := h.tool("planloop_status", arguments{}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	p.expectEnforcement("five calls at once", enforced)
	p.tell("planloop_status")
	h.leave()
	p.expectEnforcement("nobody is at work", "")
	again := p.open()
	again.do("planloop_status", arguments{})
	p.expectEnforcement("the server is started anew with a call under way", enforced)
}

// TestAttestedStateless: a call that brings the user's answers counts as the call that asked.
func TestAttestedStateless(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("init", "claude", "--yes")
	setUp(p, 1)
	h := p.serve()
	call := func(tool string, args arguments, more arguments) map[string]any {
		params := arguments{"name": tool, "arguments": args, "_meta": arguments{
			"io.modelcontextprotocol/protocolVersion":    stateless,
			"io.modelcontextprotocol/clientCapabilities": arguments{"elicitation": arguments{}},
			"io.modelcontextprotocol/clientInfo":         arguments{"name": "raw", "version": "1"}}}
		for name, value := range more {
			params[name] = value
		}
		f, err := h.request("tools/call", params)
		var result map[string]any
		if err != nil || f.Error != nil || json.Unmarshal(f.Result, &result) != nil {
			t.Fatalf("%s: %v %+v", tool, err, f)
		}
		return result
	}
	p.tell("planning_enter_plan_mode")
	call("planning_enter_plan_mode", arguments{"reason": "it is large"}, nil)
	p.tell("planning_ask_user")
	question := arguments{"question": "Which Redis?"}
	asked := call("planning_ask_user", question, nil)
	requests, _ := asked["inputRequests"].(map[string]any)
	if len(requests) != 1 {
		t.Fatalf("nothing is asked: %v", asked)
	}
	answers := arguments{}
	for name := range requests {
		answers[name] = arguments{"action": "cancel"}
	}
	call("planning_ask_user", question, arguments{"requestState": asked["requestState"], "inputResponses": answers})
	p.expectEnforcement("asked in two calls", enforced)
}

// TestHookElsewhere: an agent is bound by the plan of its own server, wherever it works.
func TestHookElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	h := p.open()
	elsewhere := p.at(t.TempDir())
	write := func() string {
		payload := fmt.Sprintf(`{"cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"x"}}`,
			elsewhere.workspace)
		return elsewhere.feed(payload, "hook", "claude", "pre-tool-use").out
	}
	if got := write(); got != "" {
		t.Error("without planning mode:", got)
	}
	h.do("planning_enter_plan_mode", arguments{"reason": "it is large"})
	if got := write(); !strings.Contains(got, "(planning mode in "+p.workspace+")") {
		t.Error("in planning mode:", got)
	}
	h.leave()
	if got := write(); got != "" {
		t.Error("without a server there:", got)
	}
}

// TestForgedSigns: a hook counts if it descends, only through shells, from the program that started the agent's server. A hook that the
// agent itself runs there looks the same as its host's.
func TestForgedSigns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("init", "claude", "--yes")
	setUp(p, 1)
	a := p.agent("agent")
	payload := filepath.Join(t.TempDir(), "payload.json")
	testenv.Check(t, os.WriteFile(payload, []byte(p.payload("Read")), 0o600))
	const hook = `"$PLANLOOP" hook claude pre-tool-use <`
	other := filepath.Join(filepath.Dir(a.commands), "other") // a host below it: a shell under another name
	testenv.Check(t, os.Link(a.cmd.Path, other))
	a.do("planning_enter_plan_mode", arguments{"reason": "it is large"})
	p.expectEnforcement("without a hook", noHook)

	p.tell("Read")
	p.expectEnforcement("a hook of a program beside", noHook)
	if got := p.feed(p.payload("Read"), "--workspace", p.workspace, "hook", "gemini", "before-tool"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	p.expectEnforcement("as if of another host", noHook)
	if got := a.shell(other + ` -c '` + hook + payload + `; true'; true`); !strings.HasSuffix(got, "exit 0\n") {
		t.Error(got)
	}
	p.expectEnforcement("a hook of another host beneath", noHook)
	if got := a.shell(`setsid ` + hook + payload + `; ( ( ` + hook + payload + ` ) & ) | cat; true`); !strings.HasSuffix(got, "exit 0\n") {
		t.Error(got)
	}
	p.expectEnforcement("of a shell beneath, which is what hosts call their hooks by", enforced)

	t.Cleanup(func() { // the agent's own cleanup needs a reader for the pipe
		go func() { _, _ = os.ReadFile(a.commands) }()
	})
	if err := a.cmd.Process.Kill(); err != nil { // its server lives on: the test holds its input
		t.Fatal(err)
	}
	testenv.Check(t, unix.Waitid(unix.P_PID, a.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	p.expectEnforcement("the host was killed", "")
	a.leave()
}

// TestHooksRequired: an agent without working hooks cannot enter planning mode; a person at a terminal can.
func TestHooksRequired(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("init", "claude", "--yes")
	p.withModule()
	setUp(p, 1)
	p.env = append(p.env[:len(p.env):len(p.env)], "PLANLOOP_HOOKS=required")
	enter, task := arguments{"reason": "it is large"}, arguments{"name": "plan", "arguments": arguments{"task": "Move"}}

	h := p.open()
	for _, refused := range []string{h.refusal("planning_enter_plan_mode", enter),
		h.refusal("planning_submit_plan", submission("Add the Redis client"))} {
		if !strings.Contains(refused, "requires working hooks here, and this agent has none: its hooks have not responded") ||
			!strings.Contains(refused, "planloop init") {
			t.Error(refused)
		}
	}
	if f, err := h.request("prompts/get", task); err != nil || !strings.Contains(string(f.Result), "requires working hooks") {
		t.Errorf("the prompt: %v, %s", err, f.Result)
	}
	over := connect(t, p.transport("http"), handshake, nil)
	if got, err := over.tool("planning_enter_plan_mode", enter); err != nil || !got.refused || !strings.Contains(got.text, "over HTTP") {
		t.Errorf("over HTTP: %v, %+v", err, got)
	}
	if got := p.run("--agent", "builder", "plan", "Move the sessions"); got.code != 2 || !strings.Contains(got.err, "working hooks") {
		t.Errorf("in a shell: %+v", got)
	}

	notes, err := filepath.Glob(filepath.Join(p.home, "planloop", "hooks", "*", "*.unseen"))
	if err != nil || len(notes) != 1 || os.Remove(notes[0]) != nil { // a hook right after a call without one would count as late
		t.Errorf("%q, %v", notes, err)
	}
	p.told(h, "planning_enter_plan_mode", enter)
	p.person("plan", "cancel").succeeds()
	if got := h.refusal("planning_enter_plan_mode", enter); !strings.Contains(got, "its hook did not report the call of planning_enter") {
		t.Errorf("its hook is silent: %s", got)
	}
	p.tell("Read")
	if f, err := h.request("prompts/get", task); err != nil || !strings.Contains(string(f.Result), "Entered planning mode") {
		t.Errorf("the prompt, once a hook answers again: %v, %s", err, f.Result)
	}
	p.person("plan", "cancel").succeeds()
	p.person("plan", "Move the sessions").succeeds("Planning mode is on")
	if _, err := over.tool("planloop_status", arguments{}); err != nil {
		t.Error(err)
	}
	if got := p.must("plan", "status"); !strings.Contains(got, "over HTTP") {
		t.Errorf("the agent over HTTP is missing in\n%s", got)
	}
}
