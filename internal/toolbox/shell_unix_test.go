//go:build unix

package toolbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
)

// kept is a box in which the test binary is the commands' keeper.
func kept(t *testing.T, o toolbox.Options) *toolbox.Box {
	t.Helper()
	o.Launcher = launcher()
	return open(t, nil, o)
}

func TestShell(t *testing.T) {
	box := open(t, map[string]string{"d/f": "hello\n"}, toolbox.Options{})
	tests := []struct {
		command        string
		code           int
		stdout, stderr string
	}{
		{"cat d/f", 0, "hello\n", ""},
		{"pwd -P", 0, box.Path() + "\n", ""},
		{"echo out; echo err >&2; exit 7", 7, "out\n", "err\n"},
		{"kill -TERM $$", 128 + 15, "", ""},
		{"cat; echo done", 0, "done\n", ""}, // no input
		{"(exec 3</dev/tty) 2>/dev/null || echo no terminal", 0, "no terminal\n", ""},
		{`printf 'a b' | (read -r x; echo "[$x]")`, 0, "[a b]\n", ""},
		{"echo \"$TERM $PAGER\"", 0, "dumb cat\n", ""},
	}
	for _, test := range tests {
		reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: test.command})
		if err != nil || reply.ExitCode != test.code || reply.Stdout != test.stdout || reply.Stderr != test.stderr ||
			reply.Truncated || reply.TimedOut {
			t.Errorf("%s: %+v, %v", test.command, reply, err)
		}
	}
}

func TestShellThatCannotStart(t *testing.T) {
	gone := toolbox.Command{Dir: filepath.Join(t.TempDir(), "gone"), Text: "true", Timeout: time.Minute}
	if _, err := (toolbox.Shell{}).Run(t.Context(), gone); err == nil {
		t.Error("it ran in a directory that does not exist")
	}
}

// Only a few plain variables of our environment reach a command.
func TestSecretsAreNotHandedOn(t *testing.T) {
	ours := map[string]string{"PATH": ".:bin::" + os.Getenv("PATH"), "HOME": "/home/ann", "LANG": "C", "BASH_ENV": "planted-rc",
		"ENV": "planted-rc", "LD_PRELOAD": "planted-lib"}
	for i, name := range strings.Fields(`
		AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN OPENAI_API_KEY ANTHROPIC_API_KEY
		GEMINI_API_KEY NPM_TOKEN NODE_AUTH_TOKEN PYPI_TOKEN CARGO_REGISTRY_TOKEN DOCKER_PASSWORD DATABASE_URL REDIS_URL
		MONGO_URI PGPASSWORD MYSQL_PWD SLACK_BOT_TOKEN DISCORD_TOKEN STRIPE_SECRET_KEY TWILIO_AUTH_TOKEN SENDGRID_API_KEY
		HTTP_PROXY HTTPS_PROXY http_proxy VAULT_TOKEN CONSUL_HTTP_TOKEN KUBECONFIG GOOGLE_APPLICATION_CREDENTIALS
		AZURE_CLIENT_SECRET ARM_CLIENT_SECRET HEROKU_API_KEY FLY_API_TOKEN CF_API_TOKEN DIGITALOCEAN_TOKEN SSH_AUTH_SOCK
		GPG_AGENT_INFO SENTRY_DSN DATADOG_API_KEY NEW_RELIC_LICENSE_KEY JIRA_TOKEN LINEAR_API_KEY NOTION_TOKEN HF_TOKEN
		COHERE_API_KEY PLANLOOP_TOKEN PLANLOOP_AGENT GIT_ASKPASS GIT_CONFIG_PARAMETERS MY_PASSWORD`) {
		ours[name] = fmt.Sprintf("planted-%d", i)
	}
	dir := t.TempDir()
	testenv.Check(t, os.WriteFile(filepath.Join(dir, "env"), []byte("#!/bin/sh\necho planted-env\n"), 0o755))
	shell := toolbox.Shell{Getenv: func(name string) string { return ours[name] }}
	result, err := shell.Run(t.Context(), toolbox.Command{Dir: dir, Timeout: time.Minute,
		Text: "env; cat /proc/self/environ 2>/dev/null | tr '\\0' '\\n'; echo $HOME"})
	if err != nil || result.ExitCode != 0 || strings.Contains(result.Stdout, "planted") ||
		!strings.HasSuffix(result.Stdout, "/home/ann\n") {
		t.Errorf("%+v, %v", result, err)
	}
}

// witness is a named pipe that processes hold open: reading it ends when the last of them is gone.
type witness struct {
	in      *bufio.Reader
	release func() error // closes the test's own end
}

