package engine_test

import (
	"context"
	"errors"
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
	"github.com/planloop/planloop/plan"
)

// shellAgent runs a script; $W is a pipe that all its child processes hold open.
func shellAgent(t *testing.T, text string) (r *rig, gone func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "witness")
	testenv.Check(t, syscall.Mkfifo(path, 0o600))
	witness := testenv.Must(os.OpenFile(path, os.O_RDWR, 0))(t) // so that neither end blocks
	t.Cleanup(func() { _ = witness.Close() })                   // until then it is open
	r = newRig(t, "")
	r.config.Command = []string{"/bin/sh", "-c", "exec 9>" + path + "\n" + text}
	return r, func() {
		t.Helper()
		reader := testenv.Must(os.Open(path))(t)
		_ = witness.Close()
		_, _ = io.Copy(io.Discard, reader) // ends once no process holds it
		_ = reader.Close()
	}
}

// For any end of an agent, its child processes end, too, and its report counts.
func TestNothingOutlivesAnAgent(t *testing.T) {
	report := "echo '" + reportLine("done", "x") + "'\n"
	sleeper := "sh -c 'exec sleep 1000'"
	for name, script := range map[string]string{
		"it leaves a child":             sleeper + " & " + report,
		"a child in another session":    "setsid -f " + sleeper + "\n" + report,
		"a double fork":                 "(setsid sh -c \"(" + sleeper + " &) & sleep 1000\" &)\n" + report,
		"a child without environment":   "env -i setsid -f sh -c 'exec sleep 1000'\n" + report,
		"it hangs, and its child":       sleeper + " & " + report + "exec sleep 1000",
		"it is deaf to signals":         "trap '' TERM HUP INT QUIT PIPE\n" + report + "while :; do sleep 1000; done",
		"it closes its outputs":         report + "exec >&- 2>&-\nsleep 1000",
		"it closes all":                 report + "exec 0<&- >&- 2>&-\nsetsid -f " + sleeper,
		"it kills its parent":           report + "kill -9 $PPID\nexec sleep 1000",
		"it stops its parent":           report + "kill -STOP $PPID\nexec sleep 1000",
		"its child kills the parent":    report + "P=$PPID; setsid -f sh -c \"sleep 0.2; kill -9 $P; exec sleep 1000\"\nsleep 1000",
		"it kills itself":               sleeper + " & " + report + "kill -9 $$",
		"what it left holds its output": "setsid -f sh -c 'trap \"\" TERM HUP; while :; do echo more; sleep 1; done'\n" + report,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, gone := shellAgent(t, script)
			r.options.Grace = 50 * time.Millisecond
			out := r.do(t)
			gone()
			if out.Report == nil || out.Report.Status != plan.Done || out.TimedOut {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestClosingItsOutputsEndsNothing(t *testing.T) {
	r, gone := shellAgent(t, "exec >&- 2>&-\necho x >file\nexit 3")
	out := r.do(t)
	gone()
	if out.ExitCode != 3 || out.Report != nil || len(out.Changed) != 1 || out.Changed[0] != "file" {
		t.Errorf("%+v", out)
	}
}

func TestWhatItChanged(t *testing.T) {
	r, _ := shellAgent(t, `git init -q; git config user.name n; git config user.email e@e; echo 1 >old; git add -A; git commit -qm m`)
	r.do(t)
	r.options.Mirror = "PLAN.md"
	r.config.Command[2] = "echo 2 >old; echo x >PLAN.md; printf x >\"$(printf 'a\\nb')\"; git add old; git commit -qm n"
	out := r.do(t)
	if strings.Join(out.Changed, "|") != `a\x0ab|old` || !out.Committed {
		t.Errorf("%+v", out)
	}
}

// A cancelled agent is ended with its child processes, and the outcome has the output so far.
func TestCancelled(t *testing.T) {
	r, gone := shellAgent(t, "echo working; echo x >file; sleep 1000 & echo '"+reportLine("done", "x")+"'; echo waiting; sleep 1000")
	r.options.Grace = time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	r.work.Line = func(line string) {
		if line == "waiting" {
			cancel(why)
		}
	}
	out, err := r.agents(t).Work(ctx, r.work)
	gone()
	if !errors.Is(err, why) || out.Report == nil || !strings.HasPrefix(out.Tail, "working\n") || out.TimedOut || len(out.Changed) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := r.agents(t).Work(ctx, r.work); !errors.Is(err, context.Canceled) || out.Report != nil {
		t.Errorf("%+v, %v", out, err)
	}
}

// counter counts logged bytes, and the memory in use.
type counter struct {
	bytes, writes int
	most          uint64
}

func (c *counter) Write(data []byte) (int, error) {
	if c.writes++; c.writes%2000 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		c.most = max(c.most, m.HeapAlloc)
	}
	c.bytes += len(data)
	return len(data), nil
}

// A limited part of any amount of output is kept in memory, in lines or in a single one.
func TestGigabytesOfOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("it prints gigabytes")
	}
	for name, script := range map[string]string{
		"lines": "yes 'some words that an agent has to say about its work' | head -c " +
			strconv.Itoa(testenv.Count(100_000_000, 100_000_000, 1_000_000_000)),
		"events":   `yes '{"type":"text","text":"some words that an agent has to say about its work"}' | head -c 100000000`,
		"one line": "head -c 100000000 /dev/zero | tr '\\0' x",
		"brackets": "yes '{' | head -c 50000000",
		"braces":   "yes 'x}' | head -c 50000000",
	} {
		t.Run(name, func(t *testing.T) {
			var c counter
			r, gone := shellAgent(t, script+"\necho; echo '"+reportLine("done", "x")+"'")
			r.options.Environ = append(os.Environ(), "A_KEY=secret-secret", "B_KEY=xxxxxxxxxxy")
			r.work.Log, r.work.Line = &c, func(string) {}
			out := r.do(t)
			gone()
			if out.Report == nil || c.bytes < 50_000_000 || c.most > 100<<20 {
				t.Errorf("%d bytes, %d held, %+v", c.bytes, c.most, out)
			}
			t.Log(out.Took, c.most>>20, "MB")
		})
	}
}
