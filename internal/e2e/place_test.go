package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// patience limits every wait for an immediate result. It is long because the machine may be busy.
const patience = 2 * time.Minute

// place is a workspace with its own state home, and the environment of its processes.
type place struct {
	t         testing.TB
	workspace string
	home      string // XDG_STATE_HOME
	temp      string // TMPDIR
	env       []string
	prepare   func(*exec.Cmd) // further preparation of a process; may be nil
}

// newPlace returns a place on the disk.
func newPlace(t testing.TB) *place { return placeWith(t, t.TempDir()) }

// newBusyPlace returns a place for a test that writes thousands of records, in memory if the system offers that: a process that dies leaves
// the same there as on a disk.
func newBusyPlace(t testing.TB) *place {
	const memory = "/dev/shm"
	info, err := os.Stat(memory)
	if err != nil || !info.IsDir() || os.Getenv("PLANLOOP_E2E_DISK") != "" {
		return newPlace(t)
	}
	home, err := os.MkdirTemp(memory, "planloop-e2e-")
	if err != nil {
		return newPlace(t)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	return placeWith(t, home)
}

func placeWith(t testing.TB, home string) *place {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil { // a work tree
		t.Fatal(err)
	}
	p := &place{t: t, workspace: dir, home: home, temp: t.TempDir()}
	user := t.TempDir()
	for _, name := range []string{"PATH", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			p.env = append(p.env, name+"="+value)
		}
	}
	p.env = append(p.env, "HOME="+user, "USERPROFILE="+user, "USER=tester", "TMPDIR="+p.temp, "TEMP="+p.temp, "TMP="+p.temp,
		"XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(user, "config"))
	return p
}

// command returns the program with arguments, in the workspace.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Getenv(binaryVariable), args...)
	cmd.Dir, cmd.Env = p.workspace, p.env
	if p.prepare != nil {
		p.prepare(cmd)
	}
	return cmd
}

// outcome is the result of a command.
type outcome struct {
	out, err string
	code     int
}

// run runs the program to its end.
func (p *place) run(args ...string) outcome {
	p.t.Helper()
	return p.feed("", args...)
}

// feed runs the program to its end with standard input.
func (p *place) feed(input string, args ...string) outcome {
	p.t.Helper()
	got, err := p.try(input, args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}

// try is feed for goroutines other than the test's.
func (p *place) try(input string, args ...string) (outcome, error) {
	cmd := p.command(args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errOut
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	late := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return outcome{}, err
	}
	return outcome{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}, nil
}

// must runs the program, which must succeed, and returns its output.
func (p *place) must(args ...string) string {
	p.t.Helper()
	got := p.run(args...)
	if got.code != 0 {
		p.t.Fatalf("planloop %s: exit code %d\n%s%s", strings.Join(args, " "), got.code, got.out, got.err)
	}
	return got.out
}

// stateDir returns the folder of the workspace's log, whether it exists or not.
func (p *place) stateDir() string {
	p.t.Helper()
	found, err := workspace.Find(workspace.Lookup{Flag: p.workspace, Getenv: func(name string) string {
		if name == "XDG_STATE_HOME" {
			return p.home
		}
		return ""
	}})
	if err != nil {
		p.t.Fatal(err)
	}
	return found.StateDir
}

func (p *place) database() string { return filepath.Join(p.stateDir(), "plan.db") }

// records reads the log after a revision directly, without another process.
func (p *place) records(after plan.Revision) []plan.Record {
	p.t.Helper()
	log := sqlite.New(p.stateDir(), sqlite.Options{LockWait: patience})
	defer log.Close()
	var records []plan.Record
	for record, err := range log.Read(context.Background(), after) {
		if err != nil {
			p.t.Fatal(err)
		}
		records = append(records, record)
	}
	return records
}

// notes lists the notes of marked steps, in the order of the log.
func notes(records []plan.Record) []string {
	var all []string
	for _, record := range records {
		for _, event := range record.Events {
			if marked, ok := event.(plan.StepMarked); ok && marked.Note != "" {
				all = append(all, marked.Note)
			}
		}
	}
	return all
}

// revision asks the program for the log's last revision.
func (p *place) revision() plan.Revision {
	p.t.Helper()
	var log struct {
		Revision plan.Revision `json:"revision"`
	}
	if err := json.Unmarshal([]byte(p.must("log", "--json", "-n", "1")), &log); err != nil {
		p.t.Fatal(err)
	}
	return log.Revision
}

// sound runs doctor on the log, which must be intact.
func (p *place) sound() {
	p.t.Helper()
	if got := p.run("doctor"); got.code != 0 || !strings.Contains(got.out, "sound") {
		p.t.Errorf("doctor: exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// files lists the content of a folder, "" if empty.
func files(t testing.TB, dir string) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir && err == nil {
			found = append(found, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Join(found, "\n")
}
