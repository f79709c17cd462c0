package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/testenv"
)

// Started with one of these, the test binary is a launcher, which prints the identity of its command and waits for it.
const (
	withKeeper    = "-launch-with-a-keeper"
	withoutKeeper = "-launch-without-a-keeper"
)

// descends makes the test binary report whether it descends from the identity in a file.
const descends = "-descends-from"

func tellDescent(path string) {
	var id process.Identity
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &id)
	}
	fmt.Println(id.In(process.Ancestors()), err)
}

func TestMain(m *testing.M) {
	process.Keep()
	if len(os.Args) == 3 && (os.Args[1] == withKeeper || os.Args[1] == withoutKeeper) {
		launch(os.Args[1] == withKeeper, os.Args[2])
		return
	}
	if len(os.Args) == 3 && os.Args[1] == descends {
		tellDescent(os.Args[2])
		return
	}
	os.Exit(testenv.Fixed{Tests: m}.Run())
}

func launch(keeper bool, command string) {
	l := &process.Launcher{}
	if keeper {
		l.Program = "/proc/self/exe"
	}
	tell := func(id process.Identity) { _ = json.NewEncoder(os.Stdout).Encode(id) }
	_, err := l.Run(context.Background(), process.ShellCommand(command), process.Options{Timeout: time.Minute, Output: 100, Started: tell})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// family is a command started by a launcher in another process.
type family struct {
	process.Identity
	path     string // of the pipe
	launcher *exec.Cmd
	witness  *bufio.Reader // of a pipe that every process of the command holds open
}

// started runs a command, in which $W is the pipe and $N reports one more running process, and waits for the given
// number of reports.
func started(t *testing.T, how, command string, up int) *family {
	t.Helper()
	path := filepath.Join(t.TempDir(), "witness")
	testenv.Check(t, syscall.Mkfifo(path, 0o600))
	f := &family{path: path, launcher: exec.Command("/proc/self/exe", how, "W='"+path+"'; exec 9>\"$W\" || exit\n"+command)}
	out := testenv.Must(f.launcher.StdoutPipe())(t)
	testenv.Check(t, f.launcher.Start())
	t.Cleanup(func() {
		_ = f.launcher.Process.Kill()
		_ = f.launcher.Wait()
		_ = f.Kill()
	})
	testenv.Check(t, json.NewDecoder(out).Decode(&f.Identity))
	pipe := testenv.Must(os.Open(path))(t)
	t.Cleanup(func() { _ = pipe.Close() })
	f.witness = bufio.NewReader(pipe)
	for range up {
		if _, err := f.witness.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// gone waits until every process of the command has ended.
func (f *family) gone(t *testing.T) {
	t.Helper()
	if _, err := io.Copy(io.Discard, f.witness); err != nil {
		t.Error(err)
	}
	if f.Alive() {
		t.Error("it is said to be alive")
	}
}

// orphaned kills the launcher, and its keeper if asked, so that neither ends the command.
func (f *family) orphaned(t *testing.T, keeper bool) {
	t.Helper()
	testenv.Check(t, f.launcher.Process.Signal(syscall.SIGSTOP))
	if _, err := syscall.Wait4(f.launcher.Process.Pid, nil, syscall.WUNTRACED, nil); err != nil { // until it has stopped
		t.Fatal(err)
	}
	var steps []error
	if keeper {
		steps = append(steps, syscall.Kill(f.Pid, syscall.SIGKILL))
	}
	for _, err := range append(steps, f.launcher.Process.Kill()) {
		testenv.Check(t, err)
	}
	_ = f.launcher.Wait()
}

// families are commands by their processes: each process that writes to the pipe is counted.
func families() map[string]struct {
	command string
	up      int
} {
	const sleeper = `sh -c 'echo up >&9; exec sleep 1000'`
	return map[string]struct {
		command string
		up      int
	}{
		"one":                      {`echo up >&9; exec sleep 1000`, 1},
		"a child":                  {sleeper + " & " + sleeper, 2},
		"a session of its own":     {"setsid -f " + sleeper + "; " + sleeper, 2},
		"a double fork":            {"(setsid sh -c \"(" + sleeper + " &) & sleep 1000\" &); " + strings.ReplaceAll(sleeper, "'", `"`), 2},
		"deaf to signals":          {"trap '' TERM HUP INT QUIT; " + sleeper, 1},
		"one that starts more":     {"while echo up >&9; do (sleep 1000 &) ; done", 20},
		"a child that is stopped":  {sleeper + " & kill -STOP $!; echo up >&9; sleep 1000", 1},
		"its own name for nothing": {"exec -a ') R 1 1 1' sh -c 'echo up >&9; sleep 1000; :'", 1},
	}
}

// TestFamiliesOfTheDeadAreEnded: after its launcher and keeper are gone, another process finds and kills everything
// that a command has started.
func TestFamiliesOfTheDeadAreEnded(t *testing.T) {
	for _, how := range []string{withKeeper, withoutKeeper} {
		for name, family := range families() {
			t.Run(name+strings.ReplaceAll(how, "-", " "), func(t *testing.T) {
				t.Parallel()
				f := started(t, how, family.command, family.up)
				if !f.Alive() {
					t.Error("it is said to be gone")
				}
				f.orphaned(t, how == withKeeper)
				if !f.Alive() {
					t.Error("it is said to be gone with its launcher")
				}
				if err := f.Kill(); err != nil {
					t.Error(err)
				}
				f.gone(t)
				if err := f.Kill(); err != nil {
					t.Errorf("a second time: %v", err)
				}
			})
		}
	}
}

// TestKeeperOutlivesItsLauncher: if only the launcher is gone, the keeper ends the command; while the keeper is
// stopped, another process does.
func TestKeeperOutlivesItsLauncher(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *family){
		"the keeper ends it": func(*testing.T, *family) {},
		"it is ended beside the keeper": func(t *testing.T, f *family) {
			if err := f.Kill(); err != nil {
				t.Error(err)
			}
		},
		"the launcher lives": func(t *testing.T, f *family) {
			if err := f.launcher.Process.Signal(syscall.SIGCONT); err != nil {
				t.Error(err)
			}
			if err := f.Kill(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := started(t, withKeeper, "env -i setsid -f sh -c 'echo up >&9; exec sleep 1000'; echo up >&9; sleep 1000", 2)
			if name != "the launcher lives" {
				testenv.Check(t, f.launcher.Process.Kill())
				_ = f.launcher.Wait()
			}
			end(t, f)
			if _, err := io.Copy(io.Discard, f.witness); err != nil {
				t.Error(err)
			}
			if err := f.Kill(); err != nil || f.Alive() {
				t.Errorf("alive %v, %v", f.Alive(), err)
			}
		})
	}
}

// TestAnotherProcessWithTheNumberIsSpared: an identity matches nothing if its number was reused, or after a reboot.
func TestAnotherProcessWithTheNumberIsSpared(t *testing.T) {
	f := started(t, withoutKeeper, "echo up >&9; exec sleep 1000", 1)
	for name, change := range map[string]func(*process.Identity){
		"another start":   func(id *process.Identity) { id.Start += "1" },
		"no start":        func(id *process.Identity) { id.Start = "" },
		"another system":  func(id *process.Identity) { id.World = "gone " + id.World },
		"no system":       func(id *process.Identity) { id.World = "" },
		"nothing":         func(id *process.Identity) { *id = process.Identity{} },
		"another number":  func(id *process.Identity) { id.Pid = 1 },
		"ourselves":       func(id *process.Identity) { id.Pid = os.Getpid() },
		"no such process": func(id *process.Identity) { id.Pid = 1 << 30 },
	} {
		other := f.Identity
		other.Mark = ""
		change(&other)
		if err := other.Kill(); err != nil || other.Alive() {
			t.Errorf("%s: alive %v, %v", name, other.Alive(), err)
		}
	}
	if !f.Alive() {
		t.Error("it was ended")
	}
}

// TestIdentityIsKept: the JSON of an identity is read back as the same family.
func TestIdentityIsKept(t *testing.T) {
	f := started(t, withKeeper, "echo up >&9; exec sleep 1000", 1)
	text, err := json.Marshal(f.Identity)
	if err != nil || len(text) > 300 {
		t.Errorf("%s, %v", text, err)
	}
	var back process.Identity
	if err := json.Unmarshal(text, &back); err != nil || back != f.Identity || !back.Alive() {
		t.Errorf("%s: %+v, %v", text, back, err)
	}
}

// TestDescentIsTold: every process that a command starts finds it above itself; with a keeper, also one that left its
// session and lost its parent. No other process does.
func TestDescentIsTold(t *testing.T) {
	self := testenv.Must(os.Executable())(t)
	ask := `"` + self + `" ` + descends + " $W.identity"
	left := "setsid sh -c '" + ask + " >&9 &'; echo up >&9; sleep 1000" // its parent has ended by then
	for name, test := range map[string]struct {
		how, command string
		want         bool
	}{
		"a child":                         {withKeeper, "echo up >&9; " + ask + " >&9", true},
		"a child, no keeper":              {withoutKeeper, "echo up >&9; " + ask + " >&9", true},
		"of another session":              {withKeeper, "echo up >&9; setsid -w " + ask + " >&9", true},
		"of another session, no keeper":   {withoutKeeper, "echo up >&9; setsid -w " + ask + " >&9", true},
		"without an environment":          {withKeeper, "echo up >&9; env -i " + ask + " >&9", true},
		"that has left":                   {withKeeper, left, true},
		"that has left, without a keeper": {withoutKeeper, left, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := started(t, test.how, "mkfifo $W.identity; export W; "+test.command, 1)
			text := testenv.Must(json.Marshal(f.Identity))(t)
			testenv.Check(t, os.WriteFile(f.path+".identity", text, 0o600))
			if got, err := f.witness.ReadString('\n'); err != nil || got != fmt.Sprintln(test.want, nil) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	f := started(t, withKeeper, "echo up >&9; exec sleep 1000", 1)
	if f.In(process.Ancestors()) || (process.Identity{}).In(process.Ancestors()) {
		t.Error("the test descends from its command")
	}
}