func newWitness(t *testing.T, dir string) *witness {
	t.Helper()
	path := filepath.Join(dir, "witness")
	testenv.Check(t, syscall.Mkfifo(path, 0o600))
	// Opening does not wait for a writer this way; reading waits for the first line.
	file := testenv.Must(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
	holder := testenv.Must(os.OpenFile(path, os.O_WRONLY, 0))(t) // avoids an end of file before the first writer
	t.Cleanup(func() { _, _ = file.Close(), holder.Close() })
	testenv.Check(t, file.SetReadDeadline(time.Now().Add(2*time.Minute)))
	return &witness{in: bufio.NewReader(file), release: holder.Close}
}

// up waits until n processes have reported that they run.
func (w *witness) up(t *testing.T, n int) {
	t.Helper()
	for range n {
		if _, err := w.in.ReadString('\n'); err != nil {
			t.Fatalf("a process did not come up: %v", err)
		}
	}
	testenv.Check(t, w.release())
}

// gone waits until no process holds the pipe.
func (w *witness) gone(t *testing.T) {
	t.Helper()
	if rest, err := io.ReadAll(w.in); err != nil {
		t.Errorf("a process lives on: %v, %q", err, rest)
	}
}

// family starts four long-lived processes: the shell's child, a grandchild that becomes an orphan, one that ignores
// signals, and one that leaves the group.
func family() string {
	one := `sh -c 'trap "" TERM HUP INT; exec 9>witness; echo up >&9; sleep 1000'`
	leave := "exec "
	if runtime.GOOS == "linux" {
		leave = "exec setsid "
	}
	return one + " & (" + one + " &) ; (" + leave + one + ") & nohup " + one + " >/dev/null 2>&1 & wait"
}

func TestCancelKillsTheWholeTree(t *testing.T) {
	box := kept(t, toolbox.Options{})
	w := newWitness(t, box.Path())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := box.BashExecute(ctx, toolbox.BashExecute{Command: family(), Timeout: 100})
		ended <- err
	}()
	w.up(t, 4)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.gone(t)
}

func TestTimeOutKillsTheWholeTree(t *testing.T) {
	t.Parallel()
	for timeout := time.Second; ; timeout *= 3 { // until all four have time to start
		box := kept(t, toolbox.Options{Limits: toolbox.Limits{Timeout: timeout}})
		w := newWitness(t, box.Path())
		reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "echo first; " + family()})
		testenv.Check(t, w.release())
		lines, alive := io.ReadAll(w.in) // until no process holds the pipe
		if strings.Count(string(lines), "up\n") < 4 && timeout < 20*time.Second {
			continue
		}
		if err != nil || alive != nil || len(lines) != 4*len("up\n") || !reply.TimedOut || reply.ExitCode != 128+9 ||
			reply.Stdout != "first\n" || !strings.HasPrefix(reply.Text(), "Stopped after ") {
			t.Errorf("%+v, %v, %q, %v", reply, err, lines, alive)
		}
		return
	}
}

func TestWhatIsLeftInTheBackgroundIsKilled(t *testing.T) {
	box := kept(t, toolbox.Options{})
	w := newWitness(t, box.Path())
	const background = `(exec 9>witness; echo up >&9; echo up >up; exec sleep 1000) >/dev/null 2>&1 &` +
		` until [ -s up ]; do sleep 0.01; done; echo done`
	reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: background})
	if err != nil || reply.ExitCode != 0 || reply.TimedOut || reply.Stdout != "done\n" {
		t.Errorf("%+v, %v", reply, err)
	}
	w.up(t, 1)
	w.gone(t)
}

func TestFloods(t *testing.T) {
	box := kept(t, toolbox.Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{
		Command: `yes planloop | head -c 100000000; echo; echo the end; echo problem >&2`,
	})
	runtime.ReadMemStats(&after)
	if err != nil || reply.ExitCode != 0 || !reply.Truncated || !strings.HasSuffix(reply.Stdout, "planloop\n\nthe end\n") &&
		!strings.HasSuffix(reply.Stdout, "the end\n") ||
		len(reply.Stdout) > 16<<10 || len(reply.Stdout) < 15<<10 || reply.Stderr != "problem\n" {
		t.Errorf("%d bytes, %.50q, %v", len(reply.Stdout), reply.Stdout, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

func TestEndlessOutputEndsWithTheTimeOut(t *testing.T) {
	t.Parallel()
	box := kept(t, toolbox.Options{Limits: toolbox.Limits{Timeout: 3 * time.Second}}) // enough to begin on any machine
	reply, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: `yes & yes >&2`})
	if err != nil || !reply.TimedOut || !reply.Truncated || len(reply.Stdout) > 16<<10 || len(reply.Stderr) > 16<<10 {
		t.Errorf("%v, %v", reply.TimedOut, err)
	}
}

// No file stays open and no goroutine keeps running, however a command ends.
func TestNothingIsLeftOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	box := kept(t, toolbox.Options{Limits: toolbox.Limits{Timeout: 50 * time.Millisecond}})
	count := func() int {
		list := testenv.Must(os.ReadDir("/proc/self/fd"))(t)
		return len(list)
	}
	before := count()
	for i := range 20 {
		command := []string{"true", "sleep 10", "exit " + strconv.Itoa(i)}[i%3]
		testenv.Must(box.BashExecute(t.Context(), toolbox.BashExecute{Command: command}))(t)
	}
	if after := count(); after > before+2 { // the poller's own
		t.Errorf("%d files are open, before it were %d", after, before)
	}
}
