package safetext_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
)

// A gist has the first failing lines, the lines just before and after them, and the end, for any division into writes.
func TestGist(t *testing.T) {
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		output   string
		has, not []string
	}{
		"short": {"one\ntwo\n", []string{"one\ntwo\n"}, []string{"…"}},
		"go": {many("ok   pkg/%d 0.1s", 90) + "    login_test.go:7: got 3\n--- FAIL: TestLogin\n    login_test.go:9: an empty\n" +
			many("ok   more/%d 0.1s", 90) + "FAIL\n",
			[]string{"…\nok   pkg/89 0.1s\n    login_test.go:7: got 3\n--- FAIL: TestLogin\n    login_test.go:9: an empty",
				"\n…\n", "more/89 0.1s\nFAIL\n"}, []string{"pkg/3 "}},
		"python": {many("test_%d PASSED", 90) + "Traceback (most recent):\n  File x\nAssertionError: 3\n" + many("line %d", 200),
			[]string{"Traceback (most recent):\n  File x\nAssertionError: 3\n", "line 199\n"}, nil},
		"coloured": {many("line %d", 90) + "\x1b[31mFAILED\x1b[0m one\n" + many("line %d", 200),
			[]string{"FAILED", "line 199\n"}, nil},
		"counts":        {many("suite %d: 0 failed, no errors", 90), []string{"suite 89"}, []string{"suite 3:"}},
		"no failure":    {many("line %d", 200), []string{"…\nline 1", "line 199\n"}, []string{"line 3\n"}},
		"at the end":    {many("line %d", 200) + "error: it is over", []string{"line 199\nerror: it is over"}, []string{"line 3\n"}},
		"a long line":   {"error: " + strings.Repeat("é", 900) + "\n" + many("line %d", 200), []string{"error: éé", "line 199\n"}, nil},
		"one line":      {strings.Repeat("x", 5000), []string{"…xxx"}, nil},
		"no UTF-8":      {"error " + strings.Repeat("\x80", 3000) + "\nend", []string{"error", "end"}, nil},
		"fails at once": {"error: no such file\n" + many("line %d", 200), []string{"error: no such file\nline 0\n", "line 199\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			const max = 400
			got := safetext.ExcerptOf(c.output, max)
			if len(got) > max {
				t.Errorf("%d bytes: %q", len(got), got)
			}
			if utf8.ValidString(c.output) && !utf8.ValidString(got) {
				t.Errorf("not UTF-8: %q", got)
			}
			for _, part := range c.has {
				if !strings.Contains(got, part) {
					t.Errorf("%q is missing in %q", part, got)
				}
			}
			for _, part := range c.not {
				if strings.Contains(got, part) {
					t.Errorf("%q is in %q", part, got)
				}
			}
			for size := 1; size < 60; size += 7 {
				g := &safetext.Excerpt{Max: max}
				for rest := c.output; rest != ""; rest = rest[min(size, len(rest)):] {
					_, _ = g.Write([]byte(rest[:min(size, len(rest))]))
				}
				if pieces := g.Text(); pieces != got {
					t.Errorf("in pieces of %d: %q, want %q", size, pieces, got)
				}
			}
		})
	}
}
