package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// runner answers with the test's result and records its input.
type runner struct {
	result toolbox.RunResult
	err    error
	toolbox.Command
}

func (r *runner) Run(_ context.Context, c toolbox.Command) (toolbox.RunResult, error) {
	r.Command = c
	return r.result, r.err
}

func TestBashExecuteHandsOn(t *testing.T) {
	r := &runner{result: toolbox.RunResult{ExitCode: 3, Stdout: "out\n", Stderr: "err\n", Duration: 1500 * time.Millisecond}}
	box := open(t, nil, toolbox.Options{Runner: r})
	reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "ls -l"})
	if err != nil || reply.Text() != "Exit code 3 after 1.5s.\nstdout:\nout\nstderr:\nerr" {
		t.Errorf("%s, %v", reply.Text(), err)
	}
	if r.Dir != box.Path() || r.Text != "ls -l" || r.Timeout != time.Minute {
		t.Errorf("%+v", r)
	}
	if _, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "ls", Timeout: 600}); err != nil || r.Timeout != 10*time.Minute {
		t.Errorf("%+v, %v", r, err)
	}
	r.err = &plan.ValidationError{Kind: plan.Conflict, Field: "/command", Problem: "is not allowed", Fix: "wait"}
	_, err = box.BashExecute(t.Context(), toolbox.BashExecute{Command: "rm"})
	refused(t, err, plan.Conflict, "/command", "is not allowed")
}

