package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
)

// injection is an error that strace injects into one system call on the log's files.
type injection struct{ call, what string }

// injections returns all errors from a disk, a quota or a table of open files, or a sample. An injection into an unused call has no effect,
// and costs one run.
func injections(all bool) (list []injection) {
	answers := map[string]string{"EIO": "pread64 pwrite64 fsync ftruncate", "ENOSPC": "pwrite64"}
	if all {
		answers = map[string]string{
			"EIO":    "pread64 pwrite64 fsync fdatasync ftruncate read write openat linkat renameat unlinkat getdents64",
			"ENOSPC": "pwrite64 write ftruncate fallocate openat linkat mkdirat",
			"EMFILE": "openat",
			"EACCES": "openat",
		}
	}
	for what, calls := range answers {
		for call := range strings.FieldsSeq(calls) {
			list = append(list, injection{call, "error=" + what})
		}
	}
	slices.SortFunc(list, func(a, b injection) int { return strings.Compare(a.what+a.call, b.what+b.call) })
	return list
}

// strained is a place whose processes get an injected error, at each thread's n-th call or from there on.
type strained struct {
	*place
	trace string // the output of strace
}

// strain returns a copy of a place under injection, into calls on the named files in the folder of its log, or on any.
func strain(t testing.TB, original *place, where string, i injection, when string, names ...string) *strained {
	t.Helper()
	p := *original
	p.t, p.home = t, filepath.Join(where, "home")
	testenv.Check(t, errors.Join(os.RemoveAll(p.home), os.CopyFS(p.home, os.DirFS(original.home))))
	p.env = slices.Concat(original.env, []string{"XDG_STATE_HOME=" + p.home})
	s := &strained{&p, filepath.Join(where, "trace")}
	p.private(t)
	_ = os.Remove(s.trace)
	p.prepare = func(cmd *exec.Cmd) {
		args := []string{"strace", "-f", "-qq", "-o", s.trace, "-e", "trace=" + i.call,
			"-e", "inject=" + i.call + ":" + i.what + ":when=" + when}
		for _, name := range names {
			args = append(args, "-P", p.stateDir()+name)
		}
		cmd.Args = append(append(args, cmd.Path), cmd.Args[1:]...)
		cmd.Path = tracer()
	}
	return s
}

func logFiles() []string {
	return []string{"", "/growth", "/growth/head", "/lock", "/plan.db", "/plan.db-wal", "/plan.db-shm", "/snapshot-128.json"}
}

// private restores the modes that copying changed.
func (p *place) private(t testing.TB) {
	t.Helper()
	for path := range strings.FieldsSeq(files(t, p.home)) {
		info, err := os.Lstat(path)
		if err == nil {
			mode := os.FileMode(0o600)
			if info.IsDir() {
				mode = 0o700
			}
			err = os.Chmod(path, mode)
		}
		testenv.Check(t, err)
	}
}

// injected reports whether the error occurred.
func (s *strained) injected() bool {
	data, _ := os.ReadFile(s.trace)
	return bytes.Contains(data, []byte("(INJECTED)"))
}

// faultsVariable has errors injected into a sample of the calls, with "all" into every call.
const faultsVariable = "PLANLOOP_E2E_FAULTS"

// needFaults skips a test that injects errors unless that is wanted: it takes a minute.
func needFaults(t *testing.T) {
	t.Helper()
	if os.Getenv(faultsVariable) == "" {
		t.Skipf("set %s=some", faultsVariable)
	}
	if tracer() == "" {
		t.Skip("strace is not installed")
	}
}

func tracer() string {
	path, _ := exec.LookPath("strace")
	return path
}

// TestInjectedFaults has every command meet disk errors, one after another: it reports an error but not damage, the log keeps its records,
// and the command works again afterwards.
func TestInjectedFaults(t *testing.T) {
	t.Parallel()
	needFaults(t)
	original := strainedPlace(t)
	before := original.must("log", "--json", "-n", "0")
	for _, args := range [][]string{{"doctor"}, {"doctor", "--repair"}, {"status"}, {"show"}, {"log", "-n", "0", "--json"},
		{"step", "mark", "S001", "blocked", "--note", "under strain"}, {"export"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			meetFaults(t, original, before, args)
		})
	}
}

