package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/sandbox"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// TestOnlyReadingIsAllowed calls every tool while the guard restricts (chorus: Context Gathering Phase), and again
// while it does not.
func TestOnlyReadingIsAllowed(t *testing.T) {
	dir := t.TempDir()
	testenv.Check(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644))
	restricted := true
	box, err := toolbox.Open(dir, toolbox.Options{Launcher: launcher(), Guard: func(context.Context, string) (toolbox.Hold, error) {
		if restricted {
			return toolbox.Hold{By: toolbox.PlanningMode}, nil
		}
		return toolbox.Hold{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	calls := []struct {
		tool, arguments string
		reads           bool
	}{
		{"view", `{"Path":"a.txt"}`, true},
		{"glob", `{"Pattern":"*.txt"}`, true},
		{"grep", `{"Pattern":"one"}`, true},
		{"bash_execute", `{"Command":"cat a.txt | wc -l"}`, true},
		{"bash_execute", `{"Command":"git status; ls -la"}`, true},
		{"bash_execute", `{"Command":"rm a.txt"}`, false},
		{"bash_execute", `{"Command":"echo two > a.txt"}`, false},
		{"bash_execute", `{"Command":"pip install x"}`, false},
		{"bash_execute", `{"Command":"git push"}`, false},
		{"bash_execute", `{"Command":"planloop approve"}`, false},
		{"create_file", `{"Path":"b.txt","Content":"x"}`, false},
		{"str_replace", `{"Path":"a.txt","Old":"one","New":"two"}`, false},
		{"write_file", `{"Path":"a.txt","Content":"x"}`, false},
	}
	_, noBash := process.Look("bash")
	for _, c := range calls {
		_, err := call(t, box, c.tool, c.arguments)
		var refused *plan.ValidationError
		if noBash != nil && c.tool == "bash_execute" {
			c.reads = false // with advice
		}
		if c.reads && err != nil || !c.reads && (!errors.As(err, &refused) || refused.Fix == "") {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(data) != "one\n" {
		t.Fatalf("a.txt holds %q, %v", data, err)
	}
	restricted = false
	for _, c := range calls[10:] {
		if _, err := call(t, box, c.tool, c.arguments); err != nil && !strings.Contains(err.Error(), "one") {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
		}
	}
}

// TestAGuardThatFailsAllowsNothing: an unknown answer does not permit writing.
func TestAGuardThatFailsAllowsNothing(t *testing.T) {
	box, err := toolbox.Open(t.TempDir(), toolbox.Options{Guard: func(context.Context, string) (toolbox.Hold, error) {
		return toolbox.Hold{}, errors.New("no disk")
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	for tool, arguments := range map[string]string{"create_file": `{"Path":"b.txt","Content":"x"}`, "bash_execute": `{"Command":"ls"}`} {
		if _, err := call(t, box, tool, arguments); err == nil {
			t.Errorf("%s was carried out", tool)
		}
	}
}

// TestWhatIsHeldIsAskedOfThePathItself: the guard is asked about the written file itself, however it is reached, and
// about the whole workspace if a command runs.
func TestWhatIsHeldIsAskedOfThePathItself(t *testing.T) {
	var asked []string
	guard := func(_ context.Context, path string) (toolbox.Hold, error) {
		asked = append(asked, path)
		return toolbox.Hold{By: "planning mode in d"}, nil
	}
	box := open(t, map[string]string{"d/a.txt": "one\n"}, toolbox.Options{Guard: guard})
	if err := os.Symlink("d", filepath.Join(box.Path(), "link")); err != nil {
		t.Skip(err)
	}
	for _, c := range [][3]string{
		{"create_file", `{"Path":"link/../link/b/c.txt","Content":"x"}`, "d/b/c.txt"},
		{"str_replace", `{"Path":"./link/a.txt","Old":"one","New":"two"}`, "d/a.txt"},
		{"write_file", `{"Path":"link/a.txt","Content":"x"}`, "d/a.txt"},
		{"bash_execute", `{"Command":"touch x"}`, ""},
	} {
		asked = nil
		_, err := call(t, box, c[0], c[1])
		refused(t, err, plan.Conflict, map[bool]string{true: "/command"}[c[2] == ""], "planning mode in d")
		if want := filepath.Join(box.Path(), c[2]); len(asked) != 1 || asked[0] != want {
			t.Errorf("%s: asked about %q, not %s", c[0], asked, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(box.Path(), "d")); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestCommandsAreNoPerson: a planloop started by a command acts as an agent.
func TestCommandsAreNoPerson(t *testing.T) {
	box := testenv.Must(toolbox.Open(t.TempDir(), toolbox.Options{}))(t)
	defer box.Close()
	command := "echo $PLANLOOP_AGENT"
	if runtime.GOOS == "windows" {
		command = "echo %PLANLOOP_AGENT%"
	}
	reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: command})
	if err != nil || strings.TrimSpace(reply.Stdout) != "bash_execute" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func call(t *testing.T, box *toolbox.Box, tool, arguments string) (toolbox.Reply, error) {
	t.Helper()
	for _, row := range toolbox.Table() {
		if row.Name == tool {
			return row.Call(t.Context(), box, func(into any) error { return json.Unmarshal([]byte(arguments), into) }, toolbox.Watch{})
		}
	}
	t.Fatalf("there is no tool %s", tool)
	return nil, nil
}

// TestOwnReadOnlyCommands: bash_execute runs a command that the user calls read-only, inside the sandbox all the same.
func TestOwnReadOnlyCommands(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox is Linux's")
	}
	box := open(t, map[string]string{"a.txt": "a"}, toolbox.Options{Launcher: launcher(), ReadOnlyCommands: []string{"mkdir *"},
		Guard: func(context.Context, string) (toolbox.Hold, error) {
			return toolbox.Hold{By: toolbox.PlanningMode}, nil
		}})
	if out := called(t, box, "bash_execute", `{"command":"mkdir --version"}`); !out.OK {
		t.Errorf("%+v", out)
	}
	if out := called(t, box, "bash_execute", `{"command":"mkdir b"}`); out.OK || strings.Contains(out.Error, plan.ReadOnly) {
		t.Errorf("%+v", out)
	}
	if out := called(t, box, "bash_execute", `{"command":"mkdir $x"}`); out.OK || !strings.Contains(out.Error, plan.ReadOnly) {
		t.Errorf("%+v", out)
	}
}

// TestUnknownCommandsAreConfined: in planning mode an agent's script runs, its changes are dropped, and the reply says so. A step's is
// refused, since its outcome would count.
func TestUnknownCommandsAreConfined(t *testing.T) {
	box := open(t, map[string]string{"a.sh": "echo x > made; cat made; exit 3\n"}, toolbox.Options{Launcher: launcher(),
		Guard: func(context.Context, string) (toolbox.Hold, error) {
			return toolbox.Hold{By: toolbox.PlanningMode}, nil
		}})
	if out := called(t, box, "bash_execute", `{"command":"sh a.sh"}`); out.OK || !strings.Contains(out.Error, plan.ReadOnly) {
		t.Errorf("a step: %+v", out)
	}
	if !sandbox.Has(sandbox.Namespaces) {
		t.Skip("this system has no such wall")
	}
	reply, err := call(t, box, "bash_execute", `{"Command":"sh a.sh"}`)
	if err != nil {
		t.Fatal(err)
	}
	result := reply.(toolbox.BashExecuteReply)
	if strings.Contains(result.Stderr, sandbox.ErrNoWall.Error()) || strings.Contains(result.Stderr, "made: Permission denied") {
		t.Skipf("this system has no such wall: %s", result.Stderr)
	}
	if !result.Confined || result.ExitCode != 3 || result.Stdout != "x\n" ||
		!strings.HasPrefix(reply.Text(), "Exit code 3 after ") || !strings.Contains(reply.Text(), "its changes were dropped") {
		t.Errorf("%+v\n%s", result, reply.Text())
	}
	if _, err := os.Stat(filepath.Join(box.Path(), "made")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it lasts: %v", err)
	}
	reply, err = call(t, box, "bash_execute", `{"Command":"ls"}`)
	if err != nil || reply.(toolbox.BashExecuteReply).Confined {
		t.Errorf("%+v, %v", reply, err)
	}
}
