package shell_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/testenv"
)

func TestMain(m *testing.M) {
	sandboxed()
	process.Keep()
	shell.Confine()
	withoutLandlock()
	os.Exit(testenv.Fixed{Tests: m}.Run())
}

// confined are options with the test binary as launcher.
func confined(t *testing.T) shell.RunOptions {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return shell.RunOptions{Launcher: &process.Launcher{Program: self}, Timeout: time.Minute}
}

func TestCommandNeedsALauncher(t *testing.T) {
	for _, launcher := range []*process.Launcher{nil, {}} {
		if got, err := shell.Command(t.Context(), t.TempDir(), "echo ran", shell.RunOptions{Launcher: launcher}); err == nil {
			t.Errorf("%+v", got)
		}
	}
}

func limited(t *testing.T, change func(*shell.RunOptions)) shell.RunOptions {
	t.Helper()
	o := confined(t)
	change(&o)
	return o
}

func run(t *testing.T, dir, command string, o shell.RunOptions) shell.Result {
	t.Helper()
	result, err := shell.Command(t.Context(), dir, command, o)
	if errors.Is(err, shell.ErrNoShell) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestCommandRuns(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a b"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command, stdout, stderr string
		exit                    int
	}{
		{"wc -l < 'a b'", "2\n", "", 0},
		{"cat", "", "", 0}, // no input
		{"cat nothing; exit 3", "", "cat: nothing: No such file or directory\n", 3},
		{"sort <<EOF\nb\na\nEOF", "a\nb\n", "", 0},
		{"comm -12 <(sort 'a b') <(echo one)", "one\n", "", 0},
		{"echo \"$TERM$GIT_PAGER$SECRET\"", "dumbcat\n", "", 0},
	} {
		t.Setenv("SECRET", "of the parent")
		got := run(t, dir, c.command, confined(t))
		if got.Stdout != c.stdout || got.Stderr != c.stderr || got.ExitCode != c.exit || got.Truncated || got.TimedOut {
			t.Errorf("%s: %+v", c.command, got)
		}
	}
}

// TestCommandHasAKnownLocale: in other locales bash reads bytes as parts of a character that the classifier read as quotes.
func TestCommandHasAKnownLocale(t *testing.T) {
	for value, want := range map[string]string{"zh_CN.GBK": "", "ja_JP.SJIS": "", "de_DE": "", "C.UTF-8": "C.UTF-8", "C": "C"} {
		for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
			t.Setenv(name, value)
		}
		if got := run(t, t.TempDir(), `echo "$LC_ALL$LC_CTYPE$LANG"`, confined(t)); got.Stdout != strings.Repeat(want, 3)+"\n" {
			t.Errorf("%s: %+v", value, got)
		}
	}
}

func TestCommandCannotWriteWhenConfined(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"echo x > new", "echo x > kept", "echo x >> kept", "rm kept", "mv kept new", "mkdir new", "ln -s kept new", "ln kept new",
		"truncate -s 0 kept",
		"mkfifo new", "touch new", "cp kept new", ": > /dev/null; echo x > " + os.TempDir() + "/planloop-must-not-be",
	} {
		got := run(t, dir, command, confined(t))
		if !got.Confined {
			t.Skip("this system has nothing to confine a command with")
		}
		if got.ExitCode == 0 {
			t.Errorf("%s: %+v", command, got)
		}
	}
	text, err := os.ReadFile(kept)
	entries, _ := os.ReadDir(dir)
	if err != nil || string(text) != "as it was" || len(entries) != 1 {
		t.Errorf("%q, %v, %v", text, err, entries)
	}
	if got := run(t, dir, "cat kept > /dev/null && sort -S 1k <(seq 50000) | tail -1", confined(t)); got.ExitCode != 0 ||
		got.Stdout != "9999\n" {
		t.Errorf("what only reads, and keeps temporary files, is refused: %+v", got)
	}
}

func TestCommandEndsItsGroup(t *testing.T) {
	dir := t.TempDir()
	start := time.Now()
	var got shell.Result
	for timeout := 300 * time.Millisecond; got.Stdout == "" && timeout < time.Minute; timeout *= 4 { // until it has the time to begin
		start = time.Now()
		got = run(t, dir, "echo begun; sleep 600 | sleep 601", limited(t, func(o *shell.RunOptions) { o.Timeout = timeout }))
	}
	if !got.TimedOut || got.ExitCode != 128+9 || got.Stdout != "begun\n" || time.Since(start) > 2*time.Minute {
		t.Errorf("%+v after %v", got, time.Since(start))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready := filepath.Join(dir, "ready")
	if out, err := exec.Command("mkfifo", ready).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	go func() {
		_ = os.WriteFile(ready, nil, 0o600) // until the command has begun
		cancel()
	}()
	got, err := shell.Command(ctx, dir, "cat ready; sleep 600", confined(t))
	if !errors.Is(err, context.Canceled) || got.TimedOut {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCommandKeepsTheTail(t *testing.T) {
	got := run(t, t.TempDir(), "seq 1 100000; echo ä >&2", limited(t, func(o *shell.RunOptions) { o.MaxOutput = 100 }))
	if !got.Truncated || !strings.HasSuffix(got.Stdout, "\n99999\n100000\n") || len(got.Stdout) > 100 || got.Stderr != "ä\n" {
		t.Errorf("%+v", got)
	}
}
