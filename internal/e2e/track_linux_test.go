package e2e_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// hostSession is a session of a host whose hooks report its calls. The test is the host.
type hostSession struct {
	*testing.T
	p  *place
	h  *host
	id string
}

// tell calls the hook before a tool, and returns its answer.
func (s hostSession) tell(tool, use string, args any) string {
	s.Helper()
	if strings.HasPrefix(tool, "plan") {
		tool = "mcp__planloop__" + tool
	}
	payload, err := json.Marshal(arguments{"session_id": s.id, "cwd": s.p.workspace, "hook_event_name": "PreToolUse", "tool_name": tool,
		"tool_input": args, "tool_use_id": use})
	if err != nil {
		s.Fatal(err)
	}
	got := s.p.feed(string(payload), "hook", "claude", "pre-tool-use")
	if got.code != 0 {
		s.Fatalf("hook: %+v", got)
	}
	return got.out
}

// twoPlans returns two sessions of a host, with a plan on main and one on fix-the-docs.
func twoPlans(t *testing.T) (login, docs hostSession) {
	t.Helper()
	p := newPlace(t)
	h := p.open()
	login, docs = hostSession{t, p, h, "login"}, hostSession{t, p, h, "docs"}
	login.call("planning_setup_plan", planOf("Add login", "Write the form"))
	docs.call("planning_setup_plan", planOf("Fix the docs", "Correct the README"))
	return login, docs
}

// call calls a tool as a host does: its hook first.
func (s hostSession) call(tool string, args arguments) string {
	s.Helper()
	s.tell(tool, "", args)
	got, err := s.h.tool(tool, args)
	if err != nil {
		s.Fatal(err)
	}
	return got.text
}

// TestHooksTellSessionsOfAConnectionApart: a host serves two sessions by one server. Each has its own plan, through hooks that report
// arguments or ids of calls; a call that both report is nobody's.
func TestHooksTellSessionsOfAConnectionApart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.open()
	login, docs := hostSession{t, p, h, "login"}, hostSession{t, p, h, "docs"}
	status := arguments{}
	login.call("planning_setup_plan", planOf("Add login", "Write the form"))
	begun := docs.call("planning_setup_plan", planOf("Fix the docs", "Correct the README"))
	if !strings.Contains(begun, "new track fix-the-docs") {
		t.Error(begun)
	}
	for range 2 {
		for _, c := range []struct {
			s   hostSession
			own string
		}{{login, "Write the form"}, {docs, "Correct the README"}} {
			if got := c.s.call("planloop_status", status); !strings.Contains(got, c.own) {
				t.Errorf("%s: %s", c.s.id, got)
			}
		}
	}
	// Both are about to make the same call.
	login.tell("planloop_status", "", status)
	docs.tell("planloop_status", "", status)
	if got := h.do("planloop_status", status).text; !strings.Contains(got, "choose_track") || strings.Contains(got, "Goal") {
		t.Errorf("a call that two sessions report: %s", got)
	}
	if got := h.do("planloop_status", status).text; !strings.Contains(got, "choose_track") {
		t.Errorf("the other of them: %s", got)
	}
	// With ids the reports are told apart.
	login.tell("planloop_status", "use-1", status)
	docs.tell("planloop_status", "use-2", status)
	for use, own := range map[string]string{"use-2": "Correct the README", "use-1": "Write the form"} {
		if got := h.as(arguments{"claudecode/toolUseId": use}, "planloop_status", status).text; !strings.Contains(got, own) {
			t.Errorf("%s: %s", use, got)
		}
	}
	// After a restart of the host the sessions are on their tracks.
	h.leave()
	login.h, docs.h = p.open(), nil
	if got := login.call("planloop_status", status); !strings.Contains(got, "Write the form") {
		t.Error(got)
	}
	docs.h = login.h
	if got := docs.call("planning_mark_step", arguments{"step_id": "S001", "status": "done"}); !strings.Contains(got, "1/1") {
		t.Error(got)
	}
	p.sound()
}

