package shell_test

import (
	"os"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/shell"
)

// TestEverydayLines bounds how many lines are refused that an agent types while it reads a project: with a wall that an unknown
// command runs behind, and without one.
func TestEverydayLines(t *testing.T) {
	text, err := os.ReadFile("testdata/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	type group struct{ lines, changes, refused int }
	var reads, runs group
	g, seen := &reads, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if comment, ok := strings.CutPrefix(line, "# "); ok {
			if strings.HasPrefix(comment, "Lines that run") {
				g = &runs
			}
			continue
		}
		if seen[line] {
			t.Errorf("twice: %s", line)
		}
		seen[line] = true
		v := shell.ClassifyForHost(strings.ReplaceAll(line, "␤", "\n"))
		g.lines++
		if v.Changes {
			g.changes++
			t.Logf("refused: %s: %s", line, v.Reason)
		}
		if !v.Allowed {
			g.refused++
			if g == &reads && !v.Changes {
				t.Logf("unknown: %s: %s", line, v.Reason)
			}
		}
	}
	all := group{reads.lines + runs.lines, reads.changes + runs.changes, reads.refused + runs.refused}
	t.Logf("refused with a wall: %d of %d lines, %d of %d that only read, %d of %d that run code of the project",
		all.changes, all.lines, reads.changes, reads.lines, runs.changes, runs.lines)
	t.Logf("refused without one: %d of %d lines, %d of %d that only read, %d of %d that run code of the project",
		all.refused, all.lines, reads.refused, reads.lines, runs.refused, runs.lines)
	if all.lines < 600 || all.changes*200 > all.lines || reads.refused*10 > reads.lines {
		t.Error("too many lines are refused, or there are too few")
	}
}
