package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestCommandReference proves that docs/reference/commands.md matches the commands' help. UPDATE_SCRIPTS=1 go test ./internal/cli -run
// TestCommandReference writes it.
func TestCommandReference(t *testing.T) {
	const file = "../../docs/reference/commands.md"
	w, _, _ := emptyWorld()
	var b strings.Builder
	b.WriteString("# Commands\n\nThe reference, written from the program; `planloop help` prints the same. " +
		"What tools take: [tools](tools.md).\n")
	for _, c := range describe(newRootCommand(&app{environment: w}), nil) {
		if c.Usage == "" { // a topic: its text depends on the machine
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```text\n%s\n", c.Command, c.Does, c.Usage)
		if c.Details != "" {
			fmt.Fprintf(&b, "\n%s\n", c.Details)
		}
		for i, f := range c.Flags {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "  --%s\n      %s\n", strings.TrimSpace(f.Name+" "+f.Value), f.Does)
		}
		fmt.Fprintf(&b, "\n%s\n```\n", strings.Join(c.Examples, "\n"))
	}
	if update {
		testenv.Check(t, os.WriteFile(file, []byte(b.String()), 0o644))
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the commands say now (%v); to write it: UPDATE_SCRIPTS=1 go test ./internal/cli -run %s",
			file, err, t.Name())
	}
}