// TestPlanningModeHoldsItsTrack: it holds the sessions of its track with all that they start, and sessions on no track, wherever they
// are pointed; a session on another track works on.
func TestPlanningModeHoldsItsTrack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.agent("agent")
	a.do("planning_setup_plan", planOf("Add login", "Write the form"))
	docs := hostSession{t, p, p.open(), "docs"}
	docs.call("planning_setup_plan", planOf("Fix the docs", "Correct the README"))
	again := docs.call("planning_setup_plan", planOf("Fix the docs again", "Correct the README"))
	former := regexp.MustCompile(`plan restore ([a-z0-9-]+)`).FindStringSubmatch(again)
	if former == nil {
		t.Fatal(again)
	}
	a.do("planning_enter_plan_mode", arguments{"reason": "it is large"})

	write := arguments{"file_path": filepath.Join(p.workspace, "x"), "content": "x"}
	if got := docs.tell("Write", "", write); got != "" {
		t.Errorf("the session of another track is held: %s", got)
	}
	if got := docs.call("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"}); !strings.Contains(got, "S001") ||
		strings.Contains(got, "Nothing was changed") {
		t.Errorf("the session of another track cannot work: %s", got)
	}
	if got := (hostSession{t, p, nil, "new"}).tell("Write", "", write); !strings.Contains(got, "Planning mode") {
		t.Errorf("a session on no track is not held: %q", got)
	}
	if got := p.must("--track", "main", "plan", "status"); !strings.Contains(got, "works on track fix-the-docs and can change files") {
		t.Errorf("the session that is not held is not named:\n%s", got)
	}

	before := map[string]string{}
	for _, track := range []string{"main", "fix-the-docs"} {
		before[track] = p.must("--track", track, "log")
	}
	call := filepath.Join(t.TempDir(), "calls.jsonl")
	var lines strings.Builder
	calling := func(tool string, args arguments) arguments {
		return arguments{"method": "tools/call", "params": arguments{"name": tool, "arguments": args}}
	}
	for i, request := range []arguments{
		{"method": "initialize", "params": arguments{"protocolVersion": "2025-06-18", "capabilities": arguments{},
			"clientInfo": arguments{"name": "child", "version": "1"}}},
		calling("planloop_status", arguments{"track": "fix-the-docs"}),
		calling("planning_mark_step", arguments{"step_id": "S001", "status": "done"}),
		calling("planning_setup_plan", planOf("Escape", "Run")),
		calling("planloop_start", arguments{"goal": "Escape", "track": "escape"}),
	} {
		request["jsonrpc"], request["id"] = "2.0", i
		line, err := json.Marshal(request)
		testenv.Check(t, err)
		fmt.Fprintf(&lines, "%s\n", line)
	}
	testenv.Check(t, os.WriteFile(call, []byte(lines.String()), 0o600))
	for _, way := range []string{
		`"$PLANLOOP" --track fix-the-docs step mark S001 done`,
		`PLANLOOP_TRACK=fix-the-docs "$PLANLOOP" step add Escape`,
		`PLANLOOP_AGENT=carl "$PLANLOOP" start Escape --step Run`,
		`"$PLANLOOP" --agent carl --track fix-the-docs step mark S001 done`,
		`"$PLANLOOP" --track escape start Escape --step Run`,
		`"$PLANLOOP" --track fix-the-docs plan restore ` + former[1],
		`"$PLANLOOP" --track fix-the-docs alert --id x -m y`,
		`"$PLANLOOP" serve <` + call,
		`PLANLOOP_AGENT=carl "$PLANLOOP" serve <` + call,
		`"$PLANLOOP" serve --track fix-the-docs <` + call,
		`PLANLOOP_TRACK=fix-the-docs "$PLANLOOP" serve <` + call,
		`CLAUDE_CODE_SESSION_ID=docs "$PLANLOOP" --track fix-the-docs step mark S001 done`,
	} {
		got := a.shell(way)
		for track, log := range before {
			if now := p.must("--track", track, "log"); now != log {
				t.Errorf("%s changed %s:\n%s\n%s", way, track, now, got)
				before[track] = now
			}
		}
		if all := p.tracks(); len(all) != 1 {
			t.Fatalf("%s began a track: %q\n%s", way, all, got)
		}
	}
	refused := a.refusal("planloop_status", arguments{"track": "fix-the-docs"})
	if !strings.Contains(refused, "holds this session on track main") {
		t.Error(refused)
	}
	p.sound()
}

// TestUnknownSessionIsHeld: of two sessions that one server serves, planning mode holds one. A call that both report begins and changes
// nothing.
func TestUnknownSessionIsHeld(t *testing.T) {
	t.Parallel()
	login, docs := twoPlans(t)
	p := login.p
	login.call("planning_enter_plan_mode", arguments{"reason": "it is large"})
	before := p.must("--track", "fix-the-docs", "log")
	for _, c := range []struct {
		tool string
		args arguments
	}{
		{"planloop_start", arguments{"goal": "Escape", "track": "escape"}},
		{"planloop_start", arguments{"goal": "Escape", "track": "fix-the-docs"}},
		{"planning_setup_plan", planOf("Escape", "Run")},
		{"planning_enter_plan_mode", arguments{"reason": "escape"}},
	} {
		login.tell(c.tool, "", c.args)
		docs.tell(c.tool, "", c.args)
		got, err := login.h.tool(c.tool, c.args) // to enter a mode that is on already is no error
		testenv.Check(t, err)
		if all := p.tracks(); len(all) != 1 || p.must("--track", "fix-the-docs", "log") != before {
			t.Errorf("%s %v: tracks %q\n%s", c.tool, c.args, all, got.text)
		}
	}
}

