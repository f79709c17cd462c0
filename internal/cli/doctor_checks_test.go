package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/workspace"
)

// TestChecksAreBounded abandons hung checks, and keeps the order.
func TestChecksAreBounded(t *testing.T) { synctest.Test(t, checksAreBounded) }

func checksAreBounded(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	never := func(context.Context) []finding { <-over; return nil }
	now := func(context.Context) []finding { return []finding{{About: "quick", State: fine, Text: "it is"}} }
	for range 20 { // an answer that arrived counts, however long examine waited for another
		got := runChecks(t.Context(), []check{{"hung", 50 * time.Millisecond, never}, {"quick", 40 * time.Millisecond, now}})
		if len(got) != 2 || got[1].State != fine {
			t.Fatalf("%+v", got)
		}
	}
	got := runChecks(t.Context(), []check{{"hung", time.Millisecond, never}, {"quick", time.Minute, now},
		{"stuck", time.Millisecond, never}})
	var lines []string
	for _, f := range got {
		lines = append(lines, f.About+" "+string(f.State)+" "+f.line())
	}
	want := "hung unknown did not respond within 1ms; run `planloop doctor` again\nquick fine it is\n" +
		"stuck unknown did not respond within 1ms; run `planloop doctor` again"
	if strings.Join(lines, "\n") != want {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
}

// TestAnotherVersionRuns lists running servers with their versions.
func TestAnotherVersionRuns(t *testing.T) {
	chain := process.Ancestors()
	if len(chain) == 0 {
		t.Skip("this system tells of no processes")
	}
	for its, want := range map[string]string{version(): "fine codex is served by process ",
		"0.0.1": "wrong , which is planloop 0.0.1; this is ",
		"":      "wrong , which is planloop of an older version; this is "} {
		dir := filepath.Join(t.TempDir(), "planloop", "state")
		must(t, os.MkdirAll(dir, 0o700))
		server := func() presence.Server { return presence.Server{Process: chain[0], Version: its} }
		book := presence.Open(dir, presence.Options{Server: server})
		leave := book.Join("codex")
		got := checkServers(workspace.Workspace{StateDir: dir})
		leave()
		state, text, _ := strings.Cut(want, " ")
		if len(got) != 1 || string(got[0].State) != state || !strings.Contains(got[0].line(), text) {
			t.Errorf("%q: %v", its, got)
		}
		if left := checkServers(workspace.Workspace{StateDir: dir}); left != nil {
			t.Errorf("it has ended: %v", left)
		}
	}
}

// TestStateIsReallyTried writes to the present or future state folder, and leaves no files.
func TestStateIsReallyTried(t *testing.T) {
	home := t.TempDir()
	there := filepath.Join(home, "planloop", "there")
	must(t, os.MkdirAll(there, 0o700))
	file := filepath.Join(home, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for dir, want := range map[string]status{
		there: fine, filepath.Join(home, "planloop", "new"): fine, filepath.Join(home, "none", "planloop", "new"): fine,
		file: wrong, filepath.Join(file, "planloop", "new"): wrong,
	} {
		if got := checkState(workspace.Workspace{StateDir: dir}); got.State != want || (got.Next == "") != (want == fine) {
			t.Errorf("%s: %+v", dir, got)
		}
	}
	left, err := filepath.Glob(filepath.Join(home, "*", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}
