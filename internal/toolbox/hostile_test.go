package toolbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/toolbox"
)

// Patterns made to take for ever do not, whether in a call or in the workspace.
func TestPatternsMadeToTakeLong(t *testing.T) {
	name := strings.Repeat("a", 250)
	files := map[string]string{strings.Repeat("a/", 100) + name: "x\n", name: strings.Repeat("a", 20_000) + "\n"}
	var rules strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&rules, "%sb%d\n", strings.Repeat("a*", 30), i)
		fmt.Fprintf(&rules, "%sb%d\n", strings.Repeat("**/a/", 10), i)
	}
	box := open(t, files, toolbox.Options{Limits: toolbox.Limits{SearchTime: 300 * time.Millisecond}})
	hostile := open(t, map[string]string{".gitignore": rules.String(), strings.Repeat("a/", 100) + name: "x\n"},
		toolbox.Options{Limits: toolbox.Limits{SearchTime: 300 * time.Millisecond}})
	begun := time.Now()
	for _, pattern := range []string{
		strings.Repeat("a*", 400) + "b", strings.Repeat("**/", 300) + "b", strings.Repeat("**/a*", 150) + "b",
		"**/{" + strings.Repeat("a*a*,", 95) + "a}b", strings.Repeat("{a*,**/}", 6) + "b", "**/" + strings.Repeat("{a,a*,a**,**/}", 3) +
			"/b",
	} {
		for _, box := range []*toolbox.Box{box, hostile} {
			if _, err := box.Glob(t.Context(), toolbox.Glob{Pattern: pattern}); err != nil {
				t.Error(err)
			}
		}
	}
	for _, pattern := range []string{"(a*)*b", "(a|aa)+b", "(.*a){100}b", strings.Repeat("a?", 200) + strings.Repeat("a", 200) + "b",
		"((a{0,20}){0,20})b"} {
		if _, err := box.Grep(t.Context(), toolbox.Grep{Pattern: pattern}); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begun); took > 3*time.Minute {
		t.Errorf("took %v", took)
	}
}
