package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
)

// patience limits every wait of these tests; no test waits for it to pass.
const patience = 2 * time.Minute

// home is a directory with its own state folder, in which planloop runs as a process.
type home struct {
	t   *testing.T
	dir string
	env []string
}

func newHome(t *testing.T) home {
	t.Helper()
	dir := t.TempDir()
	app := filepath.Join(dir, "app")
	testenv.Check(t, os.Mkdir(app, 0o755))
	return home{t, app, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "USER=alice", "TERM=xterm",
		"XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
	}}
}

func (h home) command(args ...string) *exec.Cmd { return h.program("planloop", args...) }

func (h home) program(name string, args ...string) *exec.Cmd {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	h.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	return cmd
}

func (h home) run(args ...string) string {
	h.t.Helper()
	out, err := h.command(args...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("planloop %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// output is the output of a process, read as it comes.
type output struct {
	t    *testing.T
	text chan string
	seen strings.Builder
}

func follow(t *testing.T, r io.Reader) *output {
	o := &output{t: t, text: make(chan string)}
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() { // ends with the process's output or with the test
		defer close(o.text)
		in := bufio.NewReader(r)
		for {
			b := make([]byte, 4096)
			n, err := in.Read(b)
			select {
			case o.text <- string(b[:n]):
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return o
}

// waitFor reads until the output since the last match contains want.
func (o *output) waitFor(want string) {
	o.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		if seen := o.seen.String(); strings.Contains(seen, want) {
			_, rest, _ := strings.Cut(seen, want)
			o.seen.Reset()
			o.seen.WriteString(rest)
			return
		}
		select {
		case text, ok := <-o.text:
			if !ok {
				o.t.Fatalf("it ended without %q, after:\n%s", want, o.seen.String())
			}
			o.seen.WriteString(text)
		case <-timeout.C:
			o.t.Fatalf("%q did not come, after:\n%s", want, o.seen.String())
		}
	}
}

// rest reads to the end.
func (o *output) rest() string {
	for text := range o.text {
		o.seen.WriteString(text)
	}
	return o.seen.String()
}

// start runs planloop with a pipe on standard output.
func (h home) start(args ...string) (*exec.Cmd, *output) {
	h.t.Helper()
	cmd := h.command(args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	testenv.Check(h.t, err)
	testenv.Check(h.t, cmd.Start())
	return cmd, follow(h.t, out)
}

// begin starts a command with pipes on its input and its output.
func begin(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out io.Reader) {
	t.Helper()
	in, noInput := cmd.StdinPipe()
	out, noOutput := cmd.StdoutPipe()
	testenv.Check(t, errors.Join(noInput, noOutput, cmd.Start()))
	return in, out
}

// interrupt sends Ctrl-C; the process must end by itself, with success.
func interrupt(t *testing.T, cmd *exec.Cmd, out *output) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no process can be sent Ctrl-C alone")
	}
	testenv.Check(t, cmd.Process.Signal(syscall.SIGINT))
	rest := out.rest()
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	return rest
}

// One process watches while others change the plan.
func TestWatchInAPipe(t *testing.T) {
	h := newHome(t)
	cmd, out := h.start("show", "--watch")
	out.waitFor("No plan yet")
	h.run("start", "Fix the login bug", "--step", "Write a failing test")
	out.waitFor("○ S001  Write a failing test\n")
	h.run("step", "mark", "S001", "in_progress", "--agent", "codex")
	out.waitFor("▸ S001  Write a failing test  (codex, since ")
	h.run("step", "mark", "S001", "done", "--agent", "codex")
	out.waitFor("completed  ")
	out.waitFor("Next: All steps are finished")
	if rest := interrupt(t, cmd,
		out); strings.TrimSpace(rest) != `: check the outcome, then planloop update --json '{"final_summary": "..."}'.` {
		t.Errorf("after the last change came %q", rest)
	}
}

// A signal of the workspace, in the log of main, is shown to those who watch another track.
func TestWatchShowsSignalsOfTheWorkspace(t *testing.T) {
	h := newHome(t)
	h.run("start", "Fix the login bug", "--step", "Write a failing test")
	h.run("--track", "docs", "start", "Fix the docs", "--step", "Correct the README")
	cmd, out := h.start("--track", "docs", "show", "--watch")
	out.waitFor("Correct the README")
	h.run("alert", "--id", "tests", "-m", "CI red")
	out.waitFor("CI red")
	interrupt(t, cmd, out)
}

// Changes by others are printed as they happen, from the given revision on.
func TestEventsAreFollowed(t *testing.T) {
	h := newHome(t)
	h.run("start", "Fix the login bug", "--step", "Write a failing test")
	cmd, out := h.start("log", "--events", "--follow", "--since", "1")
	h.run("step", "mark", "S001", "in_progress", "--agent", "codex")
	out.waitFor(`{"type":"STEP_STARTED","revision":2,`)
	out.waitFor("}\n")
	h.run("step", "mark", "S001", "done", "--agent", "codex")
	out.waitFor(`{"type":"STEP_COMPLETED","revision":3,`)
	out.waitFor("}\n")
	h.run("start", "Another")
	out.waitFor(`{"type":"PLAN_CREATED","revision":4,`)
	out.waitFor("}\n")
	if rest := interrupt(t, cmd, out); rest != "" {
		t.Errorf("after the last event came %q", rest)
	}
}

// Each change by one process is one document of another, in order.
func TestWatchAsJSON(t *testing.T) {
	h := newHome(t)
	cmd, out := h.start("show", "--watch", "--json")
	out.waitFor(`{"revision":0,"phase":"inactive","plan":null}` + "\n")
	h.run("start", "One")
	out.waitFor(`{"revision":1,`)
	h.run("start", "Two")
	out.waitFor("\n" + `{"revision":2,`)
	interrupt(t, cmd, out)
}

// A server that agents use over HTTP ends cleanly, and its changes are visible.
func TestServeOverHTTP(t *testing.T) {
	h := newHome(t)
	cmd := h.command("serve", "--http", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	testenv.Check(t, err)
	testenv.Check(t, cmd.Start())
	out := follow(t, stderr)
	out.waitFor("serving MCP at ")
	out.waitFor("/mcp\n")
	interrupt(t, cmd, out)
}

// A host ends a server by closing its input or by a signal; neither is an error.
func TestServeEndsWell(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"
	for _, bySignal := range []bool{true, false} {
		cmd := newHome(t).command("serve")
		in, stdout := begin(t, cmd)
		out := follow(t, stdout)
		if _, err := io.WriteString(in, hello); err != nil {
			t.Fatal(err)
		}
		out.waitFor(`"serverInfo"`)
		if bySignal {
			interrupt(t, cmd, out)
			continue
		}
		testenv.Check(t, in.Close())
		out.rest()
		if err := cmd.Wait(); err != nil {
			t.Errorf("end of input: %v", err)
		}
	}
}

// The claim of a client lapses with its connection, and show says so.
func TestClaimOfAClientThatLeft(t *testing.T) {
	h := newHome(t)
	h.run("start", "Fix the login bug", "--step", "Write a failing test")
	cmd := h.command("serve")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"planning_mark_step","arguments":{"step_id":"S001","status":"in_progress"}}}
`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if shown := h.run("show"); !strings.Contains(shown, ", gone: may be taken over)") {
		t.Errorf("the claim still holds:\n%s", shown)
	}
	h.run("step", "mark", "S001", "done")
}
