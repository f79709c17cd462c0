//go:build unix

package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestWorkspaceGone: a run of a workspace whose folder was removed or renamed is refused and says so, and nothing runs.
func TestWorkspaceGone(t *testing.T) {
	for name, leave := range map[string]func(folder string) error{
		"removed": os.RemoveAll,
		"renamed": func(folder string) error { return os.Rename(folder, folder+"-new") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newRunPlace(t)
			p.setUp(command("echo 1 > "+p.temp+"/effect", ""))
			h := p.open("--toolsets", "planning,loop,execution")
			h.do("planloop_status", arguments{}) // the server opens the workspace
			testenv.Check(t, leave(p.workspace))
			got, err := h.tool("planning_execute_plan", arguments{"wait": 5})
			testenv.Check(t, err)
			if !got.refused || !strings.Contains(got.text, p.workspace+" is gone: its folder was removed or renamed") {
				t.Errorf("got %+v", got)
			}
			if _, err := os.Stat(p.temp + "/effect"); err == nil {
				t.Error("the step ran")
			}
		})
	}
}
