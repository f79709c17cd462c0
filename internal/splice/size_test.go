package splice_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/splice"
)

// large is a document with many entries.
type large struct {
	format        splice.Format
	head, entry   string
	between, tail string
	entries       int
}

// change tells how long it takes to add to such a document, and to take it out again.
func change(t *testing.T, l large, entries int) time.Duration {
	t.Helper()
	var text strings.Builder
	text.WriteString(l.head)
	for i := range entries {
		if i > 0 {
			text.WriteString(l.between)
		}
		fmt.Fprintf(&text, l.entry, i)
	}
	text.WriteString(l.tail)
	start := time.Now()
	d := parse(t, l.format, text.String())
	if err := d.Set(server(), "mcp", "p"); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove("mcp", "p"); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// TestLargeDocumentsTakeLinearTime fails where the time for a document grows with the
// square of its size: a host keeps its history in the file that names its servers.
// TOML is none of them: its parser looks for each table among all before it.
func TestLargeDocumentsTakeLinearTime(t *testing.T) {
	for name, c := range map[string]large{
		"JSON in one line": {splice.JSON, "{", `"n%d":{"a":[1,2]}`, ",", "}", 20_000},
		"JSON in lines":    {splice.JSON, "{\n", "  \"n%d\": {\n    \"a\": [1, 2] // x\n  }", ",\n", "\n}\n", 20_000},
		"YAML":             {splice.YAML, "", "n%d:\n  a: [1, 2] # x\n  b:\n  - c\n", "", "", 20_000},
	} {
		// One honest comparison is enough: what else the machine does makes either of the two slow.
		var few, many time.Duration
		for tries := 0; tries == 0 || many > 30*few && tries < 5; tries++ {
			few, many = change(t, c, c.entries/8), change(t, c, c.entries)
		}
		if many > 30*few { // 64 times, were it the square
			t.Errorf("%s: eight times as much took %v, not %v", name, many, few)
		}
	}
}
