package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/process/lineagetest"
	"github.com/planloop/planloop/internal/testenv"
)

// terminalSession is a pseudo-terminal with planloop in it.
type terminalSession struct {
	t    *testing.T
	keys *os.File // input goes in, the screen comes out
	cmd  *exec.Cmd
	out  *output
}

func (h home) terminal(width, rows uint16, args ...string) *terminalSession {
	h.t.Helper()
	return h.terminalOf(width, rows, append([]string{"planloop"}, args...)...)
}

// terminalOf is terminal with another command.
func (h home) terminalOf(width, rows uint16, command ...string) *terminalSession {
	h.t.Helper()
	control, side, err := openTerminals(width, rows)
	if missing := (*fs.PathError)(nil); errors.As(err, &missing) && missing.Path == "/dev/ptmx" {
		h.t.Skipf("no pseudo-terminals here: %v", err)
	}
	testenv.Check(h.t, err)
	h.t.Cleanup(func() { control.Close() })
	defer side.Close()
	cmd := h.program("sh", leader(command)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	lineagetest.Apart(cmd)
	testenv.Check(h.t, cmd.Start())
	return &terminalSession{h.t, control, cmd, follow(h.t, control)}
}

func (t *terminalSession) typeIn(text string) {
	t.t.Helper()
	if _, err := t.keys.WriteString(text); err != nil {
		t.t.Fatal(err)
	}
}

// ends waits for the process and returns its last screen and its exit code.
func (t *terminalSession) ends() (shown string, code int) {
	t.t.Helper()
	for {
		if shown, code, ok := exitShown(t.out.seen.String()); ok {
			t.typeIn("\n") // lets the leader go
			t.out.rest()
			_ = t.cmd.Wait() // the exit code is known
			return shown, code
		}
		text, ok := <-t.out.text
		if !ok {
			t.t.Fatalf("it did not come to its end:\n%s", t.out.seen.String())
		}
		t.out.seen.WriteString(text)
	}
}

// leader runs a command in a shell that leads its terminal's session, and stays until a line is typed: when a leader ends, the kernel drops
// unread output.
func leader(args []string) []string {
	return append([]string{"-c", `trap : INT; "$@"; echo "[exit $?]"; read -r _`, "sh"}, args...)
}

var exitLine = regexp.MustCompile(`\[exit (\d+)\]\r?\n$`)

// exitShown splits the screen from the exit code that the leader wrote below it.
func exitShown(shown string) (text string, code int, ok bool) {
	found := exitLine.FindStringSubmatchIndex(shown)
	if found == nil {
		return shown, 0, false
	}
	code, err := strconv.Atoi(shown[found[2]:found[3]])
	return shown[:found[0]], code, err == nil
}

func TestWelcomeInATerminal(t *testing.T) {
	shown, code := newHome(t).terminal(100, 30).ends()
	for _, want := range []string{" init HOST", "claude-desktop, codex", "planloop review",
		"planloop --help"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in:\n%s", want, shown)
		}
	}
	if code != 0 || !strings.Contains(shown, "\x1b[1mplanloop\x1b[0m") {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

func TestShowInATerminal(t *testing.T) {
	h := newHome(t)
	h.run("start", "Fix the login bug", "--step", "Make the session cookie survive the way back")
	shown, _ := h.terminal(40, 24, "show").ends()
	if !strings.Contains(shown, "S001  Make the session cookie\r\n        | survive the way back\r\n") || !strings.Contains(shown,
		"\x1b[36mactive\x1b[0m") {
		t.Errorf("no colour, or the title does not wrap:\n%q", shown)
	}
	h.env = append(h.env, "NO_COLOR=1")
	if shown, _ := h.terminal(40, 24, "show").ends(); strings.Contains(shown, "\x1b") {
		t.Errorf("NO_COLOR: %q", shown)
	}
}

func TestPurgeInATerminal(t *testing.T) {
	h := newHome(t)
	if shown, code := h.terminal(80, 24, "purge").ends(); code != 0 || !strings.Contains(shown, "This workspace has no history.") {
		t.Errorf("an empty workspace, exit code %d: %s", code, shown)
	}
	h.run("start", "Keep this")

	refused := h.terminal(80, 24, "purge")
	refused.out.waitFor("1 plan, 1 change of history.")
	refused.out.waitFor("Type purge to confirm.")
	refused.typeIn("yes\n")
	if shown, code := refused.ends(); code != 2 || !strings.Contains(shown, "nothing was deleted") {
		t.Errorf("another word, exit code %d: %s", code, shown)
	}

	interrupted := h.terminal(80, 24, "purge")
	interrupted.out.waitFor("Type purge to confirm.")
	interrupted.typeIn("\x03")
	if shown, code := interrupted.ends(); code != 2 || !strings.Contains(shown, "nothing was deleted") {
		t.Errorf("Ctrl-C, exit code %d: %s", code, shown)
	}

	byAgent := h.terminal(80, 24, "purge", "--agent", "codex")
	if shown, code := byAgent.ends(); code != 2 || !strings.Contains(shown, "deleting the history needs a person") {
		t.Errorf("an agent, exit code %d: %s", code, shown)
	}
	if shown := h.run("show"); !strings.Contains(shown, "Keep this") {
		t.Errorf("the plan is gone: %s", shown)
	}

	state, err := filepath.Glob(filepath.Join(filepath.Dir(h.dir), "state", "planloop", "*"))
	if err != nil || len(state) != 1 {
		t.Fatalf("%v, %v", state, err)
	}
	logs := filepath.Join(state[0], "logs")
	err = errors.Join(os.Mkdir(logs, 0o700), os.WriteFile(filepath.Join(logs, "p-S001-1.log"), []byte("what an agent printed"), 0o600))
	testenv.Check(t, err)
	agreed := h.terminal(80, 24, "purge")
	agreed.out.waitFor("Type purge to confirm.")
	agreed.typeIn("purge\n")
	if shown, code := agreed.ends(); code != 0 || !strings.Contains(shown, "All plans of this workspace are deleted.") {
		t.Errorf("exit code %d: %s", code, shown)
	}
	if shown := h.run("show"); !strings.Contains(shown, "No plan yet") {
		t.Errorf("the plan is still there: %s", shown)
	}
	if _, err := os.Stat(logs); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what agents printed is still there: %v", err)
	}
	if shown := h.run("log"); !strings.Contains(shown, "the history of 1 change deleted by alice") {
		t.Errorf("the log does not say it: %s", shown)
	}
}

// A track with a single change has a history, and one that was purged has none.
func TestPurgeOfASingleChange(t *testing.T) {
	for _, track := range []string{"main", "side"} {
		h := newHome(t)
		h.run("--track", track, "start", "Nothing")
		purge := h.terminal(80, 24, "--track", track, "purge")
		purge.out.waitFor("1 plan, 1 change of history.")
		purge.typeIn("purge\n")
		if shown, code := purge.ends(); code != 0 || !strings.Contains(shown, "are deleted.") {
			t.Errorf("%s: exit code %d: %s", track, code, shown)
		}
		if shown, code := h.terminal(80, 24, "--track", track, "purge").ends(); code != 0 || !strings.Contains(shown, "has no history.") {
			t.Errorf("%s, again: exit code %d: %s", track, code, shown)
		}
	}
}

// The live view has a screen of its own, follows changes, and leaves the last one in the terminal.
func TestWatchInATerminal(t *testing.T) {
	h := newHome(t)
	h.run("start", "Fix the login bug", "--step", "Write a failing test")
	live := h.terminal(80, 24, "show", "--watch")
	live.out.waitFor("\x1b[?1049h") // a screen of its own
	live.out.waitFor("revision 1, Ctrl-C to end")
	h.run("step", "mark", "S001", "done")
	live.out.waitFor("1 of 1 done")
	live.out.waitFor("revision 2, Ctrl-C to end")
	live.typeIn("\x03")
	live.out.waitFor("\x1b[?1049l")
	shown, code := live.ends()
	if code != 0 || !strings.Contains(shown, "1 of 1 done") || strings.Contains(shown, "Ctrl-C") {
		t.Errorf("exit code %d: %q", code, shown)
	}
}

// The first Ctrl-C lets running steps finish, the second one ends them; a tool's output is visible all the time, and fits the terminal
// after a resize.
func TestRunInATerminal(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte(`{"objective": "Wait", "initial_steps": [{"title": "Sleep", "tool": "bash_execute",
		"args": {"command": "echo half way; sleep 600"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run("start", "--file", file)
	live := h.terminal(80, 24, "run")
	live.out.waitFor("type ")
	live.typeIn("\n")
	live.out.waitFor("y: run it")
	live.typeIn("y\n")
	live.out.waitFor("| half way")
	live.typeIn("\x03")
	for range 4 { // quick successive ones count as one
		live.out.waitFor("Ctrl-C to end running steps")
	}
	live.typeIn("\x03")
	shown, code := live.ends()
	if code != 4 || !strings.Contains(shown, "The run is over") || !strings.Contains(shown, "outcome unknown") {
		t.Errorf("exit code %d: %q", code, shown)
	}
}