// TestInjectedFaultsUnderAServer has the calls of a server meet errors: the log contains the accepted changes and otherwise only those with
// an uncertain outcome, and the server continues after the fault.
func TestInjectedFaultsUnderAServer(t *testing.T) {
	t.Parallel()
	needFaults(t)
	original := strainedPlace(t)
	all := os.Getenv(faultsVariable) == "all"
	stride := map[bool]int{true: 1, false: 17}[all]
	for _, i := range injections(all) {
		t.Run(i.call+" "+i.what, func(t *testing.T) {
			t.Parallel()
			where := t.TempDir()
			for n, met := 1, true; met; n += stride {
				s := strain(t, original, where, i, fmt.Sprint(n), logFiles()...)
				met = s.serveStrained(t, fmt.Sprint(i, " at ", n))
			}
		})
	}
}

func (s *strained) serveStrained(t *testing.T, what string) (met bool) {
	t.Helper()
	h := s.open()
	var accepted []string
	for n := range 4 {
		note := fmt.Sprint("strained ", n)
		call := func() reply {
			status := []string{"blocked", "pending"}[n%2]
			got, err := h.tool("planning_mark_step", arguments{"step_id": "S001", "status": status, "note": note})
			if err != nil {
				t.Fatalf("%s: %v\n%s", what, err, h.errors)
			}
			return got
		}
		got := call()
		for try := 0; got.refused && try < 30; try++ { // each thread of the server meets the fault once, and a busy one has many
			if strings.Contains(got.text, "damaged") || leaks(got.text, s.place) {
				t.Errorf("%s: it says: %s\n%s", what, got.text, h.errors)
			}
			got = call()
		}
		if got.refused {
			t.Errorf("%s: it does not go on: %s\n%s", what, got.text, h.errors)
			continue
		}
		accepted = append(accepted, note)
	}
	h.leave()
	met = s.injected()
	s.prepare = nil
	logged := notes(s.records(141))
	if logged = slices.Compact(logged); !slices.Equal(logged, accepted) {
		t.Errorf("%s: the log has %q, accepted were %q\n%s", what, logged, accepted, h.errors)
	}
	s.sound()
	return met
}

// strainedPlace has a snapshot and, since its server was killed, a write-ahead log.
func strainedPlace(t *testing.T) *place {
	p := newBusyPlace(t)
	setUp(p, 3)
	h := p.open()
	if _, err := keepMarking(h, 1, 140); err != nil {
		t.Fatal(err)
	}
	h.kill()
	return p
}

func meetFaults(t *testing.T, original *place, before string, args []string) {
	where := t.TempDir()
	all := os.Getenv(faultsVariable) == "all"
	stride, forms := 13, []string{"%d"}
	if all {
		stride, forms = 1, []string{"%d", "%d+"}
	}
	runs, refused := 0, 0
	for _, i := range injections(all) {
		for _, form := range forms {
			for n := 1; ; n += stride {
				s := strain(t, original, where, i, fmt.Sprintf(form, n), logFiles()...)
				got := s.run(args...)
				if !s.injected() {
					break
				}
				runs++
				if got.code != 0 {
					refused++
				}
				what := fmt.Sprintf("%s: %s %s at "+form, strings.Join(args, " "), i.call, i.what, n)
				s.weathered(t, what, before, args, got)
			}
		}
	}
	t.Logf("%s: %d injected faults, %d of them told", strings.Join(args, " "), runs, refused)
}

// weathered checks a command's output under a fault, and its effects.
func (s *strained) weathered(t *testing.T, what, before string, args []string, got outcome) {
	t.Helper()
	said := got.out + got.err
	if got.code != 0 && got.code != 1 || strings.Contains(said, "goroutine ") || got.code == 1 && said == "" {
		t.Errorf("%s: exit code %d\n%s", what, got.code, said)
	}
	if strings.Contains(said, "damaged") || strings.Contains(said, "intact change") {
		t.Errorf("%s is taken for damage:\n%s", what, said)
	}
	s.prepare = nil
	if found := files(t, s.stateDir()); strings.Contains(found, "damaged-") || strings.Contains(found, "exchange") {
		t.Errorf("%s left:\n%s\nsaying: %s", what, found, said)
	}
	report, err := sqlite.Check(t.Context(), s.stateDir())
	if err != nil || report.Damaged() || report.Fault != nil {
		t.Errorf("%s: afterwards %+v, %v\nit said: %s", what, report.Problems, err, said)
	}
	after := s.run("log", "--json", "-n", "0")
	grown := args[0] == "step" && strings.Contains(after.out, "under strain")
	if after.code != 0 || !grown && after.out != before || args[0] == "step" && got.code == 0 && !grown {
		t.Errorf("%s: exit code %d, the log afterwards: exit code %d\n%s%s\nit said: %s", what, got.code, after.code, after.out,
			after.err, said)
	}
	if again := s.run(args...); again.code != 0 {
		t.Errorf("%s: when the fault is over: exit code %d\n%s%s", what, again.code, again.out, again.err)
	}
}