// TestLimitsOfAStepsCommand: a command of a step has an hour, or the time of its context, and runs in the step's directory.
func TestLimitsOfAStepsCommand(t *testing.T) {
	r := &runner{}
	box := open(t, map[string]string{"web/src/a.txt": "a"}, toolbox.Options{Runner: r})
	outside := t.TempDir()
	for name, to := range map[string]string{"out": outside, "in": "web/src", "file": "web/src/a.txt"} {
		if err := os.Symlink(to, filepath.Join(box.Path(), name)); err != nil {
			t.Skip(err)
		}
	}
	call := func(ctx context.Context, w toolbox.Watch) toolbox.Outcome {
		out, err := tool(t, box, "bash_execute").Call(ctx, json.RawMessage(`{"command":"make"}`), w)
		testenv.Check(t, err)
		return out
	}
	if out := call(t.Context(), toolbox.Watch{}); !out.OK || r.Timeout != time.Hour || r.Dir != box.Path() {
		t.Errorf("%+v in %s for %s", out, r.Dir, r.Timeout)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if call(short, toolbox.Watch{}); r.Timeout > time.Minute || r.Timeout < time.Second {
		t.Errorf("it has %s", r.Timeout)
	}
	for dir, want := range map[string]string{"web": "web", "web/src/": "web/src", ".": ".", "in": "in"} {
		if out := call(t.Context(), toolbox.Watch{Dir: dir}); !out.OK || r.Dir != filepath.Join(box.Path(), want) {
			t.Errorf("%s: %+v in %s", dir, out, r.Dir)
		}
	}
	for dir, want := range map[string]string{"out": "leads out of the workspace", "..": "workspace", "nope": "does not exist",
		"file": "is not a directory", "/": "workspace"} {
		r.Text = ""
		if out := call(t.Context(), toolbox.Watch{Dir: dir}); out.OK || r.Text != "" || !strings.Contains(out.Error, want) ||
			!strings.HasPrefix(out.Error, "/cwd: ") {
			t.Errorf("%s: %+v", dir, out)
		}
	}
}

func TestBashExecuteRefuses(t *testing.T) {
	r := &runner{}
	box := open(t, nil, toolbox.Options{Runner: r})
	for _, test := range []struct {
		in           toolbox.BashExecute
		field, wants string
	}{
		{toolbox.BashExecute{}, "/command", "empty"},
		{toolbox.BashExecute{Command: " \n"}, "/command", "empty"},
		{toolbox.BashExecute{Command: "ls\x00"}, "/command", "NUL"},
		{toolbox.BashExecute{Command: "ls\xff"}, "/command", "UTF-8"},
		{toolbox.BashExecute{Command: strings.Repeat("x", 32_001)}, "/command", "too long"},
		{toolbox.BashExecute{Command: "ls", Timeout: 601}, "/timeout", "out of range"},
		{toolbox.BashExecute{Command: "ls", Timeout: -1}, "/timeout", "out of range"},
	} {
		_, err := box.BashExecute(t.Context(), test.in)
		refused(t, err, plan.InvalidInput, test.field, test.wants)
	}
	if r.Text != "" {
		t.Errorf("%q was run", r.Text)
	}
}

// Whatever a runner returns, only the end of its output is shown, bounded and escaped.
func TestOutputIsBoundedAndPrintable(t *testing.T) {
	box := func(text string) *toolbox.Box {
		return open(t, nil, toolbox.Options{Runner: &runner{result: toolbox.RunResult{Stdout: text, Stderr: text}},
			Limits: toolbox.Limits{OutputBytes: 20}})
	}
	tests := []struct {
		name, text, want string
		truncated        bool
	}{
		{"short", "one\n", "one\n", false},
		{"whole lines", "first line\nsecond line\nthird\n", "second line\nthird\n", true},
		{"one long line", strings.Repeat("x", 30) + "end", strings.Repeat("x", 17) + "end", true},
		{"whole characters", strings.Repeat("é", 30) + "x", strings.Repeat("é", 9) + "x", true},
		{"escapes", "\x1b[1mx\u202e\n", "\\x1b[1mx\\u202e\n", false},
		{"escapes that grow", strings.Repeat("\x1b", 20), strings.Repeat(`\x1b`, 5), true},
		{"progress", "1%\r2%\rdone\r\n", "1%\n2%\ndone\n", false},
		{"not UTF-8", "a\xff\n", "a\\xff\n", false},
	}
	for _, test := range tests {
		reply, err := box(test.text).BashExecute(t.Context(), toolbox.BashExecute{Command: "x"})
		if err != nil || reply.Stdout != test.want || reply.Stderr != test.want || reply.Truncated != test.truncated {
			t.Errorf("%s: %+v, %v", test.name, reply, err)
		}
		if !utf8.ValidString(reply.Text()) || strings.Contains(reply.Text(), "Only the end") != test.truncated {
			t.Errorf("%s: %s", test.name, reply.Text())
		}
	}
}

func TestCancelledCommandIsNotStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := open(t, nil, toolbox.Options{}).BashExecute(ctx, toolbox.BashExecute{Command: "exit"})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestNamesOfVariables: names with a meaning to a shell or a program are refused, so that a value cannot become code or
// loosen a policy.
func TestNamesOfVariables(t *testing.T) {
	r := &runner{}
	box := open(t, nil, toolbox.Options{Runner: r})
	execute := func(name string) error {
		_, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "x", Env: toolbox.Env{name: json.RawMessage(`"v"`)}})
		return err
	}
	for name := range strings.FieldsSeq(`FILE file ITEM VALUE_1 _x S001 message TITLE COUNT url CONTENT TARGET Name`) {
		if err := execute(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.Text = ""
	names := strings.Fields(`PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV PROMPT_COMMAND SHELLOPTS BASHOPTS IFS PS4
		GIT_DIR GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_EXTERNAL_DIFF NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONSTARTUP PERL5OPT PERL5LIB RUBYOPT
		JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH EDITOR VISUAL PAGER LESSOPEN MAKEFLAGS MAKEFILES GOFLAGS GOPROXY CARGO_HOME RUSTC_WRAPPER
		npm_config_registry http_proxy HTTPS_PROXY SSH_AUTH_SOCK SSL_CERT_FILE CURL_HOME DOCKER_HOST KUBECONFIG AWS_PROFILE HOME TMPDIR
		XDG_CONFIG_HOME PLANLOOP_AGENT PLANLOOP_FAMILY LUA_INIT VIMINIT RSYNC_RSH SVN_SSH DOTNET_STARTUP_HOOKS BUNDLE_GEMFILE PIP_INDEX_URL
		BASH_FUNC_ls%% 1A A-B A=B A.B é SystemRoot appdata`)
	for _, name := range append(names, "", "A B", "A\n", "A\x00", "$(x)") {
		refused(t, execute(name), plan.InvalidInput, "/env/"+name, "cannot be the name")
	}
	if r.Text != "" {
		t.Error("it was run")
	}
}

func TestVariablesAreBounded(t *testing.T) {
	r := &runner{}
	box := open(t, nil, toolbox.Options{Runner: r})
	many := toolbox.Env{}
	for i := range 65 {
		many[strings.Repeat("x", i+1)] = json.RawMessage("1")
	}
	for name, test := range map[string]struct {
		env         toolbox.Env
		field, says string
	}{
		"many": {many, "/env", "65 variables"},
		"long": {toolbox.Env{"A": json.RawMessage(`"` + strings.Repeat("x", 97<<10) + `"`)}, "/env", "97 KB in all"},
		"NUL":  {toolbox.Env{"A": json.RawMessage(`"a\u0000b"`)}, "/env/A", "NUL"},
	} {
		_, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "x", Env: test.env})
		t.Log(name)
		refused(t, err, plan.InvalidInput, test.field, test.says)
	}
	if runtime.GOOS == "windows" {
		return // cmd.exe accepts neither a line break nor a quote
	}
	if _, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "x", Env: toolbox.Env{"B": json.RawMessage(`"\u00e9=1\n"`),
		"A": json.RawMessage(`[1, 2]`)}}); err != nil || !slices.Equal(r.Env, []string{"A=[1,2]", "B=é=1\n"}) {
		t.Errorf("%q, %v", r.Env, err)
	}
}
