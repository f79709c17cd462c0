package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// agent is the program of an agent: it starts a server, which the test talks to, and runs given command lines in its own shell.
type agent struct {
	*host
	commands, output string // named pipes
}

const agentScript = `
exec 3<&0
"$PLANLOOP" serve <&3 &
export SERVER=$!
while read -r line <"$COMMANDS"; do sh -c "$line; echo exit \$?" >"$OUTPUT" 2>&1 </dev/null; done
wait`

// agent starts an agent with a program name. It is a shell under another name.
func (p *place) agent(name string, env ...string) agent {
	p.t.Helper()
	return p.agentBelow(func(*exec.Cmd) {}, name, env...)
}

// agentBelow starts an agent whose command is changed first, as by lineagetest.Apart.
func (p *place) agentBelow(change func(*exec.Cmd), name string, env ...string) agent {
	p.t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		p.t.Skip("there is no sh")
	}
	program, err := os.ReadFile(shell)
	if err != nil {
		p.t.Fatal(err)
	}
	dir := p.t.TempDir()
	copied := filepath.Join(dir, name)
	if err := os.WriteFile(copied, program, 0o700); err != nil {
		p.t.Fatal(err)
	}
	a := agent{commands: filepath.Join(dir, "commands"), output: filepath.Join(dir, "output")}
	for _, pipe := range []string{a.commands, a.output} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	cmd := p.command()
	cmd.Path, cmd.Args = copied, []string{copied, "-c", agentScript}
	cmd.Env = append(cmd.Env, "PLANLOOP="+os.Getenv(binaryVariable), "COMMANDS="+a.commands, "OUTPUT="+a.output)
	cmd.Env = append(cmd.Env, env...)
	change(cmd)
	if a.host, err = p.start(cmd); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { // an empty command ends it
		if err := os.WriteFile(a.commands, nil, 0); err != nil {
			p.t.Error(err)
		}
	})
	if err := a.initialize(); err != nil {
		p.t.Fatal(err)
	}
	return a
}

// shell runs a command line below the agent, and returns its output and exit code.
func (a agent) shell(line string) string {
	a.t.Helper()
	if err := os.WriteFile(a.commands, []byte(line+"\n"), 0); err != nil {
		a.t.Fatal(err)
	}
	printed, err := os.ReadFile(a.output)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(printed)
}

// started has the agent start a step over its connection, and returns the agent's name.
func (p *place) started(a agent, step string) string {
	p.t.Helper()
	a.do("planning_mark_step", arguments{"step_id": step, "status": "in_progress"})
	name := lastActor(p.t, p)
	if !strings.HasPrefix(name, "raw#") {
		p.t.Fatalf("the client is called %q", name)
	}
	return name
}

// TestShellOfAnAgentIsTheAgent: an agent's own shell may continue a step that the agent started over MCP, and no other shell may.
func TestShellOfAnAgentIsTheAgent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	p.must("sync")
	a := p.agent("agent")
	name := p.started(a, "S001")
	shown, _, _ := strings.Cut(name, "#") // to people
	for _, command := range []string{"resume", "status", "status --json", "check --id tests -- true"} {
		got := a.shell(`"$PLANLOOP" ` + command)
		if strings.Contains(got, "is working on") || !strings.Contains(got, "step mark S001 done") {
			t.Errorf("%s in the agent's shell:\n%s", command, got)
		}
	}
	if got := p.must("resume"); !strings.Contains(got, shown+` is working on S001`) {
		t.Errorf("resume elsewhere does not wait for the owner:\n%s", got)
	}
	p.must("step", "add", "Step number 2", "Step number 3")
	if got := p.run("step", "mark", "S001", "done"); got.code == 0 || !strings.Contains(got.out+got.err, shown) {
		t.Errorf("another finished the step: %+v", got)
	}
	for _, line := range []string{ // alone, in a pipe, below other programs, and with CI set
		`"$PLANLOOP" step mark S001 done`,
		`"$PLANLOOP" step mark S002 in_progress | cat`,
		`env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" sh -c "( '$PLANLOOP' step mark S002 done; true )"`,
		`CI=true "$PLANLOOP" step mark S003 in_progress`,
	} {
		if got := a.shell(line); !strings.HasSuffix(got, "exit 0\n") || lastActor(t, p) != name {
			t.Errorf("%s: by %s\n%s", line, lastActor(t, p), got)
		}
	}
	if got := a.shell(`"$PLANLOOP" --agent builder step mark S003 done`); strings.HasSuffix(got, "exit 0\n") {
		t.Errorf("an agent that says who it is, is somebody else:\n%s", got)
	}
	a.shell(`kill -9 $SERVER; while grep -qs "^State:.[^Z]" /proc/$SERVER/status; do :; done`)
	out := a.shell(`"$PLANLOOP" step add "Step number 4" && "$PLANLOOP" step mark S004 in_progress`)
	if got := lastActor(t, p); got != "tester" {
		t.Errorf("after its server was killed the shell is %s\n%s", got, out)
	}
}

