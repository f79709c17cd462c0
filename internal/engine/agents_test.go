package engine_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

func TestFor(t *testing.T) {
	program := []string{"true"}
	config := engine.AgentConfig{"default": {Command: program}, "reviewer": {Command: program, Starts: new(3)}}
	both := testenv.Must(engine.NewAgents(config, engine.AgentOptions{}))(t)
	one := testenv.Must(engine.NewAgents(engine.AgentConfig{"reviewer": {Command: program}}, engine.AgentOptions{}))(t)
	for _, c := range []struct {
		a               *engine.Agents
		suggested, want string
	}{
		{both, "", "default"}, {both, "reviewer", "reviewer"}, {both, " Reviewer ", "reviewer"}, {both, "a database expert", "default"},
		{one, "", ""}, {one, "reviewer", "reviewer"}, {one, "default", ""},
	} {
		if name, ok := c.a.For(c.suggested); name != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q %t", c.suggested, name, ok)
		}
	}
	if both.Starts("reviewer") != 3 || both.Starts("default") != 0 || both.Starts("nobody") != 0 {
		t.Error("how many starts?")
	}
}

func TestConfigurationsThatCannotBeUsed(t *testing.T) {
	command := []string{"claude", "-p"}
	for says, c := range map[string]engine.AgentConfig{
		`agents."A B" is not a valid agent name`: {"A B": {Command: command}},
		`agents."" is not a valid agent name`:    {"": {Command: command}},
		`xxx" is not a valid agent name`:         {strings.Repeat("x", 33): {Command: command}},
		"x.command names no program":             {"x": {}},
		"x.command begins with a relative path":  {"x": {Command: []string{"./claude"}}},
		"x.command cannot be given to a program": {"x": {Command: []string{"claude", "a\x00b"}}},
		"x.timeout of 1ms is out of range":       {"x": {Command: command, Timeout: time.Millisecond}},
		"x.timeout of 25h0m0s is out of range":   {"x": {Command: command, Timeout: 25 * time.Hour}},
		"x.starts is 0":                          {"x": {Command: command, Starts: new(0)}},
		"x.starts is -1":                         {"x": {Command: command, Starts: new(-1)}},
		"x.env holds a text that cannot be":      {"x": {Command: command, Env: []string{"KEY=secret"}}},
	} {
		_, err := engine.NewAgents(c, engine.AgentOptions{})
		if !errors.Is(err, outbound.ErrConfig) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// A missing program or folder, and variables without a value, are reported before anything is started.
func TestWhatKeepsAnAgentFromBeingStarted(t *testing.T) {
	self := testenv.Must(os.Executable())(t)
	a, err := engine.NewAgents(engine.AgentConfig{"fine": {Command: []string{self}, Dir: "below", Env: []string{"KEY"}},
		"gone": {Command: []string{"no-such-program"}}, "lost": {Command: []string{self}, Dir: "nowhere"},
		"poor": {Command: []string{self}, Env: []string{"KEY", "EMPTY", "NONE"}}},
		engine.AgentOptions{Workspace: t.TempDir(), Environ: []string{"KEY=1", "EMPTY="}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"poor": "", "gone": `agents.gone.command starts "no-such-program", which cannot be started`,
		"lost": `agents.lost.dir is "nowhere", but that folder does not exist`, "fine": "agents.fine.dir"} {
		err := a.Check(name)
		if got := err != nil; got != (want != "") || got && (!errors.Is(err, outbound.ErrConfig) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if unset := a.Unset("poor"); !slices.Equal(unset, []string{"EMPTY", "NONE"}) || a.Unset("fine") != nil {
		t.Error(unset)
	}
	if names := a.Names(); !slices.Equal(names, []string{"fine", "gone", "lost", "poor"}) {
		t.Error(names)
	}
}

// BenchmarkWork measures planloop's overhead for a command that does nothing, in a folder without files.
func BenchmarkWork(b *testing.B) {
	a, err := engine.NewAgents(engine.AgentConfig{"default": {Command: []string{"true"}}},
		engine.AgentOptions{Workspace: b.TempDir(), Launcher: launcher()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		testenv.Must(a.Work(b.Context(), engine.AgentAssignment{Agent: "default", Nonce: nonce, Log: io.Discard}))(b)
	}
}

const nonce = "n0nce4711"

// With this argument and a name the test binary is a scripted agent.
const scripted = "-scripted-agent"

func TestMain(m *testing.M) {
	process.Keep()
	if len(os.Args) > 2 && os.Args[1] == scripted {
		script()[os.Args[2]](os.Args[3:])
		return
	}
	os.Exit(testenv.Fixed{Tests: m}.Run())
}

// script returns the scripted agents by name.
func script() map[string]func(args []string) {
	return map[string]func([]string){
		"say":     func(args []string) { fmt.Print(strings.Join(args, "\n")) },
		"prompt":  func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
		"environ": func([]string) { fmt.Print(strings.Join(os.Environ(), "\n")) },
		"report and hang": func(args []string) {
			fmt.Print(args[0])
			hang()
		},
		"hang": func([]string) { fmt.Println("hanging"); hang() },
		"secrets": func([]string) {
			secret := os.Getenv("MODEL_ENDPOINT")
			for _, part := range []string{"the endpoint: ", secret[:5], secret[5:], "\n"} {
				fmt.Print(part) // one write each
			}
			fmt.Println("found in a file: 0a0b0c0d0e0f")
			fmt.Println(reportLine("done", "it is "+secret))
		},
		"exit":    func([]string) { os.Exit(7) },
		"streams": func([]string) { fmt.Println("out"); fmt.Fprintln(os.Stderr, "err") },
	}
}

// hang never ends by itself. It sleeps, because without cgo Go ends a program in which all goroutines wait.
func hang() { time.Sleep(time.Hour) }

func reportLine(status, output string) string {
	return fmt.Sprintf(`{"planloop": %q, "status": %q, "output": %q, "affected_files": ["a.go"], "note": "n"}`, nonce, status, output)
}

// rig is a folder with one agent, the test binary.
type rig struct {
	config  engine.Agent
	options engine.AgentOptions
	work    engine.AgentAssignment
	log     bytes.Buffer
}

// launcher is shared in this process: two would take each other's keepers for orphans.
var launcher = sync.OnceValue(func() *process.Launcher {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &process.Launcher{Program: program}
})

func newRig(t *testing.T, name string, args ...string) *rig {
	t.Helper()
	r := &rig{config: engine.Agent{Command: append([]string{launcher().Program, scripted, name}, args...)}}
	r.options = engine.AgentOptions{Workspace: t.TempDir(), Launcher: launcher()}
	r.work = engine.AgentAssignment{
		Agent: engine.DefaultAgent, Step: 3, Attempt: 1, Nonce: nonce, Prompt: "S003\n", Timeout: time.Minute,
		Log: &r.log}
	return r
}

func (r *rig) agents(t *testing.T) *engine.Agents {
	t.Helper()
	a := testenv.Must(engine.NewAgents(engine.AgentConfig{engine.DefaultAgent: r.config}, r.options))(t)
	return a
}

func (r *rig) do(t *testing.T) engine.AgentOutcome {
	t.Helper()
	out := testenv.Must(r.agents(t).Work(t.Context(), r.work))(t)
	return out
}

func TestReportIsHeard(t *testing.T) {
	out := newRig(t, "say", "working", reportLine("done", "all well"), "").do(t)
	if out.Report == nil || out.Report.Status != plan.Done || out.Report.Output != "all well" || out.Report.Note != "n" ||
		!slices.Equal(out.Report.AffectedFiles, []string{"a.go"}) || out.ExitCode != 0 || out.TimedOut || out.Took <= 0 {
		t.Errorf("%+v %+v", out, out.Report)
	}
	if !strings.HasPrefix(out.Tail, "working\n") {
		t.Errorf("%q", out.Tail)
	}
}

func TestPromptIsItsInput(t *testing.T) {
	r := newRig(t, "prompt")
	r.work.Prompt = "S003\n" + strings.Repeat("line of the prompt\n", 50_000)
	if r.do(t); r.log.String() != r.work.Prompt {
		t.Errorf("%d bytes came back of %d", r.log.Len(), len(r.work.Prompt))
	}
}

func TestPromptMayBeIgnored(t *testing.T) {
	r := newRig(t, "say", reportLine("blocked", ""))
	r.work.Prompt = strings.Repeat("line of the prompt\n", 500_000)
	if out := r.do(t); out.Report == nil || out.Report.Status != plan.Blocked {
		t.Errorf("%+v", out)
	}
}

func TestHangingAfterTheReportIsEnded(t *testing.T) {
	for _, end := range []string{"\n", ""} {
		r := newRig(t, "report and hang", reportLine("failed", "x")+end)
		r.options.Grace = 50 * time.Millisecond
		out := r.do(t)
		if out.Report == nil || out.Report.Status != plan.Failed || out.TimedOut {
			t.Errorf("%q: %+v", end, out)
		}
	}
}

func TestHangingAfterAReportInAnotherWayIsEnded(t *testing.T) {
	r := newRig(t, "hang")
	reported := make(chan struct{})
	r.work.Reported, r.options.Grace = reported, 50*time.Millisecond
	r.work.Line = func(string) { close(reported) }
	if out := r.do(t); out.Report != nil || out.TimedOut || out.Tail != "hanging" {
		t.Errorf("%+v", out)
	}
}

func TestTimeIsUp(t *testing.T) {
	r := newRig(t, "hang")
	r.work.Timeout = 300 * time.Millisecond
	if out := r.do(t); !out.TimedOut || out.Report != nil {
		t.Errorf("%+v", out)
	}
}

func TestExitCode(t *testing.T) {
	if out := newRig(t, "exit").do(t); out.ExitCode != 7 {
		t.Errorf("%+v", out)
	}
}

func TestEnvironmentIsListed(t *testing.T) {
	r := newRig(t, "environ")
	r.config.Env = []string{"MY_API_BASE"}
	r.options.Environ = []string{"HOME=/home/u", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/d", "MY_API_BASE=there", "SECRET_KEY=topsecret99",
		"PLANLOOP_AGENT=me", "GIT_DIR=/g", "NODE_OPTIONS=--x", "TERM=xterm"}
	r.work.Environment = []string{"PLANLOOP_RUN=r/S003/1/x"}
	r.do(t)
	var names []string
	for lines := bufio.NewScanner(&r.log); lines.Scan(); {
		if name, _, _ := strings.Cut(lines.Text(), "="); name != "PWD" && name != "PLANLOOP_FAMILY" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if want := []string{"HOME", "LC_ALL", "MY_API_BASE", "PATH", "PLANLOOP_RUN", "TERM", "XDG_DATA_HOME"}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
}

// The values in an agent's environment are removed from all of its output.
func TestSecretsAreKeptFromEverybody(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	r := newRig(t, "secrets")
	r.config.Env = []string{"MODEL_ENDPOINT"}
	r.options.Environ = []string{"MODEL_ENDPOINT=" + secret, "OTHER_TOKEN=0a0b0c0d0e0f"}
	told := ""
	r.work.Line = func(line string) { told += line + "\n" }
	out := r.do(t)
	if out.Report == nil || out.Report.Output != "it is [hidden]" {
		t.Errorf("%+v", out.Report)
	}
	if want := "the endpoint: [hidden]\n"; !strings.HasPrefix(r.log.String(), want) || !strings.HasPrefix(out.Tail, want) {
		t.Errorf("%q, %q", r.log.String(), out.Tail)
	}
	for _, text := range []string{r.log.String(), out.Tail, told} {
		if strings.Contains(text, secret) || strings.Contains(text, "0a0b0c0d0e0f") {
			t.Errorf("%q", text)
		}
	}
}

func TestFaultyCommands(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rig)
		says   string
	}{
		"no such program": {func(r *rig) { r.config.Command[0] = "no-such-host-of-agents" }, "default.command"},
		"no such file":    {func(r *rig) { r.config.Command[0] = filepath.Join(r.options.Workspace, "host") }, "default.command"},
		"no such folder":  {func(r *rig) { r.config.Dir = "missing" }, "default.dir"},
		"no such agent":   {func(r *rig) { r.work.Agent = "other" }, "other"},
	} {
		r := newRig(t, "say")
		c.change(r)
		_, err := r.agents(t).Work(t.Context(), r.work)
		if !errors.Is(err, outbound.ErrConfig) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