// TestHeldSessionTakesNoTrackOfANamedAgent: a server of its shell names the session under the name of an agent on another track.
func TestHeldSessionTakesNoTrackOfANamedAgent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("start", "Add login", "--step", "Write the form")
	p.must("--track", "fix-the-docs", "start", "Fix the docs", "--step", "Correct the README")
	p.agent("named", "PLANLOOP_AGENT=dora").do("planloop_status", arguments{"track": "fix-the-docs"})
	p.person("--track", "main", "plan", "start", "it is large").succeeds("lanning")
	var call strings.Builder
	for i, request := range []arguments{
		{"method": "initialize", "params": arguments{"protocolVersion": "2025-06-18", "capabilities": arguments{},
			"clientInfo": arguments{"name": "child", "version": "1"}}},
		{"method": "tools/call", "params": arguments{"name": "planloop_status", "arguments": arguments{},
			"_meta": arguments{"openai/session": "new"}}},
	} {
		request["jsonrpc"], request["id"] = "2.0", i
		line, err := json.Marshal(request)
		testenv.Check(t, err)
		fmt.Fprintf(&call, "%s\n", line)
	}
	path := filepath.Join(t.TempDir(), "call.jsonl")
	testenv.Check(t, os.WriteFile(path, []byte(call.String()), 0o600))
	p.agent("agent").shell(`PLANLOOP_AGENT=dora "$PLANLOOP" serve <` + path)
	write := arguments{"file_path": filepath.Join(p.workspace, "x"), "content": "x"}
	if got := (hostSession{t, p, nil, "new"}).tell("Write", "", write); !strings.Contains(got, "Planning mode") {
		t.Errorf("the session is not held any more: %q", got)
	}
}

// TestDamagedBindingIsHeld: a session of unreadable or lost origin begins and joins no track while planning mode is on, though others are
// known to be on the track that holds it.
func TestDamagedBindingIsHeld(t *testing.T) {
	t.Parallel()
	login, docs := twoPlans(t)
	p := login.p
	login.call("planning_enter_plan_mode", arguments{"reason": "it is large"})
	ofLogin := fmt.Sprintf("%x", sha256.Sum256([]byte("login")))[:32] + ".seen"
	bindings, err := filepath.Glob(filepath.Join(p.stateDir(), "sessions", "*.seen"))
	if err != nil || len(bindings) < 2 {
		t.Fatal(bindings, err)
	}
	for _, damage := range []string{"only its own removed", "all removed", "", "{x"} {
		if damage == "all removed" { // then no server knows which session entered
			login.h.kill()
			login.h = p.open()
		}
		for _, file := range bindings {
			content := damage
			if strings.Contains(damage, "removed") {
				content = `{"track":"main"}`
			}
			testenv.Check(t, os.WriteFile(file, []byte(content), 0o600))
			if isOwn := filepath.Base(file) == ofLogin; damage == "all removed" || damage == "only its own removed" && isOwn {
				testenv.Check(t, os.Remove(file))
			}
		}
		for _, track := range []string{"escape", "fix-the-docs"} {
			got := login.call("planloop_start", arguments{"goal": "Escape", "track": track})
			if !strings.Contains(got, "holds this session on track main") {
				t.Errorf("damaged to %q, track %s: %s", damage, track, got)
			}
		}
		if got := docs.tell("Write", "", arguments{"file_path": filepath.Join(p.workspace, "x")}); !strings.Contains(got, "Planning mode") {
			t.Errorf("damaged to %q, a file: %q", damage, got)
		}
	}
	if all := p.tracks(); len(all) != 1 {
		t.Errorf("tracks: %q", all)
	}
}

