package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/process"
)

// The hour belongs to one process in one place, and to a file with this user's seal.
func TestApprovalHour(t *testing.T) {
	typed := time.Now()
	shellAt := func(pid int, started int64, name string, session int) process.Lineage {
		return process.Lineage{Space: "here", Chain: []process.Ancestor{{PID: 90, Started: 900, Name: "planloop", Session: 7},
			{PID: pid, Started: started, Name: name, Session: session}}}
	}
	shell := shellAt(7, 70, "zsh", 7)
	elsewhere := shell
	elsewhere.Space = "elsewhere"
	for name, c := range map[string]struct {
		in    process.Lineage
		after time.Duration
		spoil func(home string)
		want  bool
	}{
		"same shell":          {in: shell, after: 59 * time.Minute, want: true},
		"hour over":           {in: shell, after: 61 * time.Minute},
		"clock set back":      {in: shell, after: -2 * time.Minute},
		"other shell":         {in: shellAt(8, 70, "zsh", 7)},
		"pid reused":          {in: shellAt(7, 71, "zsh", 7)},
		"start unknown":       {in: shellAt(7, 0, "zsh", 7)},
		"other namespace":     {in: elsewhere},
		"session of its own":  {in: shellAt(7, 70, "zsh", 6)},
		"started by no shell": {in: shellAt(7, 70, "node", 7)},
		"parents unknown":     {in: process.Lineage{}},
		"key replaced":        {in: shell, spoil: func(home string) { must(t, os.Remove(filepath.Join(home, "approval.key"))) }},
		"file of another format": {in: shell, spoil: func(home string) {
			must(t, os.WriteFile(filepath.Join(home, approvalHourName), []byte("[]"), 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			must(t, os.Chmod(home, 0o700))
			openApprovalHour(home, shell, typed).begin("reject")
			if openApprovalHour(home, shell, typed).holds() {
				t.Error("a rejection began an hour")
			}
			openApprovalHour(home, shell, typed).begin("approve")
			openApprovalHour(home, shell, typed.Add(30*time.Minute)).begin("approve") // extends nothing
			openApprovalHour(home, shellAt(12, 70, "bash", 7), typed).begin("approve")
			if c.spoil != nil {
				c.spoil(home)
			}
			if got := openApprovalHour(home, c.in, typed.Add(c.after)).holds(); got != c.want {
				t.Errorf("holds: %v, want %v", got, c.want)
			}
		})
	}
}