// TestShellsThatAreNobodys: below a host that people use as well, a command is the caller that it claims to be; below one with servers of
// two clients it is an agent, but neither of the two.
func TestShellsThatAreNobodys(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"zsh", "tmux", "code"} {
		p := newPlace(t)
		setUp(p, 2)
		a := p.agent(name)
		p.started(a, "S001")
		a.shell(`"$PLANLOOP" step mark S002 in_progress`)
		if got := lastActor(t, p); got != "tester" {
			t.Errorf("beneath %s a shell is %s", name, got)
		}
	}

	p := newPlace(t)
	setUp(p, 3)
	for _, step := range []string{"S001", "S002"} { // both belong to this process
		h := p.open()
		h.do("planning_mark_step", arguments{"step_id": step, "status": "in_progress"})
	}
	p.must("step", "mark", "S003", "in_progress")
	if got := lastActor(t, p); got != "agent" {
		t.Errorf("beneath two clients a shell is %s", got)
	}
}

// TestPersonBelowAHost: a user at a terminal is a person, in any program, with all rights of a person.
func TestPersonBelowAHost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 2)
	h := p.open() // this process's own
	h.do("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
	p.person("step", "claim", "S001", "--force").succeeds("S001")
	if got := p.records(1); got[len(got)-1].Actor.Name != "tester" {
		t.Errorf("claimed by %+v", got[len(got)-1].Actor)
	}
	p.must("step", "mark", "S002", "in_progress")
	if got := lastActor(t, p); !strings.HasPrefix(got, "raw#") {
		t.Errorf("without a terminal it is %s", got)
	}
	if got := p.run("answer", "Q1", "yes"); got.code == 0 || !strings.Contains(got.out+got.err, "person") {
		t.Errorf("what is a person's to do: %+v", got)
	}
}

// TestServerOfAnAgentsScript: a server started by a script in the agent's shell asks no user, though its environment contains no sign of
// the agent.
func TestServerOfAnAgentsScript(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.withModule()
	setUp(p, 1)
	a := p.agent("agent")
	a.do("planning_read_plan", arguments{}) // makes its server known
	submit, call := asking(t, "planning_submit_plan", submission("Add the Redis client")), filepath.Join(t.TempDir(), "call.jsonl")
	testenv.Check(t, os.WriteFile(call, []byte(submit), 0o600))
	const script = `env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" "$PLANLOOP" serve <`
	if got := a.shell(script + call + "; true"); !strings.Contains(got, "Plan submitted") || strings.Contains(got, "inputRequests") {
		t.Errorf("the script's server asks its client:\n%s", got)
	}
	if got := p.feed(submit, "serve"); !strings.Contains(got.out, "inputRequests") {
		t.Errorf("a server of another host does not ask: %+v", got)
	}
}

// asking returns a stateless call of a client that can ask its user.
func asking(t *testing.T, tool string, args any) string {
	t.Helper()
	text, err := json.Marshal(args)
	testenv.Check(t, err)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},`+
		`"io.modelcontextprotocol/clientInfo":{"name":"script","version":"1"}}}}`+"\n", tool, text)
}

// TestSessionOfAHost: a shell that does not descend from its host is recognized by its session.
func TestSessionOfAHost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 3)
	session := "CLAUDE_CODE_SESSION_ID=one"
	name := p.started(p.agent("agent", session), "S001")

	p.env = append(p.env[:len(p.env):len(p.env)], session)
	p.must("step", "mark", "S001", "done")
	if got := lastActor(t, p); got != name {
		t.Errorf("of the same session, and is %s", got)
	}
	p.env[len(p.env)-1] = "CLAUDE_CODE_SESSION_ID=two"
	p.must("step", "mark", "S002", "in_progress")
	if got := lastActor(t, p); got != "tester" {
		t.Errorf("of another session, and is %s", got)
	}
}