// TestClearedSessionStaysHeld: a cleared session has another name. It is on the track of its host's last session, or held with any.
func TestClearedSessionStaysHeld(t *testing.T) {
	t.Parallel()
	login, docs := twoPlans(t)
	p := login.p
	clear := func(session string) hostSession {
		t.Helper()
		payload := fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":"SessionStart","source":"clear"}`, session, p.workspace)
		if got := p.feed(payload, "hook", "claude", "session-start"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		return hostSession{t, p, login.h, session}
	}
	if got := clear("docs-2").call("planloop_status", arguments{}); !strings.Contains(got, "Correct the README") {
		t.Error(got)
	}
	login.call("planning_enter_plan_mode", arguments{"reason": "it is large"})
	docs.call("planloop_status", arguments{})
	cleared := clear("login-2")
	if got := cleared.tell("Write", "", arguments{"file_path": filepath.Join(p.workspace, "x")}); !strings.Contains(got, "Planning mode") {
		t.Errorf("not held: %q", got)
	}
	if got := cleared.call("planloop_status", arguments{}); !strings.Contains(got, "gathering") {
		t.Error(got)
	}
}

// loginDraft returns the arguments that submit a plan of one step.
func loginDraft(summary string) arguments {
	return arguments{"summary": summary, "steps": []arguments{{"title": "Describe `login` in README.md", "type": "chore",
		"context_hints": []string{"README.md"}, "relevant_file_paths": []string{"README.md"},
		"acceptance_criteria": []string{"README.md describes it"}}}}
}

// askingCall calls a tool for a user who answers each question with a decision. It returns the reply, and the questions.
func (h *host) askingCall(era, tool string, args arguments, decision string) (answer reply, questions []string) {
	h.t.Helper()
	params := arguments{"name": tool, "arguments": args}
	content := arguments{"action": "accept", "content": arguments{"decision": decision, "comment": "c"}}
	if era == stateless {
		params["_meta"] = arguments{"io.modelcontextprotocol/protocolVersion": stateless,
			"io.modelcontextprotocol/clientCapabilities": arguments{"elicitation": arguments{}},
			"io.modelcontextprotocol/clientInfo":         arguments{"name": "raw", "version": "1"}}
	}
	sent, err := h.ask("tools/call", params)
	for err == nil {
		select {
		case m := <-h.messages:
			if m.Method == "elicitation/create" {
				questions = append(questions, string(m.Params))
				line, _ := json.Marshal(arguments{"jsonrpc": "2.0", "id": m.ID, "result": content})
				err = h.write(string(line))
			}
		case f := <-sent.answer:
			var asks struct {
				State    string                     `json:"requestState"`
				Requests map[string]json.RawMessage `json:"inputRequests"`
			}
			if _ = json.Unmarshal(f.Result, &asks); asks.State == "" {
				answer, err = f.asTool()
				if err != nil {
					h.t.Fatal(err)
				}
				return answer, questions
			}
			answers := arguments{}
			for name, question := range asks.Requests {
				questions, answers[name] = append(questions, string(question)), content
			}
			params["requestState"], params["inputResponses"] = asks.State, answers
			sent, err = h.ask("tools/call", params)
		}
	}
	h.t.Fatal(err)
	return reply{}, nil
}

// TestDialogueOnTheTrackOfItsCall has a call begin or join a track beside a waiting plan that is the same, with the same request. The
// user is asked about the call's plan, and the answer decides about that plan only.
func TestDialogueOnTheTrackOfItsCall(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"2025-11-25", stateless} {
		for _, joins := range []bool{false, true} {
			for decision, done := range map[string]string{"approve": "approved", "reject": "rejected", "edit": "returned"} {
				t.Run(fmt.Sprint(era, " joins ", joins, " ", decision), func(t *testing.T) {
					t.Parallel()
					p := newPlace(t)
					testenv.Check(t, os.WriteFile(filepath.Join(p.workspace, "README.md"), []byte("x"), 0o644))
					other := p.agent("agent")
					other.do("planning_submit_plan", loginDraft("Describe the login"))
					tool, args := "planning_submit_plan", loginDraft("Describe the login")
					if joins {
						author := p.open()
						author.do(tool, args)
						author.kill()
						tool, args = "planloop_status", arguments{"track": filepath.Base(p.tracks()[0])}
					}
					h := p.serve()
					if era != stateless {
						testenv.Check(t, h.initializeWith(arguments{"elicitation": arguments{}}))
					}
					got, questions := h.askingCall(era, tool, args, decision)
					if len(questions) != 1 || !strings.Contains(questions[0], "Approve this plan?") {
						t.Errorf("asked %q", questions)
					}
					if got.refused || !strings.Contains(got.text, "The plan was "+done) {
						t.Errorf("refused: %t, %s", got.refused, got.text)
					}
					if isNew := strings.Contains(got.text, "\nTrack: "); era != stateless && isNew == joins {
						t.Errorf("new track reported: %t, %s", isNew, got.text)
					}
					decided := regexp.MustCompile(`plan was (approved|rejected|returned)| (approved|rejected|returned) `)
					if log := p.must("--track", "main", "log"); decided.MatchString(log) {
						t.Errorf("the other plan was decided: %s", log)
					}
					if log := p.must("--track", filepath.Base(p.tracks()[0]), "log"); !decided.MatchString(log) {
						t.Errorf("undecided: %s", log)
					}
				})
			}
		}
	}
}
